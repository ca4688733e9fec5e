"""``flexcfl.compare``: the command ``flexcfl compare`` from Python."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Unpack

from rich.console import Console

from flexcfl.comparison.plan import DEFAULT
from flexcfl.comparison.result import Comparison
from flexcfl.comparison.running import run_comparison
from flexcfl.comparison.spec import ComparisonSpec
from flexcfl.errors import SettingsError
from flexcfl.experiment.choices import keyword_homes
from flexcfl.experiment.layers import options_layer
from flexcfl.experiment.objects import UserObjects, label_of, user_objects
from flexcfl.experiment.options import SharedOptions, with_options
from flexcfl.runner.callbacks import Callback, callback_list
from flexcfl.runner.tracking import tracker_names
from flexcfl.settings import keywords, short_repr


@keywords(keyword_homes)
@with_options(SharedOptions)
def compare(
    algorithms: Sequence[str] = DEFAULT,
    *,
    seeds: int = 3,
    jobs: int | None = None,
    set: Mapping[str, object] | None = None,  # noqa: A002  (the command's --set)
    out: str | Path | None = None,
    progress: bool = False,
    callbacks: Iterable[Callback] = (),
    **options: Unpack[SharedOptions],
) -> Comparison:
    """Run algorithms on the same clients, cohorts and shifts, with several seeds, in parallel.

    Args:
        algorithms: Names such as ``["fedavg", "flexcfl"]``.
        options: The options of the command, by the same names.
        seeds: Number of seeds, counted from 0.
        jobs: Number of runs at once, each in its own process on one core. The default is one per
            core.
        set: Any other setting, as for ``flexcfl.run``. A setting that only some of the algorithms
            have applies to those.
        out: The folder to write; by default nothing is written. If an earlier call has begun the
            same comparison there, it is resumed: finished runs are not done again.
        progress: Whether to show what the command shows: settings, rounds and results.
        callbacks: Objects that follow every run, as for ``flexcfl.run``; ``begin`` gets the
            experiment and the folder of the next run. Callbacks live in this process, so all runs
            are done here, one after the other, instead of in worker processes: leave ``jobs`` out.
            Runs that an earlier call has finished are not followed.

    Returns:
        The comparison: ``table`` has one result per algorithm, in the order of ``algorithms``.

    Raises:
        flexcfl.errors.FlexcflError: If the settings are wrong, or if a run fails.

    Example:
        >>> import flexcfl
        >>> comparison = flexcfl.compare(["fedavg", "flexcfl"], seeds=1, rounds=10)
        >>> [row.algorithm for row in comparison.table]
        ['fedavg', 'flexcfl']

    """
    track = tracker_names(options.pop("track", None))
    own, given = user_objects(options)
    _check_importable(own)
    followers = callback_list(callbacks)
    if followers and jobs not in (None, 1):
        raise SettingsError(
            "With callbacks all runs are done in this process, one after the other: leave jobs "
            "out, or name trackers with track, which can follow runs in other processes."
        )
    return run_comparison(
        ComparisonSpec.of(_names(algorithms), seeds, options_layer(given, set), own.federation),
        Console(quiet=not progress),
        jobs=jobs,
        folder=Path(out) if out is not None else None,
        federation=own.federation,
        callbacks=followers,
        track=track,
    )


def _names(algorithms: object) -> list[str]:
    if isinstance(algorithms, str) or not isinstance(algorithms, Sequence):
        raise SettingsError(
            f"algorithms must be a list such as ['fedavg', 'flexcfl'], not {algorithms!r:.60}."
        )
    for each in algorithms:
        if not isinstance(each, str):
            raise SettingsError(
                f"algorithms must be a list of names such as ['fedavg', 'flexcfl'], and has "
                f"{short_repr(each)} in it: name your own algorithm as 'package.module:entry'."
            )
    return list(algorithms)


def _check_importable(own: UserObjects) -> None:
    """Refuse objects that cannot be imported by name, in worker processes or to resume."""
    for what, object_ in (("shift", own.shifts), ("drift", own.detector)):
        if object_ is not None:
            raise SettingsError(
                f"A comparison has to import your {what} by name, and cannot: define its class as "
                "a dataclass at the top level of a module that can be imported."
            )
    if own.factory is not None:
        raise SettingsError(
            f"A comparison has to import the model {label_of(own.factory)} by name, and cannot: "
            "define it at the top level of a module that can be imported, and name it as "
            "package.module:factory."
        )
