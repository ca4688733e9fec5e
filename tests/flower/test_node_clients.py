from pathlib import Path
from typing import Any

import pytest

from flexcfl.errors import FlexcflError, SettingsError
from flexcfl.flower.node_clients import NodeClients, NodeSettings, clients_of
from tests.flower.nodes import CLASSES, CLIENTS, OWN, SHAPE, heading, lay
from tests.flower.test_own_data import lay_leaf

TRIAL = '[data]\nname = "digits"\nclients = 10\n[run]\ncohort = 5\nseed = 3\n'


def host(experiment: str, **config: Any) -> NodeClients:
    return clients_of(heading(experiment), NodeSettings.of(config))


def hosted_by(total: int = 10, **config: Any) -> list[int]:
    settings = NodeSettings.of({name.replace("_", "-"): each for name, each in config.items()})
    return [int(client) for client in settings.hosted(total)]


def test_clients_are_spans_a_number_or_a_part_of_all() -> None:
    assert hosted_by(clients="0-2,7") == [0, 1, 2, 7]
    assert hosted_by(clients=3) == [3]
    parts = [hosted_by(partition_id=part, num_partitions=3) for part in range(3)]
    assert [client for part in parts for client in part] == list(range(10))


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({}, "does not know which clients it hosts: give it --node-config 'clients="),
        ({"partition-id": 1}, "does not know which clients"),
        ({"partition-id": 2, "num-partitions": 2}, "no partition 2 of 2: they are numbered from 0"),
        ({"partition-id": -1, "num-partitions": 2}, "partition_id must be .* not -1"),
        ({"clients": "all"}, "clients: 'all' is not a list of numbers such as 0-9"),
        ({"clients": "0-10"}, "clients: there is no client 10, the federation has 0 to 9"),
        ({"clients": True}, "clients must not be true"),
        ({"client": 3}, "--node-config has no setting 'client': did you mean 'clients'"),
        ({"clients": 1, "files": "a.npz"}, "the experiment is a trial on 'digits'"),
        ({"clients": 1, "files": 7}, "files must be a path"),
    ],
)
def test_a_wrong_setting_is_one_sentence(config: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        clients_of(heading(TRIAL), NodeSettings.of(config))


def test_a_node_tells_its_clients_and_what_data_are_like(tmp_path: Path) -> None:
    own = host(OWN, files=str(lay(tmp_path)), clients="1 5").info
    assert (own.clients.tolist(), own.total) == ([1, 5], CLIENTS)
    assert (own.shape, own.classes) == (SHAPE, CLASSES)
    trial = host(TRIAL, clients="1 5").info
    assert (trial.total, trial.shape, trial.classes) == (10, (1, 8, 8), 10)


def test_an_experiment_on_files_needs_a_node_that_has_them(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="this node has none: add --node-config"):
        host(OWN, clients=1)
    with pytest.raises(FlexcflError, match=r"There is no '.*missing'"):
        host(OWN, clients=1, files=str(tmp_path / "missing"))


@pytest.mark.parametrize(
    "made_up",
    [
        '[shift]\nname = "swap-all"\n',
        "[faults]\ndropout = 0.5\n",
        '[attack]\nname = "sign-flip"\n',
    ],
)
def test_a_node_lets_no_server_make_up_what_happens_to_its_data(
    tmp_path: Path, made_up: str
) -> None:
    with pytest.raises(SettingsError, match=r"is simulated, and the nodes .* leave it out"):
        host(OWN + made_up, clients=1, files=str(lay(tmp_path)))


def test_a_server_names_no_folder_of_a_node(tmp_path: Path) -> None:
    users = {name: {"x": [[0, 1, 2, 3]], "y": [1]} for name in ("ann", "bob")}
    theirs = lay_leaf(tmp_path / "theirs", users)
    mine = lay_leaf(tmp_path / "mine", {**users, "cleo": users["ann"]})
    wanted = (
        f'[data]\nname = "leaf"\nfolder = "{theirs}"\n[model]\nname = "mclr"\n'
        f'[run]\ncohort = 1\ndata = "{theirs}"\n'
    )
    with pytest.raises(SettingsError, match="'leaf' is in a folder that this node does not know"):
        host(wanted, clients=1)
    assert host(wanted, clients=1, data=str(mine)).prepared.federation.clients == 3


def test_a_folder_of_npz_files_is_the_nodes_own_as_well(tmp_path: Path) -> None:
    lay(tmp_path)
    wanted = (
        '[data]\nname = "npz"\nfolder = "/elsewhere"\ntest_share = 0.5\n[model]\nname = "mclr"\n'
        "[run]\ncohort = 1\n"
    )
    with pytest.raises(
        SettingsError, match=r"'npz' is in a folder .* holds an \.npz file for each"
    ):
        host(wanted, clients=1)
    federation = host(wanted, clients=1, data=str(tmp_path)).prepared.federation
    assert federation.clients == CLIENTS
    assert federation.names == tuple(map(str, range(CLIENTS)))


NAMING = {
    "model": '[model]\nname = "{0}"\n',
    "algorithm": '[algorithm]\nname = "{0}"\n',
    "detector": '[drift]\nname = "{0}"\n',
    "detector in short": 'drift = "{0}"\n',
    "shift": '[shift]\nname = ["swap-all", "{0}"]\n',
    "rule": '[aggregation]\nname = "{0}"\n',
    "attack": '[attack]\nname = "{0}"\n',
}


@pytest.mark.parametrize("kind", NAMING)
def test_a_server_has_no_code_imported_that_the_node_was_not_told_of(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "flexcfl_test_hostile.py").write_text("raise RuntimeError('was imported')\n")
    monkeypatch.chdir(tmp_path)
    named = NAMING[kind].format("flexcfl_test_hostile:thing")
    wanted = named + TRIAL if " in short" in kind else TRIAL + named
    for config in ({}, {"code": "http.server:other, a:b"}):
        with pytest.raises(SettingsError, match="only imports code that its owner allows: install"):
            host(wanted, clients=1, **config)
    if kind != "model":  # which is made when it is first needed
        with pytest.raises(SettingsError, match="was imported"):
            host(wanted, clients=1, code="a:b, flexcfl_test_hostile:thing")


@pytest.mark.parametrize("key", ["name", "partition"])
def test_nor_may_data_be_its_code(key: str) -> None:
    wanted = f'[data]\n{key} = "http.server:test"\n[run]\nrounds = 1\n'
    with pytest.raises(SettingsError, match="only imports code that its owner allows: install"):
        host(wanted, clients=1)


def test_code_that_a_node_was_told_of_is_fine() -> None:
    wanted = TRIAL + '[model]\nname = "http.server:test"\n'
    assert host(wanted, clients=1, code="http.server:test").prepared.federation.clients == 10


def test_device_and_data_folder_are_for_the_node_to_say(tmp_path: Path) -> None:
    run = host(TRIAL + 'device = "cuda"\ndata = "/elsewhere"\n', clients=1).prepared.experiment.run
    assert (run.device, run.data) == ("cpu", None)
    with pytest.raises(SettingsError, match="not TOML"):
        host("[data", clients=1)


def test_noise_comes_from_the_seed_in_a_trial_and_from_nowhere_over_own_files(
    tmp_path: Path,
) -> None:
    files = str(lay(tmp_path))
    assert host(TRIAL, clients=1).secret == 3
    secrets = {host(OWN, clients=1, files=files).secret for _ in range(3)}
    assert len(secrets) == 3
    assert min(secrets) > 2**64


def test_a_home_folder_is_one_behind_quotes_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(lay(tmp_path)))
    assert NodeSettings.of({"files": "~/1.npz"}).files == tmp_path / "1.npz"
