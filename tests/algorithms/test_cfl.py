"""CFL, driven by hand and on clients in closed form."""

import doctest
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from flexcfl.algorithms import FedAvg, cfl
from flexcfl.algorithms.cfl import CFL, LEAF, CflOptions, CflState
from flexcfl.errors import SettingsError
from flexcfl.protocol import Local, Order, Train, Trained, drive
from flexcfl.settings import validated
from tests.algorithms.driving import advanced, rng, started

LOCAL = Local(rate=0.5)
EAGER = CflOptions(eps1=0.5, eps2=1.0, least=2, rounds_before=0)

Make = Callable[..., Any]


class Script:
    """Clients with fixed updates, by (purpose, node, client); all have one example."""

    def __init__(self, answers: dict[tuple[str, int, int], list[float]]) -> None:
        self.answers = answers
        self.orders: list[Train] = []

    def __call__(self, order: Order[Any]) -> Any:
        assert isinstance(order, Train)
        assert not isinstance(order.model_of, str)
        self.orders.append(order)
        asked = zip(order.clients.tolist(), order.model_of.tolist(), strict=True)
        found = [self.answers.get((order.purpose, node, client)) for client, node in asked]
        rows = np.flatnonzero([each is not None for each in found])
        updates = np.array([found[row] for row in rows], np.float32).reshape(len(rows), 2)
        ones = np.ones(len(rows), np.int64)
        return Trained(
            order.clients[rows], updates, ones, np.zeros(len(rows)), order.model_of[rows]
        )

    @property
    def asked(self) -> list[tuple[str, list[int], list[int]]]:
        return [
            (each.purpose, each.clients.tolist(), np.asarray(each.model_of).tolist())
            for each in self.orders
        ]


def training(node: int, answers: dict[int, list[float]]) -> dict[tuple[str, int, int], list[float]]:
    return {("training", node, client): update for client, update in answers.items()}


def root(clients: int) -> CflState:
    model = np.array([[1, 2]], np.float32)
    return CflState(model, np.array([LEAF]), model[:0], np.zeros(clients, np.int64))


def tree(node_of: list[int]) -> CflState:
    """Return 0 divided into 1 (east) and 2 (west), and 1 into 3 (north) and 4 (south)."""
    directions = np.array([[1, 0], [-1, 0], [0, 1], [0, -1]], np.float32)
    models = 10 * np.arange(10, dtype=np.float32).reshape(5, 2)
    return CflState(models, np.array([1, 3, LEAF, LEAF, LEAF]), directions, np.array(node_of))


def after(state: CflState, cohort: list[int], script: Any, options: CflOptions = EAGER) -> CflState:
    everybody = np.ones(len(state.node_of), np.bool_)
    talk = CFL(LOCAL, options).round(state, np.array(cohort, np.int64), everybody, rng())
    return drive(talk, script)


APART = training(0, {1: [2, 0], 3: [-2, 0.5], 4: [2, 0.5], 8: [-2, 0]})


def test_a_cluster_at_rest_whose_clients_pull_apart_is_divided() -> None:
    script = Script(APART)
    state = after(root(9), [1, 3, 4, 8], script)
    assert script.asked == [("training", [1, 3, 4, 8], [0] * 4)]
    assert state.node_of.tolist() == [0, 1, 0, 2, 1, 0, 0, 0, 2]
    assert state.first_child.tolist() == [1, LEAF, LEAF]
    assert state.directions.tolist() == [[2, 0.25], [-2, 0.25]]
    # The divided node keeps what its clients trained from; its children begin from there.
    assert state.models.tolist() == [[1, 2], [3, 2.25], [-1, 2.25]]
    serving = CFL(LOCAL).serving(state)
    assert serving.models is state.models
    assert serving.model_of is state.node_of


@pytest.mark.parametrize(
    "options",
    [
        {"eps1": 0.25},  # the norm of the mean update is 0.25, and must be below
        {"eps2": 2.07},  # the largest norm is 2.06...
        {"least": 5},
        {"rounds_before": 1},
        {"gamma": 0.9999},
    ],
)
def test_every_condition_counts(options: dict[str, Any]) -> None:
    base = {"eps1": 0.5, "eps2": 1.0, "least": 2, "rounds_before": 0}
    state = after(root(9), [1, 3, 4, 8], Script(APART), CflOptions(**{**base, **options}))
    assert state.models.tolist() == [[1, 2.25]]
    assert state.node_of.tolist() == [0] * 9
    assert state.rounds == 1


def test_gamma_is_compared_with_the_cosine_across() -> None:
    cosine = -2 / np.hypot(2, 0.5)
    gap = float(np.sqrt((1 - cosine) / 2))
    for gamma, nodes in ((gap - 1e-6, 3), (gap + 1e-6, 1)):
        script = Script(training(0, {1: [2, 0], 3: [-2, 0.5]}))
        options = CflOptions(1.0, 1.0, gamma, least=2, rounds_before=0)
        assert len(after(root(4), [1, 3], script, options).models) == nodes


def test_the_conditions_hold_for_each_cluster_by_itself() -> None:
    state = tree([2, 2, 3, 3])
    script = Script(training(2, {0: [3, 0], 1: [-3, 0]}) | training(3, {2: [3, 0], 3: [3, 0]}))
    state = after(state, [0, 1, 2, 3], script)
    assert state.node_of.tolist() == [5, 6, 3, 3]
    assert state.first_child.tolist() == [1, 3, 5, LEAF, LEAF, LEAF, LEAF]
    assert state.models[3].tolist() == [60 + 3, 70]
    assert state.models[2].tolist() == [40, 50]
    assert state.models[5:].tolist() == [[43, 50], [37, 50]]


def test_who_was_away_follows_and_trains_in_the_same_round() -> None:
    state = after(root(9), [1, 3, 4, 8], Script(APART))
    script = Script({("placement", 0, 5): [-1.0, 9.0], ("training", 2, 5): [0.5, 0.0]})
    state = after(state, [1, 5], script)
    assert script.asked == [("placement", [5], [0]), ("training", [1, 5], [1, 2])]
    assert state.node_of.tolist() == [0, 1, 0, 2, 1, 2, 0, 0, 2]
    assert state.models.tolist() == [[1, 2], [3, 2.25], [-0.5, 2.25]]


def test_it_goes_down_as_many_levels_as_were_divided() -> None:
    script = Script(
        {
            ("placement", 0, 0): [1, 0.1],
            ("placement", 0, 1): [-1, 0.1],
            ("placement", 0, 3): [1, -0.1],
            ("placement", 1, 0): [0.5, -1],
            ("placement", 1, 2): [0.5, 1],
            ("placement", 1, 3): [0.5, 1],
        }
    )
    state = after(tree([0, 0, 1, 0, 2]), [0, 1, 2, 3, 4], script)
    assert script.asked == [
        ("placement", [0, 1, 2, 3], [0, 0, 1, 0]),
        ("placement", [0, 3], [1, 1]),
        ("training", [0, 1, 2, 3, 4], [4, 2, 3, 3, 2]),
    ]
    assert state.node_of.tolist() == [4, 2, 3, 3, 2]


def test_a_client_silent_on_the_way_waits_at_its_node() -> None:
    script = Script({("placement", 0, 0): [1, 0.1], ("training", 2, 2): [1, 1]})
    state = after(tree([0, 0, 2]), [0, 1, 2], script)
    assert script.asked == [
        ("placement", [0, 1], [0, 0]),
        ("placement", [0], [1]),
        ("training", [2], [2]),
    ]
    assert state.node_of.tolist() == [1, 0, 2]


def test_the_others_follow_where_the_first_asked_is_silent() -> None:
    script = Script({("placement", 0, 1): [-1, 0.1], ("placement", 0, 2): [-1, 0.2]})
    assert after(tree([0, 0, 0, 3]), [0, 1, 2], script).node_of.tolist() == [0, 2, 2, 3]


def test_divided_nodes_are_no_groups() -> None:
    serving = CFL(LOCAL).serving(tree([0, 3]))
    assert serving.waiting == (0, 1)
    assert serving.groups.tolist() == [2, 3, 4]


def test_an_update_of_zero_goes_to_the_first_child() -> None:
    script = Script({("placement", 0, 0): [0, 0], ("placement", 1, 0): [0, 0]})
    assert after(tree([0]), [0], script).node_of.tolist() == [3]


def test_a_zero_update_among_the_divided_is_no_trouble() -> None:
    script = Script(training(0, {0: [2, 0], 1: [-2, 0], 2: [0, 0]}))
    state = after(root(3), [0, 1, 2], script)
    assert sorted(np.bincount(state.node_of, minlength=3)[1:]) == [1, 2]
    assert np.isfinite(state.models).all()


def test_who_is_silent_in_training_is_not_divided() -> None:
    script = Script({key: value for key, value in APART.items() if key[2] != 8})
    state = after(root(9), [1, 3, 4, 8], script, CflOptions(1.0, 1.0, least=2, rounds_before=0))
    assert state.node_of.tolist() == [0, 1, 0, 2, 1, 0, 0, 0, 0]


def test_nothing_happens_if_everybody_is_silent() -> None:
    before = tree([0, 1, 2, 3, 4])
    state = after(before, [0, 1, 2, 3, 4], Script({}))
    assert np.array_equal(state.models, before.models)
    assert np.array_equal(state.node_of, before.node_of)
    assert state.rounds == 1


def test_full_participation_asks_everybody_present_and_nobody_else() -> None:
    method = CFL(LOCAL, CflOptions(participation="full"))
    present = np.array([True, False, True, True])
    order = next(method.round(root(4), np.array([0]), present, rng()))
    assert isinstance(order, Train)
    assert order.clients.tolist() == [0, 2, 3]


def test_kinds_of_clients_are_separated_by_dividing_again_and_again(parabolas: Make) -> None:
    federation = parabolas(15)
    method = CFL(LOCAL, CflOptions(eps1=0.1, eps2=1.0, participation="full", rounds_before=0))
    state = advanced(method, started(method, federation), federation, *[range(15)] * 40)
    assert len(state.models) == 5
    assert adjusted_rand_score(federation.kinds, state.node_of) == 1
    for client, node in enumerate(state.node_of):
        assert state.first_child[node] == LEAF
        alike = np.flatnonzero(state.node_of == node)
        optimum = np.average(federation.targets[alike], axis=0, weights=alike + 1)
        np.testing.assert_allclose(state.models[node], optimum, atol=1e-4)
        assert federation.kinds[client] == federation.kinds[alike[0]]


def test_late_clients_find_the_others_of_their_kind(parabolas: Make) -> None:
    federation = parabolas(15)
    early = np.arange(15) < 9
    method = CFL(LOCAL, CflOptions(eps1=0.1, eps2=1.0, participation="full", rounds_before=0))
    state = started(method, federation, present=early)
    state = advanced(method, state, federation, *[range(9)] * 40, present=early)
    assert (state.node_of[9:] == 0).all()
    federation.exchanges.clear()
    state = advanced(method, state, federation, range(15))
    assert adjusted_rand_score(federation.kinds, state.node_of) == 1
    orders = [order for order, _ in federation.exchanges]
    assert [each.purpose for each in orders] == ["placement", "placement", "training"]
    assert orders[0].clients.tolist() == list(range(9, 15))
    assert orders[2].clients.tolist() == list(range(15))


def test_no_client_is_lost_or_in_two_clusters() -> None:
    """The authors' notebook takes the rows of a cluster's own matrix for client ids."""
    script = Script(
        training(0, {client: [2, 0.1] if client < 3 else [-2, 0.1] for client in range(7)})
        | training(2, {3: [3, 0], 4: [-3, 0], 5: [3, 0], 6: [-3, 0]})
        | training(1, {0: [0, 1], 1: [0, 1], 2: [0, 1]})
    )
    options = CflOptions(1.0, 1.5, least=2, rounds_before=0)
    state = after(root(7), list(range(7)), script, options)
    assert state.node_of.tolist() == [1, 1, 1, 2, 2, 2, 2]
    # The second cluster's rows 0 to 3 are the clients 3 to 6; of these, 3 and 5 belong together.
    state = after(state, list(range(7)), script, options)
    assert state.node_of.tolist() == [1, 1, 1, 3, 4, 3, 4]


def test_without_divisions_it_is_fedavg(parabolas: Make) -> None:
    cohort, plain, divided = np.array([0, 3, 5]), parabolas(6), parabolas(6)
    methods: list[tuple[Any, Any]] = [
        (FedAvg(LOCAL), plain),
        (CFL(LOCAL, CflOptions(eps1=0, rounds_before=0)), divided),
    ]
    models = []
    for method, federation in methods:
        state = drive(method.start(federation.initial, federation.present, rng()), federation)
        for _ in range(3):
            state = drive(method.round(state, cohort, federation.present, rng()), federation)
        models.append(method.serving(state).models)
    assert np.array_equal(*models)


def ancestors(state: CflState, node: int) -> list[int]:
    parents = {
        child: parent
        for parent, first in enumerate(state.first_child.tolist())
        if first != LEAF
        for child in (first, first + 1)
    }
    line = [node]
    while line[-1]:
        line.append(parents[line[-1]])
    return line


PHASES = st.sampled_from([None, "training", "placement"])


@given(st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_client_has_one_valid_node_whatever_happens(
    parabolas: Make, data: st.DataObject
) -> None:
    method = CFL(LOCAL, CflOptions(eps1=100, eps2=0, least=2, rounds_before=0))
    state = started(method, parabolas(8))
    clients = st.sets(st.integers(0, 7))
    for _ in range(5):
        cohort = np.array(sorted(data.draw(clients)), np.int64)
        federation = parabolas(8, silent=frozenset(data.draw(clients)), phase=data.draw(PHASES))
        before = state
        state = drive(method.round(state, cohort, federation.present, rng()), federation)
        assert state.models.shape == (len(state.first_child), 3)
        assert state.directions.shape == (len(state.first_child) - 1, 3)
        assert np.isfinite(state.models).all()
        assert state.models.dtype == state.directions.dtype == np.float32
        inner = np.flatnonzero(before.first_child != LEAF)
        assert np.array_equal(state.models[inner], before.models[inner])
        for client in range(8):
            line = ancestors(state, int(state.node_of[client]))
            assert before.node_of[client] in line
            assert line[0] == before.node_of[client] or client in cohort


@pytest.mark.parametrize("option", ["eps1", "eps2", "gamma", "rounds_before"])
def test_options_out_of_range_are_reported(option: str) -> None:
    with pytest.raises(SettingsError, match=rf"^\[algorithm\] {option} must be "):
        validated(CflOptions, {option: -1}, "[algorithm]")


def test_the_memory_of_a_round_for_everybody() -> None:
    assert cfl.memory(CflOptions(), 1000, 7850) == 0
    assert doctest.testmod(cfl) == (0, 1)
