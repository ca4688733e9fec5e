"""The promises of every drift detector."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from flexcfl.shifts.detection import DetectorEntry, Samples
from flexcfl.testing.check import demand, demand_options, demand_summary

DRAWS = 30


def labelled(
    counts: Sequence[Sequence[int]] | NDArray[np.int64],
    first_sizes: Sequence[int] | None = None,
    offset: float = 0.0,
) -> Samples:
    """Return samples of clients with the given label counts, and examples that match them."""
    rows = np.asarray(counts, dtype=np.int64)
    sizes = rows.sum(axis=1) if first_sizes is None else np.asarray(first_sizes, np.int64)

    def examples(client: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        y = np.repeat(np.arange(rows.shape[1]), rows[client])
        rng = np.random.default_rng((0, client))
        x = rng.normal(scale=0.3, size=(len(y), 2, 3, 4)).astype(np.float32)
        x[:, 0, 0, 0] += y + 1
        x[:, 1] += offset
        return x, y

    return Samples(rows, sizes, examples)


def _identical_data_never_drift(entry: DetectorEntry) -> None:
    detector = entry.detector()
    for counts in _drawn():
        kept, now = (detector.profiles(labelled(counts)) for _ in range(2))
        demand(np.array_equal(kept, now), "The same data have two different profiles.")
        drifted = detector.drifted(kept, now).any()
        demand(not drifted, f"Data that did not change are reported as drift: {counts}.")


def _every_client_is_judged_by_its_own_data_alone(entry: DetectorEntry) -> None:
    detector = entry.detector()
    for kept, now in pairwise(_drawn()):
        now[::2] = kept[::2]  # so that some have drifted and some have not
        sides = [detector.profiles(labelled(counts, [20] * 4)) for counts in (kept, now)]
        verdicts = detector.drifted(*sides)
        demand(verdicts.dtype == np.bool_, f"Verdicts must be bool, not {verdicts.dtype}.")
        demand(verdicts.shape == (4,), f"Four clients have {verdicts.shape} verdicts.")
        for side in sides:
            sound = side.dtype == np.float64 and np.isfinite(side).all()
            demand(sound, "Profiles must be finite float64, with one row for each client.")
        alone = [bool(detector.drifted(*(side[[row]] for side in sides))[0]) for row in range(4)]
        demand(alone == verdicts.tolist(), "A verdict depends on the other clients.")


def _clients_of_no_or_one_example_are_no_trouble(entry: DetectorEntry) -> None:
    detector, counts = entry.detector(), [[0, 0, 0], [1, 0, 0], [0, 0, 1], [3, 2, 1]]
    profiles = detector.profiles(labelled(counts, [4] * 4))
    for other in range(4):
        verdicts = detector.drifted(profiles, np.roll(profiles, other, axis=0))
        demand(verdicts.shape == (4,), f"Four clients have {verdicts.shape} verdicts.")


def _no_clients_are_no_trouble(entry: DetectorEntry) -> None:
    detector = entry.detector()
    none = detector.profiles(labelled(np.empty((0, 3), np.int64)))
    demand(len(none) == 0, "There are profiles without clients.")
    demand(detector.drifted(none, none).shape == (0,), "There are verdicts without clients.")


def _it_sees_a_change_of_everything(entry: DetectorEntry) -> None:
    """A client with other labels, other examples and other numbers of them has drifted."""
    detector = entry.detector()
    kept = detector.profiles(labelled([[30, 10, 0]]))
    now = detector.profiles(labelled([[0, 2, 58]], first_sizes=[40], offset=5.0))
    demand(detector.drifted(kept, now).all(), "A client all of whose data changed went unnoticed.")


def _its_summary_and_its_options_are_explained(entry: DetectorEntry) -> None:
    """The entry has a summary, and the detector options with defaults that are explained."""
    demand_summary(entry.summary)
    demand_options(entry.detector, "[drift]")


PROMISES = (
    _identical_data_never_drift,
    _every_client_is_judged_by_its_own_data_alone,
    _clients_of_no_or_one_example_are_no_trouble,
    _no_clients_are_no_trouble,
    _it_sees_a_change_of_everything,
    _its_summary_and_its_options_are_explained,
)


def _drawn() -> list[NDArray[np.int64]]:
    rng = np.random.default_rng(0)
    return [rng.integers(0, 13, size=(4, 3)) for _ in range(DRAWS)]
