"""Layers of settings: the later one wins, and takes along what belonged to the loser."""

import pytest

from flexcfl.errors import SettingsError
from flexcfl.runner.layers import Layer, dotted, merged, options


def test_the_later_layer_wins_and_is_named_as_the_source() -> None:
    given = merged(
        [
            Layer("a.toml", {"local": {"rate": 0.1, "batch": 5}}),
            Layer("given", {"local": {"rate": 0.2}, "run": {"seed": 3}}),
        ]
    )
    assert given.tables["local"] == {"rate": 0.2, "batch": 5}
    assert given.tables["run"] == {"seed": 3}
    assert given.tables["data"] == {}
    assert given.sources == {"local.rate": "given", "local.batch": "a.toml", "run.seed": "given"}


def test_another_dataset_sets_aside_the_options_of_the_first() -> None:
    file = Layer("file", {"data": {"name": "mnist", "seed": 5}, "run": {"rounds": 7}})
    other = merged([file, Layer("given", {"data": {"name": "digits"}})])
    assert other.tables["data"] == {"name": "digits"}
    assert other.tables["run"] == {"rounds": 7}
    same = merged([file, Layer("given", {"data": {"name": "mnist"}})])
    assert same.tables["data"] == {"name": "mnist", "seed": 5}
    assert "data.seed" not in other.sources


def test_another_algorithm_sets_aside_the_proximal_weight_of_the_first() -> None:
    # experiment.toml of a FedAvg run says prox = 0, which would make FedProx FedAvg again.
    file = Layer("file", {"algorithm": {"name": "fedavg"}, "local": {"prox": 0.0, "rate": 0.1}})
    given = merged([file, Layer("given", {"algorithm": {"name": "fedprox"}})])
    assert given.tables["local"] == {"rate": 0.1}
    both = {"algorithm": {"name": "fedprox"}, "local": {"prox": 0.5}}
    assert merged([file, Layer("given", both)]).tables["local"] == {"rate": 0.1, "prox": 0.5}


def test_epochs_take_the_place_of_steps_below_them() -> None:
    file = Layer("file", {"local": {"steps": 50}})
    assert merged([file, Layer("given", {"local": {"epochs": 2}})]).tables["local"] == {"epochs": 2}


def test_options_find_their_tables_and_none_was_not_given() -> None:
    assert options({"rate": 0.1, "dataset": "mnist", "rounds": None, "groups": 2}) == {
        "local": {"rate": 0.1},
        "data": {"name": "mnist"},
        "algorithm": {"groups": 2},
    }


def test_dotted_names() -> None:
    assert dotted({"local.rate": 1, "local.prox": 2, "run.seed": 3}) == {
        "local": {"rate": 1, "prox": 2},
        "run": {"seed": 3},
    }


@pytest.mark.parametrize(
    ("name", "hint"),
    [("rate", "local.rate"), ("seed", "run.seed"), ("x", "local.rate"), (".x", "")],
)
def test_a_name_without_a_table_is_told_where_it_belongs(name: str, hint: str) -> None:
    with pytest.raises(SettingsError, match=rf"'{name}' does not say which table.*{hint}"):
        dotted({name: 1})


def test_an_unknown_table_is_told_with_the_nearest() -> None:
    with pytest.raises(SettingsError, match="no table 'locl': did you mean 'local'"):
        merged([Layer("file", {"locl": {"rate": 1}})])


def test_a_setting_outside_a_table_is_told_where_it_belongs() -> None:
    with pytest.raises(SettingsError, match=r"'rounds' stands outside a table: .*run\.rounds\."):
        merged([Layer("file", {"rounds": 5})])
