"""Layers of settings: the later one wins."""

import pytest

from flexcfl.errors import SettingsError
from flexcfl.experiment.layers import SettingsLayer, flattened, merged, options_layer


def test_the_later_layer_wins_and_is_named_as_the_source() -> None:
    given = merged(
        [
            SettingsLayer("a.toml", {"local": {"rate": 0.1, "batch": 5}}),
            SettingsLayer("given", {"local": {"rate": 0.2}, "run": {"seed": 3}}),
        ]
    )
    assert given.tables["local"] == {"rate": 0.2, "batch": 5}
    assert given.tables["run"] == {"seed": 3}
    assert given.tables["data"] == {}
    assert given.sources == {"local.rate": "given", "local.batch": "a.toml", "run.seed": "given"}


def test_what_is_set_aside_has_no_source_either() -> None:
    file = SettingsLayer("file", {"data": {"name": "mnist", "seed": 5}, "run": {"rounds": 7}})
    given = merged([file, SettingsLayer("given", {"data": {"name": "digits"}})])
    assert given.tables["data"] == {"name": "digits"}
    assert given.sources == {"data.name": "given", "run.rounds": "file"}


def test_options_find_their_tables_and_none_was_not_given() -> None:
    given = {"rate": 0.1, "dataset": "mnist", "rounds": None, "groups": 2}
    assert options_layer(given, {}).tables == {
        "local": {"rate": 0.1},
        "data": {"name": "mnist"},
        "algorithm": {"groups": 2},
    }


def test_an_assignment_overrides_an_option_and_stands_in_the_same_layer() -> None:
    said = options_layer({"rate": 0.1, "epochs": 3}, {"local.rate": 0.2, "local.steps": 5})
    assert said == SettingsLayer("given", {"local": {"rate": 0.2, "epochs": 3, "steps": 5}})
    assert merged([said]).tables["local"] == {"rate": 0.2, "epochs": 3, "steps": 5}


def test_a_layer_may_be_given_by_dotted_names_or_as_tables() -> None:
    tables = {"local": {"rate": 1, "prox": 2}, "run": {"seed": 3}}
    dotted = {"local.rate": 1, "local.prox": 2, "run.seed": 3}
    assert SettingsLayer("given", dotted) == SettingsLayer("given", tables)
    assert SettingsLayer("given", dotted).tables == tables


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("rate", "local.rate"),
        ("seed", "run.seed"),
        ("arrivals", "data.arrivals"),
        ("eta_g", "algorithm.eta_g"),
        ("alpha", "data.alpha or algorithm.alpha"),
        ("x", "local.rate"),
        (".x", ""),
    ],
)
def test_a_name_without_a_table_is_reported_where_it_belongs(name: str, hint: str) -> None:
    with pytest.raises(SettingsError, match=rf"'{name}' does not say which table.*{hint}"):
        flattened({name: 1})


def test_an_unknown_table_is_reported_with_the_nearest() -> None:
    with pytest.raises(SettingsError, match="no table 'locl': did you mean 'local'"):
        SettingsLayer("file", {"locl": {"rate": 1}})


def test_a_setting_outside_a_table_is_reported_where_it_belongs() -> None:
    with pytest.raises(SettingsError, match=r"'rounds' does not say which table.*run\.rounds\."):
        SettingsLayer("file", {"rounds": 5})


def test_assignments_may_be_nested() -> None:
    nested: dict[str, object] = {"local": {"prox": 2}, "local.rate": 1}
    assert options_layer({}, nested).tables == {"local": {"prox": 2, "rate": 1}}
