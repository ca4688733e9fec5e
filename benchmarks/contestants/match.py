"""Contestants take turns on the same rounds of one work."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from contestants.errors import ContestantError
from contestants.process import Answer, Process

__all__ = ["Match"]


@dataclass(eq=False)
class Match:
    """One work, and what came of it by the contestants' names.

    ``tell`` hears who does what before it is done.
    """

    work: str
    tell: Callable[[str, str], None]
    answers: dict[str, list[Answer]] = field(default_factory=dict)
    versions: dict[str, dict[str, str]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    _alive: dict[str, Process] = field(default_factory=dict)

    def play(self, starters: Mapping[str, Callable[[], Process]], rounds: int) -> None:
        """Let all do every round, one at a time; who fails is ended and noted, the others go on.

        Within a round all contestants do the same work one after the other, so that a slow moment
        of the machine meets all of them. The first round is repeated as a warm-up.
        """
        failed = True
        try:
            for name, start in starters.items():
                self._try(name, "starts", partial(self._start, name, start))
            for turn, number in enumerate([0, *range(rounds)]):
                what = f"round {number + 1}" if turn else "warm-up"
                for name in list(self._alive):
                    self._try(name, what, partial(self._turn, name, number, turn > 0))
            failed = False
        finally:
            for process in self._alive.values():
                process.end(at_once=failed)

    def _try(self, name: str, what: str, act: Callable[[], None]) -> None:
        self.tell(name, what)
        try:
            act()
        except ContestantError as failure:
            self.failures[name] = str(failure)
            self.answers.pop(name, None)
            self._alive.pop(name).end(at_once=True)

    def _start(self, name: str, start: Callable[[], Process]) -> None:
        self._alive[name] = start()
        self.versions[name] = self._alive[name].ready()
        self.answers[name] = []

    def _turn(self, name: str, number: int, counts: bool) -> None:
        answer = self._alive[name].round(number)
        if counts:
            self.answers[name].append(answer)
