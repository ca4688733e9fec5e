"""Checks of what algorithms, detectors, shifts and partitions promise, for your own ones.

>>> from flexcfl.testing import checks
>>> for check in checks("detector", "flexcfl.shifts.detection:LabelShare"):
...     check()

With pytest, each promise becomes a separate test::

    @pytest.mark.parametrize("check", checks("algorithm", "first_choice:entry"), ids=str)
    def test_it_keeps_its_promises(check):
        check()
"""

from typing import Any

from flexcfl.algorithms import ALGORITHMS
from flexcfl.data import PARTITIONS
from flexcfl.errors import SettingsError, unknown
from flexcfl.extensions import Registry
from flexcfl.shifts import SHIFTS
from flexcfl.shifts.detection import DETECTORS
from flexcfl.testing import algorithms, detectors, partitions, shifts
from flexcfl.testing.algorithms import AlgorithmSubject
from flexcfl.testing.check import Check, bound
from flexcfl.testing.partitions import PartitionSubject

__all__ = ["Check", "checks"]

REGISTRIES: dict[str, Registry[Any]] = {
    "algorithm": ALGORITHMS,
    "detector": DETECTORS,
    "partition": PARTITIONS,
    "shift": SHIFTS,
}


def checks(kind: str, thing: object, **options: Any) -> list[Check]:
    """Return the checks for a custom algorithm, detector, shift or partition; call each of them.

    Args:
        kind: ``"algorithm"``, ``"detector"``, ``"shift"`` or ``"partition"``.
        thing: Its name in an experiment, such as ``"first_choice:entry"``, or the object itself: an
            ``AlgorithmEntry``, or the class of a detector, a shift or a partition.
        options: Options of a partition, or of an algorithm whose defaults do not suit twelve
            clients in four rounds (``groups`` is three by default).

    Returns:
        One ``Check`` for each promise; calling it raises an ``AssertionError`` if it is broken.

    Raises:
        SettingsError: If there is no such kind or thing.

    Example:
        >>> [str(check) for check in checks("partition", "iid")][2]
        'it leaves the labels alone'

    """
    if kind not in REGISTRIES:
        raise SettingsError(unknown("kind of thing to check", kind, REGISTRIES))
    registry = REGISTRIES[kind]
    if isinstance(thing, str) and thing not in registry:
        raise SettingsError(unknown(kind, thing, registry))
    entry = registry[thing] if isinstance(thing, str) else registry.make_entry(thing)
    if kind == "algorithm":
        return bound(algorithms.PROMISES, AlgorithmSubject(entry, options))
    if kind == "partition":
        return bound(partitions.PROMISES, PartitionSubject(entry, options))
    return bound(detectors.PROMISES if kind == "detector" else shifts.PROMISES, entry)
