"""Simulated clients that fail or attack."""

from dataclasses import dataclass

from flexcfl.extensions import Registry, entry_maker
from flexcfl.trust.faults.attacks import Attack, Drag, LabelFlip, Noise, SignFlip
from flexcfl.trust.faults.behaviour import Behaviour
from flexcfl.trust.faults.failures import KINDS, Faults, Roles
from flexcfl.trust.faults.faulty_updates import StaleAnswers

__all__ = [
    "ATTACKS",
    "KINDS",
    "Attack",
    "AttackEntry",
    "Behaviour",
    "Drag",
    "Faults",
    "LabelFlip",
    "Noise",
    "Roles",
    "SignFlip",
    "StaleAnswers",
]


@dataclass(frozen=True)
class AttackEntry:
    """One entry of the registry; the fields of ``attack`` are its options."""

    summary: str
    attack: type[Attack]


ATTACKS = Registry(
    "attack",
    {
        "sign-flip": AttackEntry("the opposite of what was learnt, many times as long", SignFlip),
        "noise": AttackEntry("Gaussian noise in place of what was learnt", Noise),
        "label-flip": AttackEntry("honest training on labels that are wrong", LabelFlip),
        "drag": AttackEntry("get together into one group, and pull its model one way", Drag),
    },
    entry_maker(AttackEntry, "flexcfl.trust.faults.SignFlip", "poisons", "number", "altered"),
)
"""Every attack by its name."""
