"""What a hostile or broken server may send to a node."""

import json
import pickle
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flexcfl.errors import FlexcflError, SettingsError
from flexcfl.flower import client
from flexcfl.flower.messages import (
    ABOUT,
    ARRAYS,
    MalformedError,
    order_record,
    read_node_info,
)
from flexcfl.protocol import (
    LOWEST_LOSS,
    CheckDrift,
    Evaluate,
    Keep,
    Local,
    Migrate,
    Place,
    Settle,
    Train,
)
from tests.flower.inprocess import records
from tests.flower.nodes import OWN, Trap, asked, columns, heading

PARAMETERS = 20  # four numbers for each of four classes, and a bias
MODELS = np.zeros((2, PARAMETERS), dtype=np.float32)
MINE, FIRST = np.array([1, 5]), np.array([0, 1])
LOCAL = Local(epochs=1)
PRIVATE = f'{OWN}[privacy]\nlevel = "client"\nnoise = 10.0\ndelta = 0.001\nepsilon = 1.0\n'


def test_an_order_is_fulfilled(config: dict[str, Any]) -> None:
    reply = columns(Train(MINE, MODELS, FIRST, LOCAL), config)
    assert reply["clients"].tolist() == [1, 5]
    assert reply["updates"].shape == MODELS.shape
    assert reply["examples"].tolist() == [21, 25]
    assert read_node_info(asked(None, config)[0]).clients.tolist() == [1, 5]


@pytest.mark.parametrize(
    ("order", "sentence"),
    [
        (Settle(np.array([1, 2])), "does not host client 2 of the order"),
        (Settle(np.array([1.0])), "does not say to which clients"),
        (Settle(np.array([[1]])), "does not say to which clients"),
        (Train(np.array([1, 1]), MODELS, FIRST, LOCAL), "names a client twice"),
        (Train(MINE, MODELS, FIRST[:1], LOCAL), "which client uses which model"),
        (Train(MINE, MODELS, FIRST * 1.0, LOCAL), "which client uses which model"),  # type: ignore[arg-type]
        (Train(MINE, MODELS, "the best", LOCAL), "which client uses which model"),  # type: ignore[arg-type]
        (Train(MINE, MODELS[:, :7], FIRST, LOCAL), "models have 7 numbers, and the model has 20"),
        (
            Train(MINE, MODELS[:0], LOWEST_LOSS, LOCAL),
            "models of the order are not float32 vectors",
        ),
        (Train(MINE, MODELS, FIRST, LOCAL, "spying"), "unknown purpose"),  # type: ignore[arg-type]
        (Migrate(MINE, LOCAL, 2, repeats=FIRST[:1]), "how often clients have trained"),
        (Migrate(MINE, LOCAL, 2, repeats=FIRST - 1), "how often clients have trained"),
        (Migrate(MINE, LOCAL, 2, repeats="twice"), "how often clients have trained"),  # type: ignore[arg-type]
        (Evaluate(MINE, MODELS, FIRST, "labels"), "unknown split"),  # type: ignore[arg-type]
        (Place(MINE, MODELS[0, :9], MODELS, LOCAL), "origin have 9 numbers"),
        (Place(MINE, MODELS, MODELS, LOCAL), "origin of the order are not float32 vectors"),
        (Keep(MINE, MODELS[0], MODELS[0]), "directions of the order are not float32 vectors"),
        (Migrate(MINE, LOCAL, "two"), "how many groups"),  # type: ignore[arg-type]
    ],
)
def test_an_order_that_makes_no_sense_is_refused(
    config: dict[str, Any], order: Any, sentence: str
) -> None:
    with pytest.raises((SettingsError, MalformedError), match=sentence):
        asked(order, config)
    assert not list(Path(config["memory"]).glob("*"))


@pytest.mark.parametrize(
    "changes",
    [
        {"run": "../../../elsewhere"},
        {"run": "/elsewhere"},
        {"run": ""},
        {"run": 7},
        {"session": None},
        {"round": -1},
        {"round": 1.5},
        {"round": "1"},
        {"round": 10**18},
        {"experiment": None},
        {"updates": "object"},
    ],
)
def test_a_heading_that_no_server_writes_is_refused(
    config: dict[str, Any], tmp_path: Path, changes: dict[str, Any]
) -> None:
    head = heading(**{"experiment": OWN, **changes})
    with pytest.raises(MalformedError):
        asked(Settle(MINE), config, head)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["files"]


def test_what_was_kept_for_another_model_is_not_trained_from(config: dict[str, Any]) -> None:
    columns(Keep(MINE, MODELS[0, :6], MODELS[:, :6]), config)
    with pytest.raises(MalformedError, match="directions have 6 numbers, and the model has 20"):
        asked(Migrate(MINE, LOCAL, 2), config)


def test_a_budget_is_not_had_back_by_going_back(config: dict[str, Any]) -> None:
    order = Train(MINE, MODELS, FIRST, LOCAL)
    heads = [heading(PRIVATE, session=session * 16) for session in "abcabc"]
    answered = [len(columns(order, config, head)["clients"]) for head in heads]
    assert answered == [2, 2, 2, 0, 0, 0]  # three updates cost an epsilon of 1


def test_no_two_answers_share_their_noise(config: dict[str, Any]) -> None:
    order = Train(MINE, MODELS, FIRST, LOCAL)
    private = PRIVATE.replace("epsilon = 1.0\n", "")
    one, other = (
        columns(order, config, heading(private, session=session * 16))["updates"]
        for session in "ab"
    )
    assert np.abs(one - other).min() > 0


def test_a_lost_memory_is_told_by_verdict_and_choice(config: dict[str, Any]) -> None:
    assert columns(CheckDrift(MINE), config)["drifted"].tolist() == [True, True]
    assert columns(Migrate(MINE, LOCAL, 2), config)["group_of"].tolist() == [-1, -1]
    origin, directions = MODELS[0], np.eye(2, PARAMETERS, dtype=np.float32)
    placed = columns(Place(MINE, origin, directions, LOCAL), config)["group_of"]
    assert set(placed.tolist()) <= {0, 1}
    assert columns(CheckDrift(MINE), config)["drifted"].tolist() == [False, False]
    np.testing.assert_array_equal(columns(Migrate(MINE, LOCAL, 2), config)["group_of"], placed)


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
values = st.recursive(
    scalars, lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=3), each)
)
FIELDS = ("kind", "clients", "models", "model_of", "local", "purpose", "origin", "directions")
KINDS = ("train", "place", "keep", "migrate", "choose", "settle", "check-drift", "evaluate", "odd")
arrays = st.sampled_from(
    [
        MODELS,
        MODELS[0],
        MINE,
        FIRST,
        FIRST * 1.0,
        np.array(3),
        np.array(["a"]),
        np.zeros((2, 0), dtype=np.float32),
        np.full((2, PARAMETERS), np.nan, dtype=np.float32),
        np.array([2**62, -1]),
    ]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(data=st.data())
def test_rubbish_is_answered_or_refused_in_a_sentence(
    config: dict[str, Any], data: st.DataObject
) -> None:
    plain: dict[str, Any] = {"kind": data.draw(st.sampled_from(KINDS) | scalars)}
    if data.draw(st.booleans()):
        plain |= {"local": {"epochs": 1}, "groups": 2}
    plain |= data.draw(st.dictionaries(st.sampled_from(FIELDS), values, max_size=2))
    packed = data.draw(st.dictionaries(st.sampled_from(FIELDS), arrays, max_size=5))
    content = _content(plain, {"clients": MINE, **packed})
    with suppress(FlexcflError, MalformedError):
        assert isinstance(client.answer(content, config, print), RecordDict)


def _content(plain: dict[str, Any], packed: dict[str, Any]) -> RecordDict:
    about = json.loads(str(order_record(heading(), None)[ABOUT]["about"]))
    return records(json.dumps({**about, **plain}), packed)


@pytest.mark.parametrize(
    "content",
    [
        RecordDict(),
        RecordDict({ABOUT: ConfigRecord({"about": "{"}), ARRAYS: ArrayRecord()}),
        RecordDict({ABOUT: ConfigRecord({"about": "[" * 10**5}), ARRAYS: ArrayRecord()}),
        RecordDict({ABOUT: ConfigRecord({"about": "{}"}), ARRAYS: ArrayRecord()}),
        RecordDict({ABOUT: ArrayRecord(), ARRAYS: ArrayRecord()}),
    ],
)
def test_what_is_no_letter_is_refused(config: dict[str, Any], content: RecordDict) -> None:
    with pytest.raises(MalformedError):
        client.answer(content, config, print)


def test_an_array_that_is_a_pickle_is_not_opened(config: dict[str, Any]) -> None:
    trap = Array("object", (1,), "numpy.ndarray", pickle.dumps(Trap()))
    content = order_record(heading(), Settle(MINE))
    content[ARRAYS] = ArrayRecord(array_dict={"clients": trap})
    with pytest.raises(MalformedError, match="cannot be read"):
        client.answer(content, config, print)
