"""The clients of a node: their numbers, their data, and the folder of their memory."""

import secrets
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator, ConfigDict, Field
from pydantic.dataclasses import dataclass as settings

from flexcfl.data.files import cache_folder
from flexcfl.errors import SettingsError
from flexcfl.experiment import toml
from flexcfl.experiment.experiment import DataSettings, Experiment
from flexcfl.experiment.layers import SettingsLayer, named_code
from flexcfl.experiment.objects import NO_OBJECTS, UserObjects
from flexcfl.experiment.resolve import resolve
from flexcfl.flower.messages import NodeInfo, OrderHeading
from flexcfl.flower.own_data import check_not_simulated, own_federation, stand_in_objects
from flexcfl.protocol import Ids, numbers, spans
from flexcfl.runner.prepare import Prepared, prepare
from flexcfl.settings import validated

HomePath = Annotated[Path, AfterValidator(Path.expanduser)]  # a shell does not expand ~ in quotes


@settings(frozen=True, config=ConfigDict(extra="forbid"))
class NodeSettings:
    """The settings with which a node is started (``flower-supernode --node-config``).

    Attributes:
        clients: The numbers of the clients that the node hosts, such as ``0-249`` or ``7``.
        partition_id: Without ``clients``: the number of this node's part of all clients, from 0.
        num_partitions: The number of equal parts into which all clients are split.
        files: The clients' own data: an ``.npz`` file or a folder.
        data: Without ``files``: the folder that is searched first for the files of a dataset. For
            the datasets ``leaf`` and ``npz`` it is the dataset itself, because a server cannot
            name a path on a node.
        memory: The folder for what clients remember.
        device: The device to compute on.
        code: Each ``package.module:name`` that a server may make this node import, separated by
            commas.

    """

    clients: str | int | None = None
    partition_id: Annotated[int, Field(ge=0)] | None = None
    num_partitions: Annotated[int, Field(ge=1)] | None = None
    files: HomePath | None = None
    data: HomePath | None = None
    memory: HomePath | None = None
    device: str = "cpu"
    code: str = ""

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "NodeSettings":
        """Return the settings of a node; their names may have hyphens, like those of Flower."""
        plain = {name.replace("-", "_"): value for name, value in config.items()}
        return validated(cls, plain, "--node-config")

    def hosted(self, total: int) -> Ids:
        """Return the numbers of the clients that the node hosts, out of ``total``."""
        if self.clients is not None:
            return _client_numbers(str(self.clients), total)
        if self.partition_id is None or self.num_partitions is None:
            raise SettingsError(
                "This node does not know which clients it hosts: give it "
                "--node-config 'clients=\"0-9\"', or partition-id and num-partitions."
            )
        if self.partition_id >= self.num_partitions:
            raise SettingsError(
                f"There is no partition {self.partition_id} of {self.num_partitions}: they are "
                "numbered from 0."
            )
        parts = np.array_split(np.arange(total), self.num_partitions)
        return np.asarray(parts[self.partition_id])


def _client_numbers(text: str, total: int) -> Ids:
    try:
        clients = numbers(text)
    except ValueError as error:
        raise SettingsError(f"--node-config clients: {error}.") from None
    if clients[-1] >= total:
        raise SettingsError(
            f"--node-config clients: there is no client {clients[-1]}, the federation has 0 to "
            f"{total - 1}."
        )
    return clients


@dataclass(frozen=True, eq=False)
class NodeClients:
    """The clients of a node in a run.

    Attributes:
        prepared: The prepared run.
        numbers: The numbers of the clients.
        own: Whether the clients have their own files, which may change at any time.
        secret: The seed of the noise that protects their privacy.
        memory: The folder for what they remember.

    """

    prepared: Prepared
    numbers: Ids
    own: bool
    secret: int
    memory: Path

    @property
    def info(self) -> NodeInfo:
        """The description of the node for the server."""
        federation = self.prepared.federation
        return NodeInfo(
            self.numbers, federation.clients, federation.x.shape[1:], federation.classes
        )


def clients_of(heading: OrderHeading, node: NodeSettings) -> NodeClients:
    """Return the clients of a node in the run of a heading.

    In a trial the noise comes from the run's seed, as in simulation. For clients with their own
    files its seed is drawn anew for every message and stored nowhere, so that nobody can know it.
    """
    tables = toml.parsed(heading.experiment.encode(), "of the server")
    _check_code(tables, node)  # before anything is imported
    layers = [SettingsLayer("server", tables)]
    stand_in = stand_in_objects(layers)
    experiment = _agreed_experiment(resolve(layers, stand_in).experiment, node)
    own = experiment.network.own_files
    prepared = prepare(experiment, _own_objects(stand_in, node) if own else NO_OBJECTS, late=True)
    clients = node.hosted(prepared.federation.clients)
    folder = node.memory or cache_folder() / "nodes"
    memory = folder / heading.run / f"{zlib.crc32(spans(clients).encode()):08x}"
    secret = secrets.randbits(128) if own else experiment.run.seed
    return NodeClients(prepared, clients, own, secret, memory)


def _check_code(tables: Mapping[str, Any], node: NodeSettings) -> None:
    trusted = {name.strip() for name in node.code.split(",")}
    wanted = named_code(tables)
    if set(wanted) <= trusted:
        return
    name = next(each for each in wanted if each not in trusted)
    raise SettingsError(
        f"The server names '{name}', and this node only imports code that its owner allows: "
        f"install it and add --node-config 'code=\"{','.join(wanted)}\"', if you trust it."
    )


def _agreed_experiment(experiment: Experiment, node: NodeSettings) -> Experiment:
    """Return a server's experiment with the settings of the node, or refuse it."""
    check_not_simulated(experiment)
    own = experiment.network.own_files
    if own and node.files is None:
        raise SettingsError(
            "The experiment is on the nodes' own data, and this node has none: add "
            "--node-config 'files=\"...\"', an .npz file or a folder as docs/nodes.md says."
        )
    if not own and node.files is not None:
        raise SettingsError(
            f"This node has its own files, and the experiment is a trial on "
            f"'{experiment.data.name}', without [network] clients, shape and classes: leave "
            "--node-config files out, or take part in another experiment."
        )
    run = replace(experiment.run, data=node.data, device=node.device)
    return replace(experiment, run=run, data=_with_node_folder(experiment.data, node))


def _with_node_folder(data: DataSettings, node: NodeSettings) -> DataSettings:
    """Return a dataset, with the node's folder if the dataset needs one."""
    if "folder" not in {each.name for each in fields(data.options)}:
        return data
    if node.data is None:
        content = getattr(data.options, "content", "of its files")
        raise SettingsError(
            f"The dataset '{data.name}' is in a folder that this node does not know: add "
            f"--node-config 'data=\"...\"', the folder {content}."
        )
    return replace(data, options=replace(data.options, folder=node.data))


def _own_objects(stand_in: UserObjects, node: NodeSettings) -> UserObjects:
    like = stand_in.federation
    assert like is not None  # the experiment is on the nodes' own files
    assert node.files is not None  # checked in ``_agreed_experiment``
    return UserObjects(own_federation(node.files, node.hosted(like.clients), like))
