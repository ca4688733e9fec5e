"""The promises of every shift."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from flexcfl.data import Federation, IndexLists
from flexcfl.protocol import Ids
from flexcfl.settings import validated
from flexcfl.shifts import Holdings, Moment, Shift, ShiftEntry, Timeline
from flexcfl.testing.check import demand, demand_options, demand_summary

ROUNDS, LATE = 25, 200
CLIENTS = CLASSES = 10


def often(entry: ShiftEntry) -> Shift:
    """Return the shift with a high probability, if it has one."""
    kind: Any = entry.shift
    known = {option.name for option in fields(kind)}
    table = {"probability": 0.5} if "probability" in known else {}
    return validated(entry.shift, table, "[shift]")


def everybody(federation: Federation) -> Callable[[int], Ids]:
    """Return ``visited`` for a timeline in which all clients are always visited."""
    return lambda number: np.arange(federation.clients)


def _it_depends_on_seed_and_round_alone(entry: ShiftEntry) -> None:
    demand(_story(entry) == _story(entry), "Two runs with one seed differ: use moment.rng.")


def _it_continues_from_a_snapshot(entry: ShiftEntry) -> None:
    """A timeline continues from a snapshot without a difference: all state is in the holdings."""
    through = _world(entry)
    for number in range(ROUNDS // 2):
        through.at(number)
    again = _world(entry)
    again.recall(through.memory())
    for number in range(ROUNDS // 2, ROUNDS):
        one, other = through.at(number), again.at(number)
        alike = _seen(one.train) == _seen(other.train) and _seen(one.test) == _seen(other.test)
        demand(alike, "A resumed run has other data: keep no state in the shift itself.")


def _it_does_not_change_its_input(entry: ShiftEntry) -> None:
    federation = of_labels([[c, c] for c in range(CLIENTS)])
    holdings, shift = Holdings.of(federation), often(entry)
    before = holdings.owner.copy()
    for number in range(3):
        shift.apply(holdings, _moment(federation, number))
    demand(np.array_equal(holdings.owner, before), "It changes holdings: return new ones.")


def _variants_are_made_only_if_they_are_announced(entry: ShiftEntry) -> None:
    """A shift that changes how examples are seen needs ``variants = True``."""
    federation = of_labels([[c, c] for c in range(CLIENTS)])
    line = Timeline(federation, {"tested": often(entry)}, 0, everybody(federation))
    rows = np.concatenate([line.at(number).train.indices for number in range(ROUNDS)])
    announced = bool(often(entry).variants)
    demand(announced == (line.variants is not None), "variants must be a class attribute.")
    demand(announced or rows.max() < len(federation.y), "It makes variants: set variants = True.")


def _no_client_shifts_before_it_is_visited(entry: ShiftEntry) -> None:
    federation = of_labels([[c, c] for c in range(CLIENTS)], [[c] for c in range(CLIENTS)])
    nobody = np.empty(0, dtype=np.int64)
    view = Timeline(federation, {"tested": often(entry)}, 0, lambda number: nobody).at(LATE)
    still = _seen(view.train) == _seen(federation.train)
    demand(still, "Data moved although no client was visited: use moment.visited.")


def _its_summary_and_its_options_are_explained(entry: ShiftEntry) -> None:
    """The entry has a summary, and the shift options with defaults that are explained."""
    demand_summary(entry.summary)
    demand_options(entry.shift, "[shift]")


PROMISES = (
    _it_depends_on_seed_and_round_alone,
    _it_continues_from_a_snapshot,
    _it_does_not_change_its_input,
    _variants_are_made_only_if_they_are_announced,
    _no_client_shifts_before_it_is_visited,
    _its_summary_and_its_options_are_explained,
)


def of_labels(
    train: Sequence[Sequence[int]],
    test: Sequence[Sequence[int]] | None = None,
    classes: int = CLASSES,
) -> Federation:
    """Return a federation whose clients have their own examples with these labels."""
    parts = (train, test if test is not None else [[] for _ in train])
    y = np.array([label for part in parts for own in part for label in own], dtype=np.int64)
    x = np.arange(4.0 * len(y)).reshape(-1, 2, 2).astype(np.float32)
    sizes = [len(own) for part in parts for own in part]
    owned = np.split(np.arange(len(y)), np.cumsum(sizes)[:-1])
    halves = (IndexLists.of(owned[: len(train)]), IndexLists.of(owned[len(train) :]))
    return Federation("hand-made", x, y, *halves, classes)


def _world(entry: ShiftEntry) -> Timeline:
    train = [[c, c, (c + 1) % CLASSES] for c in range(CLIENTS)]
    federation = of_labels(train, [[c] for c in range(CLIENTS)])
    return Timeline(federation, {"tested": often(entry)}, 0, everybody(federation))


def _story(entry: ShiftEntry) -> list[Any]:
    line = _world(entry)
    seen = [line.at(number) for number in range(ROUNDS)]
    return [(_seen(view.train), _seen(view.test), view.shifted.tolist()) for view in seen]


def _seen(owned: Any) -> list[list[int]]:
    return [own.tolist() for own in owned]


def _moment(federation: Federation, number: int) -> Moment:
    visited, rng = np.arange(federation.clients), np.random.default_rng(number)
    return Moment(number, visited, federation.y, federation.clients, federation.classes, rng)
