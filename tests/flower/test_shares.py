"""What nodes send is put together as it was asked for, and rubbish costs nobody but its sender."""

import io
import json
from contextlib import suppress
from typing import Any

import hypothesis.extra.numpy as arrays
import numpy as np
import pytest
from flwr.app import ArrayRecord, ConfigRecord, RecordDict
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from flexcfl.flower.messages import ABOUT, ARRAYS, MalformedError, read_reply, reply_record
from flexcfl.flower.shares import Share, down_bytes, merged_replies, translated, trimmed
from flexcfl.protocol import (
    LOWEST_LOSS,
    CheckDrift,
    Checked,
    Choose,
    Chosen,
    Evaluate,
    Evaluated,
    Keep,
    Kept,
    Local,
    Migrate,
    Place,
    Placed,
    Settle,
    Train,
    Trained,
    among,
)
from flexcfl.trust.guards import Admission, Guards, admitted
from tests.flower.inprocess import records

ROUND, PARAMETERS = 3, 4
ASKED = np.array([2, 3, 5, 8, 9])
HONEST, HOSTILE = np.array([True, False, True, False, True]), np.array([0, 1, 0, 1, 0]) == 1
MODELS = np.arange(3 * PARAMETERS, dtype=np.float32).reshape(3, PARAMETERS)
MODEL_OF = np.array([0, 2, 1, 2, 0])
ORDERS: list[Any] = [
    Train(ASKED, MODELS, MODEL_OF, Local()),
    Train(ASKED, MODELS, LOWEST_LOSS, Local()),
    Train(ASKED, MODELS, MODEL_OF, Local(), "cold-start", founding=True),
    Place(ASKED, MODELS[0], MODELS, Local()),
    Migrate(ASKED, Local(), 3),
    Keep(ASKED, MODELS[0], MODELS),
    Choose(ASKED, MODELS),
    Settle(ASKED),
    CheckDrift(ASKED),
    Evaluate(np.repeat(ASKED, 2), MODELS, np.tile([0, 2], 5)),
]


def answer(order: Any) -> Any:
    """Return what honest clients say: something that is different for each of them."""
    clients = order.clients
    number, real = np.arange(len(clients)) % 3, clients / 10
    match order:
        case Train(model_of=model_of):
            updates = np.outer(clients, np.arange(1, PARAMETERS + 1)).astype(np.float32)
            chosen = number if isinstance(model_of, str) else model_of
            return Trained(clients, updates, clients * 10, real, chosen)
        case Place() | Migrate():
            return Placed(clients, number)
        case Keep() | Settle():
            return Kept(clients)
        case Choose():
            return Chosen(clients, number)
        case CheckDrift():
            return Checked(clients, clients % 2 == 0)
    return Evaluated(clients, real, clients, clients * 2)


def share_of(order: Any, mine: NDArray[np.bool_]) -> Share:
    return trimmed(among(order, np.isin(order.clients, ASKED[mine])))


def received(order: Any, *contents: tuple[NDArray[np.bool_], RecordDict]) -> Admission:
    parts = []
    for mine, content in contents:
        share = share_of(order, mine)
        parts.append(translated(share, read_reply(share.order, content), ROUND))
    return admitted(order, merged_replies(order, parts), ROUND, Guards())


def honest(order: Any, mine: NDArray[np.bool_], updates: str = "float32") -> RecordDict:
    """Return what an honest node sends, which knows nothing of models that it did not get."""
    return reply_record(answer(share_of(order, mine).order), updates)


def check_equal(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    for name, column in vars(one).items():
        np.testing.assert_array_equal(column, getattr(other, name), err_msg=name)
        assert column.dtype == getattr(other, name).dtype


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: order.kind)
def test_two_nodes_are_as_good_as_one(order: Any) -> None:
    """In whatever order they answer; of a choice among models each has its own numbers."""
    if isinstance(order, Train | Choose) and not isinstance(getattr(order, "model_of", ""), str):
        expected = answer(order)
    else:
        columns = [vars(answer(share_of(order, mine).order)) for mine in (HONEST, HOSTILE)]
        rows = np.argsort(np.concatenate([each["clients"] for each in columns]), kind="stable")
        expected = type(answer(order))(
            **{name: np.concatenate([each[name] for each in columns])[rows] for name in columns[0]}
        )
    for nodes in ((HONEST, HOSTILE), (HOSTILE, HONEST)):
        admission = received(order, *((mine, honest(order, mine)) for mine in nodes))
        check_equal(admission.reply, expected)
        assert not admission.rejected
        assert not len(admission.silent)


def _columns(order: Any) -> list[tuple[str, NDArray[Any]]]:
    return list(vars(answer(order)).items())


def test_only_models_that_are_used_go_to_a_node() -> None:
    order = ORDERS[0]
    share = share_of(order, HOSTILE)
    assert share.used is not None
    assert share.used.tolist() == [2]
    np.testing.assert_array_equal(share.order.models, MODELS[2:])
    assert share.order.model_of.tolist() == [0, 0]
    assert down_bytes(share.order) == 2 * 8 + PARAMETERS * 4 + 2 * 8
    for whole in ORDERS[1:]:
        if not isinstance(whole, Train | Evaluate) or isinstance(whole.model_of, str):
            assert trimmed(whole).order is whole
    everything = Train(ASKED, MODELS[:1], ASKED * 0, Local())
    assert trimmed(everything).used is None


def test_half_of_the_bytes_are_whole_numbers_again() -> None:
    order = ORDERS[0]
    nodes = [(mine, honest(order, mine, "float16")) for mine in (HONEST, HOSTILE)]
    check_equal(received(order, *nodes).reply, answer(order))
    beyond = answer(order)
    beyond.updates[0, 0] = 1e6  # beyond float16
    content = reply_record(beyond, "float16")
    admission = received(order, (np.ones(5, dtype=np.bool_), content))
    assert admission.rejected == {"not_finite": 1}


def spoilt(order: Any, **columns: Any) -> RecordDict:
    """Return an honest answer of the hostile node with other columns, or without (None)."""
    content = honest(order, HOSTILE)
    known = {name: each.numpy() for name, each in content.array_records[ARRAYS].items()}
    kept = {name: each for name, each in (known | columns).items() if each is not None}
    return records('{"late": 0, "lists": {}}', kept)


def beside(order: Any, content: RecordDict) -> Admission:
    """Return what is admitted of an honest node and of rubbish, in either order.

    Whatever the one sends: all that the other sends is there, unchanged, and nobody is there twice.
    """
    good = HONEST, honest(order, HONEST)
    alone = received(order, good).reply
    for nodes in ((good, (HOSTILE, content)), ((HOSTILE, content), good)):
        admission = received(order, *nodes)
        clients = admission.reply.clients
        rows = np.isin(clients, ASKED[HONEST])
        for name, column in vars(alone).items():
            np.testing.assert_array_equal(getattr(admission.reply, name)[rows], column)
        assert set(clients[~rows].tolist()) <= set(ASKED[HOSTILE].tolist())
        if not order.measures:
            assert len(np.unique(clients)) == len(clients)
    return admission


NAN, WIDE = np.full((2, PARAMETERS), np.nan, np.float32), np.zeros((2, PARAMETERS + 1), np.float32)
TURNED_AWAY: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "not a number": ({"updates": NAN}, {"not_finite": 2}),
    "infinite loss": ({"loss": np.array([np.inf, 0.5])}, {"not_finite": 1}),
    "too wide": ({"updates": WIDE}, {"shape": 2}),
    "flat updates": ({"updates": np.zeros(2, np.float32)}, {"shape": 2}),
    "updates of text": ({"updates": np.array([["a"] * 4] * 2)}, {"shape": 2}),
    "complex updates": ({"updates": np.ones((2, 4), np.complex64)}, {"shape": 2}),
    "clients of others": ({"clients": np.array([2, 5])}, {"invalid": 2}),
    "clients of nobody": ({"clients": np.array([-1, 2**62])}, {"invalid": 2}),
    "one client twice": ({"clients": np.array([3, 3])}, {"invalid": 1}),
    "clients as reals": ({"clients": np.array([3.0, 8.0])}, {"invalid": 2}),
    "clients as text": ({"clients": np.array(["3", "8"])}, {"invalid": 2}),
    "clients as huge numbers": ({"clients": np.array([2**63, 3], np.uint64)}, {"invalid": 2}),
    "clients as a table": ({"clients": np.array([[3], [8]])}, {"invalid": 2}),
    "another model": ({"model_of": np.array([1, -1])}, {"invalid": 2}),
    "a model beyond all": ({"model_of": np.array([7, 2**40])}, {"invalid": 2}),
    "models as text": ({"model_of": np.array(["0", "0"])}, {"invalid": 2}),
    "fewer than no examples": ({"examples": np.array([-5, 7])}, {"invalid": 1}),
    "very many examples": ({"examples": np.array([2**62, 7])}, {"invalid": 1}),
    "examples as text": ({"examples": np.array(["many", "1"])}, {"invalid": 2}),
    "losses as text": ({"loss": np.array(["low", "1"])}, {"not_finite": 2}),
    "losses as a table": ({"loss": np.ones((2, 2))}, {"not_finite": 2}),
    "dates": ({"loss": np.array([0, 1], "M8[s]")}, {"not_finite": 2}),
    "another round": ({"rounds": np.array([ROUND - 1, ROUND])}, {"stale": 1}),
    "rounds as reals": ({"rounds": np.array([3.0, 3.0])}, {"stale": 2}),
}


@pytest.mark.parametrize("case", TURNED_AWAY)
def test_answers_that_are_turned_away_are_counted(case: str) -> None:
    columns, rejected = TURNED_AWAY[case]
    assert beside(ORDERS[0], spoilt(ORDERS[0], **columns)).rejected == rejected


EMPTY = np.zeros(10**9, "V0")  # a column of very many answers that takes no bytes
PICKLED = io.BytesIO()
np.save(PICKLED, np.array([{}, {}], dtype=object))
MALFORMED: dict[str, dict[str, Any]] = {
    "no updates": {"updates": None},
    "no clients": {"clients": None},
    "a column of no dimension": {"loss": np.float64(1)},
    "clients of no dimension": {"clients": np.int64(3)},
    "rounds of no dimension": {"rounds": np.int64(3)},
    "columns of other lengths": {"loss": np.ones(1)},
    "rounds of another length": {"rounds": np.ones(3, np.int64)},
    "objects": {"loss": PICKLED.getvalue()},
    "no array": {"loss": b"rubbish"},
    "nothing": {"updates": b""},
    "more answers than were asked for": {
        name: np.resize(np.asarray(column), (3, *np.shape(column)[1:]))
        for name, column in _columns(ORDERS[0])
    },
    "very many answers of nothing": {name: EMPTY for name, _ in _columns(ORDERS[0])},
}


@pytest.mark.parametrize("case", MALFORMED)
def test_answers_that_cannot_be_read(case: str) -> None:
    content = spoilt(ORDERS[0], **MALFORMED[case])
    with pytest.raises(MalformedError):
        received(ORDERS[0], (HOSTILE, content))


@pytest.mark.parametrize(
    "about",
    [
        *("", "no JSON", "[]", "null", "7", '"text"', "[" * 10**5, "1" * 10**5),
        *('{"late": -1}', '{"late": 1e3}', '{"late": 99}', '{"late": true}', '{"late": "1"}'),
        *('{"lists": []}', '{"lists": {"loss": 99999999999}}', '{"lists": {"loss": -1}}'),
        *('{"lists": {"loss": 2}}', '{"lists": {"loss": null}}', '{"refusal": "no room"}'),
    ],
)
def test_what_is_said_about_answers_may_be_anything(about: str) -> None:
    columns = {name: column[HOSTILE] for name, column in _columns(ORDERS[0])}
    with pytest.raises(MalformedError):
        received(ORDERS[0], (HOSTILE, records(about, columns)))


@pytest.mark.parametrize(
    "content",
    [
        RecordDict(),
        RecordDict({ABOUT: ConfigRecord({"about": "{}"})}),
        RecordDict({ABOUT: ConfigRecord(), ARRAYS: ArrayRecord(array_dict={})}),
        RecordDict({ABOUT: ArrayRecord(array_dict={}), ARRAYS: ConfigRecord()}),
    ],
)
def test_records_of_another_kind(content: RecordDict) -> None:
    with pytest.raises(MalformedError):
        received(ORDERS[0], (HOSTILE, content))


def test_what_clients_send_in_place_of_updates_arrives_as_it_is() -> None:
    """Of one node that has simulated clients of whom one sends another shape."""
    order, every = ORDERS[0], np.ones(5, dtype=np.bool_)
    sent = answer(order)
    rows: Any = [*sent.updates[:4], np.zeros((2, 2), np.float32)]
    trained = Trained(sent.clients, rows, sent.examples, sent.loss, sent.model_of)
    admission = received(order, (every, reply_record(trained, "float32")))
    assert admission.rejected == {"shape": 1}
    np.testing.assert_array_equal(admission.reply.updates, sent.updates[:4])


MEASURED: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "more hits than examples": ({"hits": np.array([99, 0, 0, 0])}, {"invalid": 2}),
    "fewer than none": ({"hits": np.array([0, 0, 0, -1])}, {"invalid": 2}),
    "examples as text": ({"examples": np.array(["9"] * 4)}, {"invalid": 4}),
    "very many examples": ({"examples": np.full(4, 2**62)}, {"invalid": 4}),
    "clients of others": ({"clients": np.array([2, 2, 5, 5])}, {"invalid": 4}),
    "one model of two": ({"clients": np.array([3, 8, 8, 9])}, {"invalid": 2}),
    "a model too many": ({"clients": np.array([3, 3, 3, 8])}, {"invalid": 2}),
    "another round": ({"rounds": np.array([ROUND - 1, *[ROUND] * 3])}, {"stale": 1, "invalid": 1}),
    "in another order": ({"clients": np.array([8, 3, 8, 3])}, {}),
    "a loss that has diverged": ({"loss": np.array([np.nan, np.inf, 1, 2])}, {}),
}


@pytest.mark.parametrize("case", MEASURED)
def test_measurements_are_guarded_as_all_answers_are(case: str) -> None:
    """A client whose measurement of one model is rejected counts for no model."""
    columns, rejected = MEASURED[case]
    admission = beside(ORDERS[-1], spoilt(ORDERS[-1], **columns))
    assert admission.rejected == rejected
    _, times = np.unique(admission.reply.clients, return_counts=True)
    assert (times == 2).all()


NAMES = ("clients", "updates", "examples", "loss", "model_of", "group_of", "drifted")
DTYPES = st.one_of(
    arrays.scalar_dtypes(), st.sampled_from([np.dtype("i8"), np.dtype("f4"), np.dtype("f8")])
)
COLUMNS = st.one_of(
    arrays.arrays(DTYPES, arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)),
    arrays.arrays(np.int64, 2, elements=st.sampled_from([-1, 0, 1, 2, 3, 8, 2**62])),
    st.binary(max_size=200),
)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner),
    max_leaves=5,
)
ABOUTS = st.one_of(
    st.just('{"late": 0, "lists": {}}'),
    st.fixed_dictionaries({"late": PLAIN, "lists": PLAIN}).map(json.dumps),
    PLAIN.map(json.dumps),
    st.text(max_size=20),
)


@given(
    order=st.sampled_from(ORDERS),
    columns=st.dictionaries(st.sampled_from((*NAMES, "rounds", "hits", "loss.0")), COLUMNS),
    about=ABOUTS,
    honestly=st.booleans(),
)
@settings(max_examples=100)
def test_rubbish_costs_nobody_but_its_sender(
    order: Any, columns: dict[str, Any], about: str, honestly: bool
) -> None:
    content = records(about, columns)
    if honestly:  # with all columns there, of which some are rubbish
        fitting = {name: each for name, each in columns.items() if np.ndim(each) and len(each) == 2}
        content = spoilt(order, **fitting)
    with suppress(MalformedError):
        beside(order, content)
