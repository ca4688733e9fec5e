"""What a command asks of a reproduction, as the command line understands it."""

import shlex
from typing import Any

import pytest

from flexcfl.cli import main
from flexcfl.paper import reproducing
from flexcfl.paper.targets import Request


def asked_by(line: str) -> Request:
    """Return what a command asks for; nothing is run."""
    taken: list[Request] = []

    def take(asked: list[Request], *_: Any, **__: Any) -> None:
        taken.extend(asked)

    first, *words = shlex.split(line)
    assert first == "flexcfl"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reproducing, "make_targets", take)
        assert main(words) == 0
    (asked,) = taken
    return asked
