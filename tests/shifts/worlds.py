"""Small federations and random shifts for the tests of shifts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from flexcfl.data import Federation, IndexLists
from flexcfl.errors import SettingsError
from flexcfl.protocol import Ids
from flexcfl.protocol.cohorts import Cohorts
from flexcfl.seeds import generator
from flexcfl.shifts import SHIFTS, DataView, Moment, Shift, Timeline
from flexcfl.testing.shifts import everybody

LAST = 12  # the round by which everything that is drawn here has been released


def timeline(federation: Federation, seed: int = 0, **shifts: Shift) -> Timeline:
    """Return the world in which everybody may shift; names are written with underscores."""
    named = {name.replace("_", "-"): shift for name, shift in shifts.items()}
    return Timeline(federation, named, seed, everybody(federation))


def moment(federation: Federation, number: int = 1, seed: int = 0) -> Moment:
    return Moment(
        number,
        np.arange(federation.clients),
        federation.y,
        federation.clients,
        federation.classes,
        generator(seed, "shift by hand", number),
    )


def lists(owned: Iterable[Ids]) -> list[list[int]]:
    return [own.tolist() for own in owned]


def labels(view: DataView) -> list[list[int]]:
    """Return the labels of everybody's training examples, in order."""
    return [sorted(view.y[rows].tolist()) for rows in view.train]


@st.composite
def federations(draw: Any) -> Federation:
    """Draw clients that may share examples, and may have nothing to test on."""
    clients, examples = draw(st.integers(1, 7)), draw(st.integers(1, 12))
    classes = draw(st.integers(1, 5))
    index = st.integers(0, examples - 1)
    train = [draw(st.lists(index, min_size=1, max_size=6)) for _ in range(clients)]
    test = [draw(st.lists(index, max_size=4)) for _ in range(clients)]
    y = np.array(draw(st.lists(st.integers(0, classes - 1), min_size=examples, max_size=examples)))
    x = np.zeros((examples, 2, 2), dtype=np.float32)
    return Federation("random", x, y, IndexLists.of(train), IndexLists.of(test), classes)


def apart(federation: Federation) -> Federation:
    """Return the federation with an example of its own for every slot, of the same label."""
    train, test = federation.train, federation.test
    indices = np.concatenate([train.indices, test.indices])
    own = np.split(np.arange(len(indices)), [len(train.indices)])
    halves = (IndexLists(own[0], train.offsets), IndexLists(own[1], test.offsets))
    x, y = federation.x[indices], federation.y[indices]
    return Federation("apart", x, y, *halves, federation.classes)


@st.composite
def shift(draw: Any, name: str) -> Shift:
    """Draw the options of a shift; all of a schedule is released by the round ``LAST``."""
    options: dict[str, Any] = {}
    if name == "incremental":
        rounds = sorted(draw(st.sets(st.integers(1, LAST), min_size=1, max_size=3)))
        shares = np.linspace(draw(st.sampled_from([0.1, 0.25, 0.5])), 1, len(rounds) + 1)
        steps = zip([0, *rounds], shares.tolist(), strict=True)
        options["schedule"] = [{"round": number, "share": share} for number, share in steps]
    else:
        options["probability"] = draw(st.sampled_from([0.0, 0.3, 0.7, 1.0]))
    if name in ("gradual", "recurring"):
        options["duration" if name == "gradual" else "period"] = draw(st.integers(1, 5))
    made: Shift = SHIFTS[name].shift(**options)
    return made


@st.composite
def worlds(
    draw: Any, names: Sequence[str] = tuple(SHIFTS)
) -> tuple[Federation, Mapping[str, Shift], Callable[[int], Ids]]:
    """Draw a federation, shifts that can work on it in any order, and who is visited when."""
    federation = draw(federations())
    chosen = draw(st.lists(st.sampled_from(list(names)), unique=True)) if names else []
    drawn = {name: draw(shift(name)) for name in chosen}
    shifts = {name: each for name, each in drawn.items() if _works(each, federation)}
    size = draw(st.integers(1, federation.clients))
    arrival = np.zeros(federation.clients, dtype=np.int64)
    return federation, shifts, Cohorts(0, arrival, size).visited


def _works(shift: Shift, federation: Federation) -> bool:
    try:
        shift.check(federation)
    except SettingsError:
        return False
    return True
