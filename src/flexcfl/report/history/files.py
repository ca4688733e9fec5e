"""What is in the folder of a run, in words."""

from collections.abc import Mapping
from pathlib import Path

from flexcfl.experiment import memory
from flexcfl.record.folder import (
    CLIENTS,
    EXPERIMENT,
    EXPORT,
    FOUNDERS,
    LABELS,
    MODELS,
    NEWCOMER,
    SUMMARY,
)
from flexcfl.record.places import CHECKPOINTS, LOGS, NODES
from flexcfl.record.tables import GROUPS, LEDGER, ROUNDS

__all__ = ["WORDS", "held"]

WORDS: Mapping[str, str] = {
    EXPERIMENT: "all settings, to run it again",
    SUMMARY: "its figures",
    ROUNDS: "figures of each round",
    GROUPS: "figures of each group in each round",
    LEDGER: "what was sent in each round, by purpose",
    "membership.csv": "who was in which group when",
    CLIENTS: "each client's group at the end",
    FOUNDERS: "who was clustered to found the groups, as points",
    LABELS: "which labels each client had at the start",
    "shifts.csv": "whose data changed when",
    "timings.csv": "seconds for training and evaluation",
    "missing.csv": "who did not answer when",
    "messages.csv": "what went over the network",
    MODELS: "the model of each group (safetensors)",
    NEWCOMER: "what somebody new needs to find its group (flexcfl place)",
    EXPORT: "the models for others, with a card (flexcfl export)",
    CHECKPOINTS: "from which it can go on",
    LOGS: "what its nodes said",
    NODES: "its nodes' own files",
}


def held(path: Path) -> dict[str, str]:
    """Return the files and folders of a run that are there, with what they hold."""
    return {name: _told(path / name, words) for name, words in WORDS.items() if _there(path / name)}


def _there(path: Path) -> bool:
    return path.is_file() or path.is_dir()


def _told(path: Path, words: str) -> str:
    if path.is_dir():
        number = sum(1 for _ in path.iterdir())
        return f"{words}; {number} {'file' if number == 1 else 'files'}"
    return f"{words}; {memory.spelt(path.stat().st_size)}"
