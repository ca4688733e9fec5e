"""Logging to TensorBoard: its event files, written without TensorFlow and without torch."""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from flexcfl import disk
from flexcfl.errors import SettingsError
from flexcfl.record.folder import as_disk_error
from flexcfl.record.tables import Round
from flexcfl.runner.callbacks import Beginning, Callback
from flexcfl.runner.result import Run
from flexcfl.runner.tracking import logged
from flexcfl.runner.tracking.logged import Values, import_extra

FOLDER = "tensorboard"  # in the folder of a run


@dataclass(eq=False)
class TensorBoard(Callback):
    """Logs runs to TensorBoard.

    In a resumed run, repeated rounds replace those that were logged before.

    Args:
        logdir: The folder for event files; by default ``tensorboard`` in the folder of the run.

    Example:
        >>> import flexcfl
        >>> from flexcfl.runner.tracking import TensorBoard
        >>> run = flexcfl.run(callbacks=[TensorBoard("logs/mine")])  # doctest: +SKIP

    """

    optional: ClassVar[bool] = True

    logdir: str | Path | None = None
    _beginning: Beginning | None = field(default=None, init=False, repr=False)
    _events: "_Events | None" = field(default=None, init=False, repr=False)

    def check(self) -> None:
        """Raise ``SettingsError`` if TensorBoard is not installed."""
        _proto("event_pb2")

    def begin(self, beginning: Beginning) -> None:
        """Check that there is a folder for logs; nothing is written before the first round."""
        self.check()
        if self.logdir is None and beginning.folder is None:
            raise SettingsError(
                "TensorBoard has no folder for its logs: give the run a folder (out='runs/mine'), "
                "or name one, as in flexcfl.runner.tracking.TensorBoard('logs/mine')."
            )
        self._beginning, self._events = beginning, None

    def round(self, done: Round) -> None:
        """Log a round."""
        values = logged.round_values(done.figures, done.groups)
        self._opened().scalars(done.figures.round, values)

    def end(self, run: Run) -> None:
        """Log the summary in the last round, and close the file."""
        self._opened().scalars(run.summary["rounds"], logged.summary_values(run.summary))
        self._close()

    def break_off(self, error: BaseException) -> None:
        """Close the file."""
        self._close()

    def _opened(self) -> "_Events":
        """Return the file, which begins with all earlier rounds."""
        beginning = self._beginning
        assert beginning is not None  # a run begins before its rounds
        if self._events is None:
            self._events = _Events(self._make_log_folder(beginning.folder))
            self._events.restart()
            self._events.settings(logged.settings(beginning.experiment))
            for number, values in logged.past_rounds(beginning):
                self._events.scalars(number, values)
        return self._events

    def _make_log_folder(self, folder: Path | None) -> Path:
        """Make the folder for the logs; one in the folder of a run must not be a link."""
        if self.logdir is not None:
            path = Path(self.logdir)
            with as_disk_error(path):
                path.mkdir(parents=True, exist_ok=True)
            return path
        assert folder is not None  # checked when the run began
        with as_disk_error(folder / FOLDER) as path:
            disk.make_folder(path)
        return path

    def _close(self) -> None:
        events, self._events = self._events, None
        if events is not None:
            events.close()


class _Events:
    """One event file, which grows by whole rounds."""

    def __init__(self, folder: Path) -> None:
        writer = import_extra("tensorboard.summary.writer.record_writer", FOLDER)
        # Readers read files in the order of their names.
        seconds, rest = divmod(time.time_ns(), 10**9)
        self._path = folder / f"events.out.tfevents.{seconds:010}.{rest:09}.flexcfl"
        with as_disk_error(self._path):
            self._file = self._path.open("xb")
        self._records = writer.RecordWriter(self._file)
        self._add(file_version="brain.Event:2")

    def restart(self) -> None:
        """Make readers discard the rounds of earlier files."""
        log = _proto("event_pb2").SessionLog
        self._add(step=1, session_log=log(status=log.START))

    def settings(self, settings: dict[str, logged.Setting]) -> None:
        """Add the settings, for the view of hyper-parameters."""
        plugin = import_extra("tensorboard.plugins.hparams.summary_v2", FOLDER)
        self._add(step=0, summary=plugin.hparams_pb(settings))

    def scalars(self, number: int, values: Values) -> None:
        """Add figures of a round."""
        # Simple values instead of tensors, which not all readers discard.
        summary = _proto("summary_pb2").Summary
        named = [summary.Value(tag=tag, simple_value=value) for tag, value in values.items()]
        self._add(step=number, summary=summary(value=named))

    def close(self) -> None:
        with as_disk_error(self._path):
            self._file.close()

    def _add(self, **event: Any) -> None:
        made = _proto("event_pb2").Event(wall_time=time.time(), **event)
        with as_disk_error(self._path):
            self._records.write(made.SerializeToString())
            self._file.flush()


def _proto(name: str) -> Any:
    return import_extra(f"tensorboard.compat.proto.{name}", FOLDER)
