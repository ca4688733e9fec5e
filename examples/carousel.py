"""A custom shift: all data move to the next client, again and again."""

from dataclasses import dataclass

from flexcfl.data import Federation
from flexcfl.errors import SettingsError
from flexcfl.shifts import Holdings, Moment


@dataclass(frozen=True)
class Carousel:
    """Every ``period`` rounds, all data move to the next client."""

    period: int = 10
    variants = False  # it does not change how clients see their data

    def __post_init__(self) -> None:
        if self.period < 1:
            raise ValueError(f"period must be at least 1, not {self.period}.")

    def check(self, federation: Federation) -> None:
        if federation.clients < 2:
            raise SettingsError("A carousel needs two clients: add clients, or remove the shift.")

    def apply(self, holdings: Holdings, moment: Moment) -> Holdings:
        if not len(moment.visited) or moment.number % self.period:
            return holdings
        return holdings.owned((holdings.owner + 1) % moment.clients)
