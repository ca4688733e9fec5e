"""Clients that fail and clients that attack, between honest ones and the server."""

from dataclasses import dataclass

from flexcfl.extensions import Registry, understood_as
from flexcfl.trust.faults.attack import Attack
from flexcfl.trust.faults.behaviour import Behaviour
from flexcfl.trust.faults.drag import Drag
from flexcfl.trust.faults.label_flip import LabelFlip
from flexcfl.trust.faults.noise import Noise
from flexcfl.trust.faults.options import KINDS, Faults
from flexcfl.trust.faults.outdated import Outdated
from flexcfl.trust.faults.roles import Roles
from flexcfl.trust.faults.sign_flip import SignFlip

__all__ = [
    "ATTACKS",
    "KINDS",
    "Attack",
    "Behaviour",
    "Drag",
    "Entry",
    "Faults",
    "LabelFlip",
    "Noise",
    "Outdated",
    "Roles",
    "SignFlip",
]


@dataclass(frozen=True)
class Entry:
    """One line of the registry; the fields of ``attack`` are its options."""

    summary: str
    attack: type[Attack]


ATTACKS = Registry(
    "attack",
    {
        "sign-flip": Entry("the opposite of what was learnt, many times as long", SignFlip),
        "noise": Entry("Gaussian noise in place of what was learnt", Noise),
        "label-flip": Entry("honest training on labels that are wrong", LabelFlip),
        "drag": Entry("get together into one group, and pull its model one way", Drag),
    },
    understood_as(Entry, "flexcfl.trust.faults.SignFlip", "poisons", "number", "altered"),
)
"""Every attack by its name."""
