"""The Flower programs of a federation on this machine, and their ports."""

import os
import shlex
import shutil
import socket
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

from flexcfl.errors import SettingsError

if TYPE_CHECKING:
    from flexcfl.flower.certificates import Certificates

HOST = "127.0.0.1"
MOST = 65535
NAME = "here"  # the name of the connection in the configuration of ``flwr``
CONNECTION = "config.toml"
FORKED = ("flower-supernode", "flower-superexec", "flwr", "flwr-clientapp", "flwr-serverapp")
FORK_CLIENT = Path(__file__).with_name("fork_client.py")
FORK_SERVER = "warm"  # the fork server's name, and the folder of the scripts that ask it
# Not with -m, because Flower would use it as the name of its programs. Like installed programs, it
# does not import from the current folder.
START = (
    "import sys; sys.path = [each for each in sys.path if each]; "
    "from flexcfl.flower.local import fork_server; fork_server.main(*sys.argv[1:])"
)


def environment(home: Path, more: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of all Flower processes: fast, quiet and isolated."""
    return {
        **os.environ,
        # Flower starts its programs by their names.
        "PATH": _path(home),
        "FLWR_HOME": str(home),
        "FLWR_TELEMETRY_ENABLED": "0",
        "FLWR_DISABLE_UPDATE_CHECK": "1",
        "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
        "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.2",  # seconds; each poll costs some work
        "PYTHONUNBUFFERED": "1",
        **more,
    }


@dataclass(frozen=True)
class Programs:
    """The commands of a SuperLink at ``port`` and its nodes, with TLS if there are certificates."""

    home: Path
    port: int
    certificates: "Certificates | None" = None

    @property
    def address(self) -> str:
        """The address of the SuperLink."""
        return f"{HOST}:{self.port}"

    @property
    def door(self) -> Path:
        """The socket of the fork server, which exists as soon as the server listens."""
        return self.home / FORK_SERVER / "door"

    def superlink(self) -> list[str]:
        """Return the command of the SuperLink; a separate SuperExec starts its apps."""
        where = ["--host", HOST, "--port", str(self.port), "--isolation", "process"]
        certificates = self.certificates
        if certificates is None:
            return [self._program("flower-superlink"), "--insecure", *where]
        return [
            *(self._program("flower-superlink"), "--enable-supernode-auth"),
            *(
                "--ssl-ca-certfile",
                str(certificates.server.ca),
                "--ssl-keyfile",
                str(certificates.server.key),
            ),
            *("--ssl-certfile", str(certificates.server.certificate), *where),
        ]

    def superexec(self) -> list[str]:
        """Return the command of the SuperExec, which starts the ``ServerApp`` of a run."""
        where = ["--runtime-api-address", self.address]
        return [self._program("flower-superexec"), *self._trust_options, *where]

    def supernode(self, node: int, port: int, config: Mapping[str, Any]) -> list[str]:
        """Return the command of a SuperNode."""
        command = [
            self._program("flower-supernode"),
            *self._trust_options,
            "--superlink",
            self.address,
        ]
        if self.certificates is not None:
            key = self.certificates.nodes[node].key
            command += ["--auth-supernode-private-key", str(key)]
        file = self._write_toml(f"node-{node}.toml", config)
        return [*command, "--host", HOST, "--port", str(port), "--node-config", file]

    def fork_server(self) -> list[str]:
        """Write the scripts that ask the fork server, and return the command of the server."""
        folder = self.home / FORK_SERVER
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        door = str(self.door)
        for name in FORKED:
            command = shlex.join([sys.executable, "-I", "-S", str(FORK_CLIENT), door, name])
            (folder / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
            (folder / name).chmod(0o700)
        return [sys.executable, "-c", START, door, *FORKED]

    def connect(self) -> None:
        """Write the address of the SuperLink into the configuration of ``flwr``."""
        certificates = self.certificates
        trust = (
            {"insecure": True}
            if certificates is None
            else {"root-certificates": str(certificates.server.ca)}
        )
        table = {"default": NAME, NAME: {"address": self.address, **trust}}
        self._write_toml(CONNECTION, {"superlink": table})

    def register(self, node: int) -> list[str]:
        """Return the command that registers the key of a node."""
        assert self.certificates is not None
        key = self.certificates.nodes[node].public_key
        return [self._program("flwr"), "supernode", "register", str(key), NAME]

    def submit(self, app: Path, config: Mapping[str, Any]) -> list[str]:
        """Return the command that submits an app with its configuration."""
        file = self._write_toml("run.toml", config)
        return [self._program("flwr"), "run", str(app), NAME, "--run-config", file]

    def _program(self, name: str) -> str:
        found = shutil.which(name, path=_path(self.home))
        if found is None:
            raise SettingsError(
                f"Flower's program '{name}' is not found: install flexcfl[flower] into the "
                "environment of this command, or put the folder of its programs on the PATH."
            )
        return found

    @property
    def _trust_options(self) -> Sequence[str]:
        certificates = self.certificates
        return (
            ["--insecure"]
            if certificates is None
            else ["--root-certificates", str(certificates.server.ca)]
        )

    def _write_toml(self, name: str, table: Mapping[str, Any]) -> str:
        """Write a table as a TOML file, which allows names that a command line does not."""
        path = self.home / name
        path.write_text(tomli_w.dumps(dict(table)), encoding="utf-8")
        return str(path)


def _path(home: Path) -> str:
    """Return the PATH: the scripts that ask the fork server, this Python's folder, the old PATH."""
    own = [str(home / FORK_SERVER), sysconfig.get_path("scripts")]
    return os.pathsep.join([*own, os.environ.get("PATH", os.defpath)])


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def check_free_port(port: int) -> None:
    """Raise ``SettingsError`` if a port is in use or not permitted."""
    if not 1 <= port <= MOST:
        raise SettingsError(f"There is no port {port}: choose one from 1 to {MOST} with --port.")
    with socket.socket() as probe:
        # Like a server, which may reuse a port at once.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise SettingsError(
                f"The SuperLink cannot have port {port} ({error.strerror}): choose another with "
                "--port, or leave --port out to use a free one."
            ) from None


def is_open(port: int) -> bool:
    """Whether a process listens on a port."""
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((HOST, port)) == 0
