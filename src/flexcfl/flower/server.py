"""The ``ServerApp``: the runner's own loop, with its clients on the nodes of a grid."""

import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp
from rich.console import Console

from flexcfl.errors import SettingsError
from flexcfl.experiment import toml
from flexcfl.experiment.layers import Layer, spoken
from flexcfl.flower.federated import Federated
from flexcfl.flower.telling import telling
from flexcfl.flower.understanding import EVERY_ROUND, own_of
from flexcfl.record.folder import EXPERIMENT
from flexcfl.runner import conduct
from flexcfl.runner.callbacks import Callback, remark
from flexcfl.runner.result import Run
from flexcfl.runner.tracking import trackers
from flexcfl.settings import assignments

__all__ = ["app", "serve"]

app = ServerApp()


@app.main()
def _main(grid: Grid, context: Context) -> None:
    with telling() as company:
        serve(grid, context.run_config, Console(), company)


def serve(
    grid: Grid, config: Mapping[str, Any], console: Console, company: Iterable[Callback] = ()
) -> Run:
    """Hold the run that a configuration of the app describes, and show it on a console.

    ``experiment`` is TOML, or the name of such a file on this machine, ``set`` assignments such as
    ``run.rounds=5 local.rate=0.1``, ``out`` the folder of the run, ``resume`` whether to go on with
    the one in it, and ``track`` names of trackers with commas between them. The ``company`` is
    told of everything, as trackers are.
    """
    hosting, out = Federated(grid, remark), str(config.get("out", ""))
    callbacks = [*company, *trackers([str(config.get("track", ""))])]
    if config.get("resume"):
        if not out:
            raise SettingsError("There is nothing to go on with: name the folder of a run as out.")
        own = own_of([Layer("file", toml.read(Path(out) / EXPERIMENT))])
        return conduct.resume(Path(out), console, own=own, hosting=hosting, callbacks=callbacks)
    file, said = _said(str(config.get("experiment", "")))
    words = spoken({}, assignments(shlex.split(str(config.get("set", "")))))
    layers = [*said, words, EVERY_ROUND]
    return conduct.conduct(
        layers,
        console,
        folder=Path(out) if out else "new",
        file=file,
        own=own_of(layers),
        hosting=hosting,
        callbacks=callbacks,
    )


def _said(text: str) -> tuple[Path | None, list[Layer]]:
    """Return what TOML says, or a file of that name, with the name."""
    if not text:
        return None, []
    if "\n" in text or ("=" in text and not Path(text).is_file()):
        return None, [Layer("file", toml.parsed(text.encode(), "of the run"))]
    return Path(text), [Layer("file", toml.read(Path(text)))]
