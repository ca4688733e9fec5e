"""The app that the project ships: Flower builds it, and it says what the server takes."""

import os
import subprocess
import sysconfig
import zipfile
from pathlib import Path

import pytest

import flexcfl
from flexcfl.experiment import toml
from flexcfl.flower import APP

pytest.importorskip("flwr")

from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp

from flexcfl.flower import client, server


def test_it_has_the_version_of_the_package_and_the_settings_of_the_server() -> None:
    said = toml.read(APP / "pyproject.toml")
    assert said["project"]["version"] == flexcfl.__version__
    config = said["tool"]["flwr"]["app"]["config"]
    assert config.keys() == {"experiment", "set", "out", "resume", "track"}
    assert said["tool"]["flwr"]["app"]["components"] == {
        "serverapp": f"{server.__name__}:app",
        "clientapp": f"{client.__name__}:app",
    }
    assert isinstance(server.app, ServerApp)
    assert isinstance(client.app, ClientApp)


def test_flower_builds_it(tmp_path: Path) -> None:
    flwr = Path(sysconfig.get_path("scripts")) / "flwr"
    quiet = {"FLWR_HOME": str(tmp_path / "home"), "FLWR_TELEMETRY_ENABLED": "0"}
    environment = {**os.environ, **quiet, "FLWR_DISABLE_UPDATE_CHECK": "1"}
    words = [str(flwr), "build", "--app", str(APP)]
    subprocess.run(words, cwd=tmp_path, env=environment, check=True, capture_output=True)
    (built,) = tmp_path.glob("*.fab")
    assert "pyproject.toml" in zipfile.ZipFile(built).namelist()
