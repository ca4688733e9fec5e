"""What reaches an algorithm: hand-made replies of honest and of hostile clients."""

import warnings
from dataclasses import fields, replace
from time import process_time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexcfl.protocol import (
    LOWEST_LOSS,
    NO_GROUP,
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
    Order,
    Place,
    Placed,
    Received,
    Settle,
    Train,
    Trained,
    among,
    of_those,
)
from flexcfl.trust.guards import REASONS, Admission, Guards, admitted

PARAMETERS = 4
CLIENTS = np.array([7, 3, 9, 0, 5])
MODELS = np.zeros((3, PARAMETERS), dtype=np.float32)
MODEL_OF = np.array([0, 1, 2, 0, 1])
ORDER = Train(CLIENTS, MODELS, MODEL_OF, Local())
CHOICE = replace(ORDER, model_of=LOWEST_LOSS)
GUARDS = Guards()
NUMBER = 4


class Hostile:
    """Something that raises whatever is done with it."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def _raise(self, *_: object) -> Any:
        raise RuntimeError

    __float__ = __int__ = __index__ = __len__ = __iter__ = __array__ = __eq__ = _raise
    __bool__ = __lt__ = __le__ = __gt__ = __ge__ = _raise
    __hash__ = None  # type: ignore[assignment]


class HostileFloat(float):
    """A number until somebody wants to know which."""

    def __float__(self) -> float:
        raise RuntimeError


def honest(order: Train = ORDER, **changes: Any) -> Trained:
    rows = len(order.clients)
    updates = np.arange(1, 1 + rows * PARAMETERS, dtype=np.float32).reshape(rows, PARAMETERS)
    chosen = np.zeros(rows, np.int64) if isinstance(order.model_of, str) else order.model_of
    reply = Trained(order.clients, updates, np.full(rows, 6), np.ones(rows), chosen)
    return replace(reply, **changes)


def but(reply: Any, **columns: Any) -> Any:
    """Return a reply with other columns, which need not be of its types."""
    return replace(reply, **columns)


def rows_of(reply: Trained, rows: Any) -> Trained:
    return Trained(*(getattr(reply, each.name)[rows] for each in fields(Trained)))


def at(values: Any, row: int, other: Any) -> list[Any]:
    """Return a column as clients sent it, one of them something of its own."""
    return [other if each == row else value for each, value in enumerate(values)]


def without(admission: Admission, row: int, reply: Trained) -> None:
    """Check that an answer is missing and all others are as they were."""
    others = np.delete(np.arange(len(reply.clients)), row)
    for each in fields(Trained):
        got, expected = getattr(admission.reply, each.name), getattr(reply, each.name)
        np.testing.assert_array_equal(got, expected[others])
        assert got.dtype == expected.dtype, each.name


@pytest.mark.parametrize("received", [lambda reply: reply, Received])
@pytest.mark.parametrize("order", [ORDER, CHOICE, replace(ORDER, purpose="cold-start")])
def test_what_is_in_order_is_handed_on_as_it_is(received: Any, order: Train) -> None:
    guards = Guards(founder_cosine=-1.0, norm_action="clip")
    reply = honest(order)
    admission = admitted(order, received(reply), NUMBER, guards)
    assert admission.reply is reply
    assert (admission.rejected, admission.clipped) == ({}, 0)


def test_the_silent_are_no_reason_for_a_copy() -> None:
    reply = rows_of(honest(), np.array([0, 2, 3]))
    assert admitted(ORDER, reply, NUMBER, GUARDS).reply is reply


def test_nobody_at_all_answers() -> None:
    nobody = rows_of(honest(), slice(0))
    admission = admitted(ORDER, Received(nobody, late=5), NUMBER, GUARDS)
    assert admission.reply is nobody
    assert admission.rejected == {"late": 5}
    silent = replace(nobody, updates=[])
    assert admitted(ORDER, Received(silent), NUMBER, GUARDS).reply.updates.shape == (0, PARAMETERS)


NOT_NUMBERS: list[Any] = [None, "1", b"1", [1], {}, 1j, np.ones(1), np.nan, Hostile(), 10**400]
NO_COUNTS = [*NOT_NUMBERS, HostileFloat(1), -1, 2.5, np.inf, 2**41, 2**63, np.float32(0.5)]
NO_LOSSES = [*NOT_NUMBERS, HostileFloat(1), -np.inf, 1e39]
NOT_ASKED = [*NOT_NUMBERS, -1, 2, 10, 2**62, 3]  # the last one has answered before
FOUR = np.ones(PARAMETERS, dtype=np.float32)
MISSHAPEN: list[Any] = [
    *(None, "update", [1.0] * PARAMETERS, 1.0, Hostile(), np.float32(1)),
    *(FOUR[:3], np.append(FOUR, 1), FOUR[np.newaxis], np.array(1.0), FOUR[:0]),
    *(FOUR.astype(np.complex64), FOUR.astype(object), FOUR.astype(str), FOUR.astype("M8[s]")),
]
WRONG = [
    *(("examples", each, "invalid") for each in NO_COUNTS),
    *(("loss", each, "not_finite") for each in NO_LOSSES),
    *(("clients", each, "invalid") for each in NOT_ASKED),
    *(("updates", each, "shape") for each in MISSHAPEN),
]


@pytest.mark.parametrize(
    ("name", "wrong", "reason"),
    WRONG,
    ids=[f"{name}-{type(each).__name__}" for name, each, _ in WRONG],
)
def test_an_answer_with_something_else_in_a_column_is_refused_alone(
    name: str, wrong: Any, reason: str
) -> None:
    reply = honest()
    sent = but(reply, **{name: at(getattr(reply, name), 4, wrong)})
    admission = admitted(ORDER, Received(sent), NUMBER, GUARDS)
    without(admission, 4, reply)
    assert admission.rejected == {reason: 1}


@pytest.mark.parametrize("model", [-1, 3, 10**6, None])
def test_a_model_that_does_not_exist_or_was_not_given(model: Any) -> None:
    for order, wrong in ((CHOICE, model), (ORDER, model), (ORDER, 2)):
        reply = honest(order)
        sent = but(reply, model_of=at(reply.model_of, 0, wrong))
        admission = admitted(order, Received(sent), NUMBER, GUARDS)
        without(admission, 0, reply)
        none = order is CHOICE and wrong == NO_GROUP  # for whom all losses were not finite
        assert admission.rejected == {"not_finite" if none else "invalid": 1}


SIGNALLING = np.array([0x7FA00000] * PARAMETERS, dtype=np.uint32).view(np.float32)


@pytest.mark.parametrize(
    "update",
    [
        np.array([1, np.nan, 1, 1], np.float32),
        np.array([-np.inf, 1, 1, 1], np.float32),
        np.array([1e39, 1, 1, 1]),
        np.array([1, np.inf, 1, 1], np.float16),
        np.full(PARAMETERS, np.finfo(np.longdouble).max),
        SIGNALLING,
    ],
)
def test_an_update_that_is_not_finite(update: Any) -> None:
    reply = honest()
    matrix = reply.updates.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of putting what is too large into the matrix
        matrix[1] = update
    for sent in (at(reply.updates, 1, update), matrix):
        admission = admitted(ORDER, but(reply, updates=sent), NUMBER, GUARDS)
        without(admission, 1, reply)
        assert admission.rejected == {"not_finite": 1}


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int32, np.uint8, ">f4"])
def test_other_numbers_become_float32(dtype: Any) -> None:
    reply = honest()
    updates = at(reply.updates, 0, reply.updates[0].astype(dtype))
    objects = np.empty(5, dtype=object)
    objects[:] = updates
    for sent in (updates, reply.updates.astype(dtype), objects):
        admission = admitted(ORDER, Received(but(reply, updates=sent)), NUMBER, GUARDS)
        np.testing.assert_array_equal(admission.reply.updates, reply.updates)
        assert admission.reply.updates.dtype == np.float32
        assert not admission.rejected


def test_a_matrix_of_the_wrong_width_is_nobodys_update() -> None:
    reply = honest(updates=np.ones((5, PARAMETERS + 1), np.float32))
    admission = admitted(ORDER, reply, NUMBER, GUARDS)
    assert admission.rejected == {"shape": 5}
    assert admission.reply.updates.shape == (0, PARAMETERS)


def test_the_largest_float32_numbers_are_finite() -> None:
    huge = np.full((5, PARAMETERS), np.finfo(np.float32).max)
    reply = honest(updates=huge)
    assert admitted(ORDER, reply, NUMBER, GUARDS).reply is reply


def test_stale_answers_do_not_stand_in_the_way_of_the_right_one() -> None:
    reply = honest()
    twice = rows_of(reply, np.tile(np.arange(5), 2))
    twice.updates[:5] = np.nan  # a reason that comes later
    rounds = np.array([3] * 5 + [NUMBER] * 5)
    admission = admitted(ORDER, Received(twice, rounds, late=2), NUMBER, GUARDS)
    np.testing.assert_array_equal(admission.reply.updates, reply.updates)
    assert admission.rejected == {"late": 2, "stale": 5}
    none = admitted(ORDER, Received(twice, rounds), 9, GUARDS)
    assert none.rejected == {"stale": 10}


def test_answers_are_put_in_the_order_asked() -> None:
    reply = honest()
    admission = admitted(ORDER, rows_of(reply, np.array([3, 1, 4, 0, 2])), NUMBER, GUARDS)
    for each in fields(Trained):
        np.testing.assert_array_equal(
            getattr(admission.reply, each.name), getattr(reply, each.name)
        )
    assert not admission.rejected


def test_each_answer_is_counted_once_for_the_first_reason() -> None:
    reply = honest()
    updates = at(reply.updates * 1e9, 0, reply.updates[0])
    updates[1], updates[2], updates[3] = None, np.full(PARAMETERS, np.nan), reply.updates[3]
    sent = but(
        reply,
        clients=np.array([7, 8, 9, 0, 5]),
        updates=updates,
        loss=np.array([1, np.nan, np.nan, 1, 1]),
        examples=np.array([6, -1, 6, 6, 6]),
    )
    sent = Trained(*(_and_again(getattr(sent, f.name)) for f in fields(Trained)))
    rounds = np.full(10, NUMBER)
    rounds[5:7] = 1
    admission = admitted(ORDER, Received(sent, rounds), NUMBER, Guards(norm_bound=10.0))
    np.testing.assert_array_equal(admission.reply.clients, [7, 0])
    assert admission.rejected == {"stale": 2, "invalid": 4, "not_finite": 1, "norm": 1}
    assert list(admission.rejected) == [each for each in REASONS if each in admission.rejected]


def _and_again(column: Any) -> Any:
    return column * 2 if isinstance(column, list) else np.concatenate([column, column])


def test_one_that_is_a_million_times_too_long_is_refused_or_shortened() -> None:
    reply = honest(updates=np.ones((5, PARAMETERS), np.float32))
    reply.updates[2] *= 1e6
    before = reply.updates.copy()
    refused = admitted(ORDER, reply, NUMBER, GUARDS)
    without(refused, 2, reply)
    assert (refused.rejected, refused.clipped) == ({"norm": 1}, 0)
    for sent in (reply.updates, list(reply.updates)):
        guards = Guards(norm_bound=3.0, norm_action="clip")
        shortened = admitted(ORDER, but(reply, updates=sent), NUMBER, guards)
        expected = before.copy()
        expected[2] = 3.0
        np.testing.assert_allclose(shortened.reply.updates, expected, rtol=1e-6)
        assert (shortened.rejected, shortened.clipped) == ({}, 1)
    np.testing.assert_array_equal(reply.updates, before)
    free = admitted(ORDER, reply, NUMBER, Guards(norm_bound="none"))
    assert free.reply is reply


def test_without_a_typical_length_there_is_no_bound() -> None:
    updates = np.zeros((5, PARAMETERS), np.float32)
    updates[:2] = 1e6
    reply = honest(updates=updates)
    assert admitted(ORDER, reply, NUMBER, GUARDS).reply is reply


@given(
    st.lists(
        st.sampled_from([np.nan, np.inf, 1e39, 1e30, -1e30, 0.0, None, "x", 10**400]), max_size=4
    ),
    st.sampled_from(["updates", "loss", "examples", "model_of", "clients"]),
)
@settings(max_examples=60, deadline=None)
def test_a_minority_never_costs_the_others_their_answers(sent: list[Any], name: str) -> None:
    order = replace(ORDER, clients=np.arange(9), model_of=np.zeros(9, np.int64))
    reply = honest(order, updates=np.ones((9, PARAMETERS), np.float32))
    column: list[Any] = list(getattr(reply, name))
    for row, value in enumerate(sent):
        column[row] = value if name != "updates" or value is None else np.array([value] * 4)
    admission = admitted(order, Received(but(reply, **{name: column})), NUMBER, GUARDS)
    left = admission.reply.clients.tolist()
    assert [client for client in left if client >= len(sent)] == list(range(len(sent), 9))
    assert len(left) + sum(admission.rejected.values()) == 9
    assert np.isfinite(admission.reply.updates).all()


DIRECTIONS = np.ones((2, PARAMETERS), np.float32)
THREE = CLIENTS[:3]


@pytest.mark.parametrize(
    ("order", "reply", "name", "wrong", "reason"),
    [
        (
            Place(THREE, DIRECTIONS[0], DIRECTIONS, Local()),
            Placed(THREE, np.array([1, 0, 1])),
            *("group_of", 2, "invalid"),
        ),
        (
            Migrate(THREE, Local(), 2),
            Placed(THREE, np.array([1, 0, 1])),
            *("group_of", 10**6, "invalid"),
        ),
        (Choose(THREE, MODELS), Chosen(THREE, np.array([1, 0, 2])), "model_of", 3, "invalid"),
        (CheckDrift(THREE), Checked(THREE, np.array([True, False, True])), "drifted", 2, "invalid"),
        (Settle(THREE), Kept(THREE), "clients", 0, "invalid"),
        (Keep(THREE, DIRECTIONS[0], DIRECTIONS), Kept(THREE), "clients", 0, "invalid"),
    ],
)
def test_replies_of_every_other_kind(
    order: Order[Any], reply: Any, name: str, wrong: Any, reason: str
) -> None:
    assert admitted(order, reply, NUMBER, GUARDS).reply is reply
    sent = but(reply, **{name: at(getattr(reply, name), 1, wrong)})
    admission = admitted(order, Received(sent), NUMBER, GUARDS)
    assert type(admission.reply) is type(reply)
    assert admission.rejected == {reason: 1}
    for each in fields(reply):
        got, expected = getattr(admission.reply, each.name), getattr(reply, each.name)
        np.testing.assert_array_equal(got, expected[[0, 2]])
        assert got.dtype == expected.dtype


def test_a_client_has_measured_all_its_models_or_none() -> None:
    order = Evaluate(np.array([7, 3, 7, 3]), MODELS, np.array([0, 0, 1, 1]))
    loss = np.array([np.nan, 1, 2, 3])
    reply = Evaluated(order.clients, loss, np.arange(4), np.full(4, 6))
    assert admitted(order, reply, NUMBER, GUARDS).reply is reply
    for wrong in (
        {"clients": np.array([7, 3, 8, 3])},
        {"hits": np.array([0, 1, 7, 3])},
        {"examples": [6, 6, "6", 6]},
    ):
        admission = admitted(order, but(reply, **wrong), NUMBER, GUARDS)
        np.testing.assert_array_equal(admission.reply.clients, [3, 3])
        np.testing.assert_array_equal(admission.reply.hits, [1, 3])
        assert admission.rejected == {"invalid": 2}


def test_several_answers_of_a_client_are_put_in_the_order_asked() -> None:
    order = Evaluate(np.array([7, 3, 7, 3]), MODELS, np.array([0, 0, 1, 1]))
    sent = Evaluated(np.array([3, 3, 7, 7]), np.ones(4), np.arange(4), np.full(4, 6))
    admission = admitted(order, sent, NUMBER, GUARDS)
    np.testing.assert_array_equal(admission.reply.clients, order.clients)
    np.testing.assert_array_equal(admission.reply.hits, [2, 0, 3, 1])
    assert not admission.rejected


def test_a_million_verdicts_are_not_looked_at_one_by_one() -> None:
    everybody = np.arange(10**6)
    order = CheckDrift(everybody)
    some = everybody[everybody % 3 > 0]
    for clients in (everybody, np.append(some, some[:9])):
        reply = Checked(clients, np.zeros(len(clients), dtype=np.bool_))
        started = process_time()
        admission = admitted(order, reply, NUMBER, GUARDS)
        assert process_time() - started < 0.5
        assert len(admission.reply.clients) == len(clients) - admission.rejected.get("invalid", 0)


def test_a_reply_of_columns_that_do_not_belong_together_is_a_mistake_of_the_executor() -> None:
    with pytest.raises(ValueError, match="5 clients answered, with 1 loss"):
        admitted(ORDER, honest(loss=np.ones(1)), NUMBER, GUARDS)


@pytest.mark.parametrize("answers", [1, 2])
def test_one_or_two_answers_are_measured_by_the_model(answers: int) -> None:
    """Their median says nothing, and one huge update alone in its round would be the model."""
    some = np.arange(len(CLIENTS)) < answers
    order = among(replace(ORDER, models=np.ones_like(MODELS)), some)
    reply = of_those(honest(), some)
    huge = replace(reply, updates=reply.updates.copy())
    huge.updates[0] *= 1e6
    assert not admitted(order, reply, NUMBER, GUARDS).rejected
    assert admitted(order, huge, NUMBER, GUARDS).rejected == {"norm": 1}


def test_who_has_drifted_moves_further_than_those_at_rest() -> None:
    """However far that is: the model's own length is a measure as well."""
    order = replace(ORDER, models=np.ones_like(MODELS))
    rested = honest(updates=honest().updates * np.float32(1e-9))
    rested.updates[0] = 0.9
    assert not admitted(order, rested, NUMBER, GUARDS).rejected
    rested.updates[0] = 9.0
    assert admitted(order, rested, NUMBER, GUARDS).rejected == {"norm": 1}


@pytest.mark.parametrize("name", ["clients", "examples", "loss", "model_of"])
def test_what_is_only_like_a_number_is_none(name: str) -> None:
    strange = list(getattr(honest(), name))
    strange[0] = np.timedelta64(3, "s")
    reply = replace(honest(), **{name: strange})  # type: ignore[arg-type]
    rejected: Any = admitted(ORDER, reply, NUMBER, GUARDS).rejected
    assert sum(rejected.values()) == 1


def test_who_migrates_may_ask_to_be_placed_and_a_newcomer_may_not() -> None:
    asking = Placed(THREE, np.array([1, NO_GROUP, 0]))
    assert admitted(Migrate(THREE, Local(), 2), asking, NUMBER, GUARDS).reply is asking
    place = Place(THREE, DIRECTIONS[0], DIRECTIONS, Local())
    assert admitted(place, asking, NUMBER, GUARDS).rejected == {"not_finite": 1}


def test_who_said_nothing_at_all_is_named() -> None:
    order = CheckDrift(THREE)
    everybody = admitted(order, Checked(THREE, np.zeros(3, dtype=np.bool_)), NUMBER, GUARDS)
    assert everybody.silent.tolist() == []
    nonsense = Checked(THREE[[2, 0]], np.array([7, 1]))
    admission = admitted(order, Received(nonsense), NUMBER, GUARDS)
    assert admission.silent.tolist() == [THREE[1]]  # who says nonsense is not silent
    assert admission.rejected == {"invalid": 1}
