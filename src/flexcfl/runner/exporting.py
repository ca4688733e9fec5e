"""Export of a run's models to a separate folder, with a model card, for sharing with others."""

import re
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np

from flexcfl import disk
from flexcfl.errors import SettingsError
from flexcfl.experiment import toml
from flexcfl.record.export import ExportedGroup, ExportedRun, card, config
from flexcfl.record.folder import EXPORT, as_disk_error, write
from flexcfl.record.run_folders import make_folder
from flexcfl.runner import artifacts
from flexcfl.runner.restoring import WRONG
from flexcfl.runner.result import Run

CARD, CONFIG, SETTINGS = "README.md", "config.json", "settings.toml"
MODEL = re.compile(rf"group-[0-9]+\.safetensors|{re.escape(artifacts.AUXILIARY)}")


def export(run: Run, folder: Path | None = None, force: bool = False) -> Path:
    """Write the models of a run with a model card and its settings, and return the folder."""
    if folder is None and run.folder is None:
        raise SettingsError("This run has no folder: say in which one its models are to be.")
    path = folder or Path(run.folder or "", EXPORT)
    _check_free(path, force)
    # The texts are made before anything is written, because a damaged summary makes them fail.
    texts = _texts(run)
    models = artifacts.model_files(run.engine, run.models, run.auxiliary, run.summary)
    make_folder(path)
    written = set()
    for name, content in chain(models, texts):
        write(path, name, content)
        written.add(name)
    for stale in path.iterdir():  # models that an earlier export of another run left
        if MODEL.fullmatch(stale.name) and stale.name not in written:
            with as_disk_error(stale):
                disk.remove(stale)
    return path


def _check_free(path: Path, force: bool) -> None:
    if path.exists() and not path.is_dir():
        raise SettingsError(f"'{path}' is not a folder: choose another with --out.")
    if path.is_dir() and any(path.iterdir()) and not force:
        raise SettingsError(
            f"'{path}' holds something already: choose another with --out, or write over it with "
            "--force (force=True)."
        )


def _texts(run: Run) -> list[tuple[str, bytes]]:
    try:
        exported = _exported(run)
        return [
            (CONFIG, config(exported).encode()),
            (SETTINGS, exported.settings.encode()),
            (CARD, card(exported).encode("utf-8", "replace")),
        ]
    except WRONG as error:  # somebody has edited the summary
        raise SettingsError(
            f"The card of the run in '{run.folder}' cannot be written, for its summary.json is "
            f"damaged or of another version ({type(error).__name__}: {error!s:.60}): run it again."
        ) from None


def _exported(run: Run) -> ExportedRun:
    # Imported here, because importing torch takes a while.
    from flexcfl.models.networks import torch_expression

    # The data folder of this machine is private.
    experiment = replace(run.experiment, run=replace(run.experiment.run, data=None))
    return ExportedRun(
        summary=run.summary,
        settings=toml.written(experiment),
        command=_command(run),
        groups=[_group(run, number) for number in range(len(run.models))],
        auxiliary=None if run.auxiliary is None else artifacts.AUXILIARY,
        names=run.names,
        folder=None if run.folder is None else run.folder.resolve().name,
        module=torch_expression(run.model()),
    )


def _group(run: Run, number: int) -> ExportedGroup:
    accuracy = float(run.group_accuracy[number])
    return ExportedGroup(
        number,
        artifacts.model_file_name(number),
        None if np.isnan(accuracy) else accuracy,
        number in run.waiting,
        tuple(np.flatnonzero(run.group_of == number).tolist()),
    )


def _command(run: Run) -> str:
    network, own = run.experiment.network, run.summary["own"]
    if network.own_files:
        return "# On nodes with their own files, by flexcfl.flower; the settings are below."
    if own:
        return f"# By flexcfl.run from Python, which alone has its {' and '.join(own)}."
    return f"flexcfl {'run' if network.nodes is None else 'federate'} {SETTINGS}"
