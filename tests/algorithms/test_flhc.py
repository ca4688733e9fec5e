"""FL+HC, driven by hand and on clients in closed form."""

import doctest
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import adjusted_rand_score, silhouette_score

from flexcfl.algorithms import FedAvg, flhc
from flexcfl.algorithms.flhc import FLHC, FlhcOptions, FlhcState
from flexcfl.clustering import measures
from flexcfl.errors import SettingsError
from flexcfl.protocol import Clustering, Local, Order, Train, Trained, drive
from flexcfl.settings import validated
from tests.algorithms.driving import rng

LOCAL = Local(rate=0.5)
KINDS = [
    (metric, linkage)
    for metric in ("manhattan", "euclidean", "cosine")
    for linkage in ("complete", "average", "single")
] + [("euclidean", "ward")]

Make = Callable[..., Any]


class Script:
    """Clients with fixed updates, one order after the other, all of the same size."""

    def __init__(self, *answers: dict[int, list[float]]) -> None:
        self.answers = list(answers)
        self.orders: list[Train] = []

    def __call__(self, order: Order[Any]) -> Any:
        assert isinstance(order, Train)
        assert not isinstance(order.model_of, str)
        self.orders.append(order)
        answer = self.answers.pop(0)
        rows = np.flatnonzero(np.isin(order.clients, list(answer)))
        clients = order.clients[rows]
        updates = np.array([answer[client] for client in clients.tolist()], np.float32)
        updates = updates.reshape(len(rows), order.models.shape[1])
        ones = np.ones(len(rows), np.int64)
        return Trained(clients, updates, ones, np.zeros(len(rows)), order.model_of[rows])

    @property
    def asked(self) -> list[tuple[str, list[int], list[int]]]:
        return [
            (each.purpose, each.clients.tolist(), np.asarray(each.model_of).tolist())
            for each in self.orders
        ]


def global_model(clients: int, parameters: int = 2) -> FlhcState:
    model = np.arange(parameters, dtype=np.float32)[np.newaxis]
    return FlhcState(model, model[:0], np.zeros(clients, np.int64))


def after(
    state: FlhcState,
    cohort: list[int],
    executor: Any,
    options: FlhcOptions,
    present: list[bool] | None = None,
    seed: int = 0,
) -> FlhcState:
    there = np.array(present if present is not None else [True] * len(state.model_of))
    talk = FLHC(LOCAL, options).round(state, np.array(cohort, np.int64), there, rng(seed))
    return drive(talk, executor)


def clustered(updates: np.ndarray, **options: Any) -> FlhcState:
    """Return the state in which clients with these updates are clustered."""
    script = Script(dict(enumerate(updates.tolist())))
    chosen = FlhcOptions(rounds_before=0, **options)
    return after(global_model(*updates.shape), [], script, chosen)


def found(state: FlhcState) -> Clustering:
    assert state.clustering is not None
    return state.clustering


PAIR = FlhcOptions(rounds_before=1, groups=2)
EAST_WEST = {0: [-3.0, 0.0], 1: [3.0, 1.0], 2: [-3.0, 2.0], 3: [3.0, 3.0]}


def test_a_conversation_by_hand() -> None:
    script = Script({1: [2.0, 0.0], 3: [0.0, 4.0]}, EAST_WEST, {0: [1.0, 1.0], 1: [0.0, 1.0]})
    state = after(global_model(4), [1, 3], script, PAIR)
    assert state.models.tolist() == [[1, 3]]
    assert state.clustering is None
    # The second round asks everybody, not only the cohort.
    state = after(state, [2], script, PAIR)
    assert state.models.tolist() == [[1 - 3, 3 + 1], [1 + 3, 3 + 2], [1, 3]]
    assert state.directions.tolist() == [[-3, 1], [3, 2]]
    assert state.model_of.tolist() == [0, 1, 0, 1]
    state = after(state, [0, 1], script, PAIR)
    assert state.models.tolist() == [[-1, 5], [4, 6], [1, 3]]
    assert script.asked == [
        ("training", [1, 3], [0, 0]),
        ("training", [0, 1, 2, 3], [0] * 4),
        ("training", [0, 1], [0, 1]),
    ]
    assert all(order.local == LOCAL for order in script.orders)


def test_clusters_are_weighted_by_examples(parabolas: Make) -> None:
    federation = parabolas(9)
    state = after(global_model(9, 3), [], federation, FlhcOptions(0, groups=3))
    updates = 0.5 * (federation.targets - state.models[-1])
    for group in range(3):
        members = np.flatnonzero(state.model_of == group)
        mean = np.average(updates[members], axis=0, weights=members + 1)
        np.testing.assert_allclose(state.directions[group], mean, rtol=1e-5)
        np.testing.assert_allclose(state.models[group], state.models[-1] + mean, rtol=1e-5)


@pytest.mark.parametrize(("metric", "linkage"), KINDS)
def test_kinds_of_clients_are_recovered(parabolas: Make, metric: Any, linkage: Any) -> None:
    federation = parabolas(15)
    options = FlhcOptions(rounds_before=2, groups=3, metric=metric, linkage=linkage)
    method = FLHC(LOCAL, options)
    state = drive(method.start(federation.initial, federation.present, rng()), federation)
    for _ in range(3):
        state = after(state, list(range(15)), federation, options)
    serving = method.serving(state)
    assert adjusted_rand_score(federation.kinds, serving.model_of) == 1
    assert serving.model_of[:3].tolist() == [0, 1, 2]  # numbered as they appear
    assert serving.models.shape == (4, 3)
    assert serving.clustering is state.clustering


def test_the_clustering_is_reported() -> None:
    updates = rng().normal(size=(12, 5)) + np.repeat([[8, 0, 0, 0, 0], [0, 8, 0, 0, 0]], 6, axis=0)
    report = found(clustered(updates, groups=2))
    assert report.clients.tolist() == list(range(12))
    assert report.group_of.tolist() == [0] * 6 + [1] * 6
    assert report.groups == 2
    assert report.embedding.shape == (12, 2)
    judged = silhouette_score(updates, report.group_of, metric="manhattan")
    assert report.silhouette == pytest.approx(judged, abs=1e-5)
    centres = np.stack([report.embedding[:6].mean(axis=0), report.embedding[6:].mean(axis=0)])
    gaps = report.embedding - centres[report.group_of]
    assert report.within == pytest.approx(float((gaps**2).sum()))


@pytest.mark.slow
@pytest.mark.parametrize(("metric", "linkage"), KINDS)
@given(st.integers(0, 2**32 - 1), st.integers(2, 9), st.booleans())
@settings(max_examples=15)
def test_it_agglomerates_as_scikit_learn_does(
    metric: Any, linkage: Any, seed: int, groups: int, by_number: bool
) -> None:
    updates = rng(seed).normal(size=(9, 4)).astype(np.float32)
    threshold = {"manhattan": 4.0, "euclidean": 2.0, "cosine": 0.8}[metric]
    cut = {"n_clusters": groups} if by_number else {"distance_threshold": threshold}
    judge = AgglomerativeClustering(**{"n_clusters": None, **cut}, metric=metric, linkage=linkage)
    expected = judge.fit_predict(updates.astype(np.float64))
    ours = {"groups": groups} if by_number else {"threshold": threshold}
    state = clustered(updates, metric=metric, linkage=linkage, **ours)
    assert adjusted_rand_score(expected, state.model_of) == 1
    assert state.groups == len(set(expected.tolist()))


def test_a_threshold_takes_the_place_of_the_number() -> None:
    updates = np.array([[0, 1], [0, 2], [0, 9], [0, 11]], np.float32)
    for threshold, expected in (
        (0.5, [0, 1, 2, 3]),
        (1.0, [0, 0, 1, 2]),  # as near as the threshold is near enough
        (2.0, [0, 0, 1, 1]),
        (9.9, [0, 0, 1, 1]),
        (10.0, [0, 0, 0, 0]),
    ):
        state = clustered(updates, groups=2, threshold=threshold)
        assert state.model_of.tolist() == expected
        assert found(state).groups == max(expected) + 1


def test_there_are_as_many_groups_as_asked_for_even_among_equals() -> None:
    state = clustered(np.ones((5, 2), np.float32), groups=3)
    assert sorted(set(state.model_of.tolist())) == [0, 1, 2]


def test_a_zero_update_is_no_trouble() -> None:
    updates = np.array([[0, 0], [1, 0], [1, 0.1], [0, 0]], np.float32)
    for metric, linkage in KINDS:
        state = clustered(updates, groups=2, metric=metric, linkage=linkage)
        assert np.isfinite(state.models).all()
        assert state.groups == 2


def test_columns_are_taken_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    updates = rng(1).normal(size=(7, 11)).astype(np.float32)
    newcomer = {0: rng(2).normal(size=11).tolist()}
    for metric in ("manhattan", "euclidean"):
        options = FlhcOptions(0, groups=3, metric=metric)
        labels = []
        for block in (2**21, 14):
            monkeypatch.setattr(measures, "BLOCK", block)
            script = Script(dict(enumerate(updates.tolist(), start=1)), newcomer, newcomer)
            state = after(global_model(8, 11), [], script, options)
            labels.append(after(state, [0], script, options).model_of.tolist())
        assert labels[0] == labels[1]


@pytest.mark.parametrize("metric", ["manhattan", "euclidean", "cosine"])
def test_who_was_not_there_joins_the_nearest_cluster(metric: Any) -> None:
    updates = rng(3).normal(size=(9, 4)).astype(np.float32)
    options = FlhcOptions(0, groups=3, metric=metric)
    late = dict(enumerate(rng(4).normal(size=(31, 4)).tolist(), start=9))
    script = Script(dict(enumerate(updates.tolist())), late, {})
    state = after(global_model(40, 4), [], script, options)
    assert (state.model_of[9:] == 3).all()
    state = after(state, list(range(8, 40)), script, options)
    name = "cityblock" if metric == "manhattan" else metric
    nearest = cdist(np.array(list(late.values())), state.directions, name).argmin(axis=1)
    assert state.model_of[9:].tolist() == nearest.tolist()
    assert script.asked[1:] == [
        ("placement", list(range(9, 40)), [3] * 31),
        ("training", list(range(8, 40)), state.model_of[8:].tolist()),
    ]


def test_who_waits_is_served_the_global_model_as_it_was() -> None:
    script = Script({key: EAST_WEST[key] for key in (0, 1, 3)}, {0: [5.0, 5.0]}, {}, {3: [1, 1]})
    options = FlhcOptions(0, groups=2)
    state = after(global_model(5), [], script, options, [True] * 4 + [False])
    assert script.asked == [("training", [0, 1, 2, 3], [0] * 4)]
    assert state.model_of.tolist() == [0, 1, 2, 1, 2]
    state = after(state, [0], script, options)
    assert state.models[2].tolist() == [0, 1]
    # Silent again when it should be placed: it keeps waiting and does not train.
    state = after(state, [2, 3], script, options)
    assert script.asked[2:] == [("placement", [2], [2]), ("training", [3], [1])]
    assert state.model_of.tolist() == [0, 1, 2, 1, 2]
    assert state.models[2].tolist() == [0, 1]


def test_the_others_are_placed_where_the_first_asked_is_silent() -> None:
    models = np.arange(6, dtype=np.float32).reshape(3, 2)
    directions = np.array([[1, 0], [-1, 0]], np.float32)
    state = FlhcState(models, directions, np.array([2, 2, 2, 0]), rounds=3)
    script = Script({1: [-1, 0], 2: [1, 0]}, {})
    placed = after(state, [0, 1, 2], script, FlhcOptions(groups=2))
    assert placed.model_of.tolist() == [2, 1, 0, 0]
    serving = FLHC(LOCAL).serving(placed)
    assert serving.waiting == (2,)
    assert serving.groups.tolist() == [0, 1]


def test_newcomers_train_in_the_round_in_which_they_are_placed() -> None:
    script = Script({key: EAST_WEST[key] for key in (0, 1)}, {2: [-9.0, 0.0]}, {2: [-1.0, 0.0]})
    options = FlhcOptions(0, groups=2)
    state = after(global_model(3), [0], script, options, [True, True, False])
    state = after(state, [2], script, options)
    assert state.model_of.tolist() == [0, 1, 0]
    assert state.models[0].tolist() == [-3 - 1, 1]


@pytest.mark.parametrize("answers", [{}, {3: [4.0, 8.0]}])
def test_too_few_answers_make_one_more_round_of_fedavg(answers: dict[int, list[float]]) -> None:
    script = Script(answers, EAST_WEST)
    options = FlhcOptions(0, groups=2)
    state = after(global_model(4), [0], script, options)
    assert state.models.tolist() == [[4, 9] if answers else [0, 1]]
    assert state.model_of.tolist() == [0] * 4
    assert state.clustering is None
    state = after(state, [0], script, options)
    assert state.model_of.tolist() == [0, 1, 0, 1]


def test_one_answer_is_too_few_for_a_threshold() -> None:
    state = after(global_model(4), [0], Script({3: [1.0, 1.0]}), FlhcOptions(0, threshold=1.0))
    assert state.models.tolist() == [[1, 2]]


def test_a_sample_depends_on_the_generator_alone() -> None:
    updates = dict(enumerate(rng().normal(size=(10, 2)).tolist()))
    options = FlhcOptions(0, groups=2, sample=4)
    asked = []
    for cohort, seed in (([0], 0), ([5, 6], 0), ([0], 1)):
        script = Script(updates)
        state = after(global_model(10), cohort, script, options, [True] * 9 + [False], seed)
        asked.append(script.orders[0].clients.tolist())
        assert np.flatnonzero(state.model_of != 2).tolist() == asked[-1]
    assert asked[0] == asked[1] != asked[2]
    assert all(len(each) == 4 and each == sorted(each) and 9 not in each for each in asked)


def test_a_sample_of_more_than_all_is_all() -> None:
    script = Script(EAST_WEST)
    after(global_model(4), [0], script, FlhcOptions(0, groups=2, sample=100))
    assert script.orders[0].clients.tolist() == [0, 1, 2, 3]


def test_one_group_of_everybody_is_fedavg(parabolas: Make) -> None:
    everybody, options = np.arange(6), FlhcOptions(rounds_before=1, groups=1)
    methods: list[Any] = [FedAvg(LOCAL), FLHC(LOCAL, options)]
    models = []
    for method in methods:
        federation = parabolas(6)
        state = drive(method.start(federation.initial, federation.present, rng()), federation)
        for _ in range(4):
            state = drive(method.round(state, everybody, federation.present, rng()), federation)
        models.append(method.serving(state).models[0])
    assert np.array_equal(*models)


def test_more_groups_than_clients_are_reported(parabolas: Make) -> None:
    federation = parabolas(4)
    with pytest.raises(SettingsError, match=r"^5 groups need at least .* there are 4: lower .*\.$"):
        drive(FLHC(LOCAL).start(federation.initial, federation.present, rng()), federation)
    with_threshold = FLHC(LOCAL, FlhcOptions(threshold=1.0))
    drive(with_threshold.start(federation.initial, federation.present, rng()), federation)
    # Not all of them need be there at the start.
    early, method = np.arange(4) < 1, FLHC(LOCAL, FlhcOptions(groups=4))
    drive(method.start(federation.initial, early, rng()), federation)


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"linkage": "ward"}, r"linkage 'ward' needs the metric 'euclidean', not 'manhattan': .*"),
        ({"sample": 4, "groups": 5}, r"sample must be at least 5 .*, not 4\."),
        ({"sample": 1, "threshold": 1.0}, r"sample must be at least 2 .*, not 1\."),
        ({"threshold": -1}, "threshold must be greater than or equal to 0, not -1."),
        ({"metric": "l1"}, "metric must be 'manhattan', 'euclidean' or 'cosine', not 'l1'."),
    ],
)
def test_options_that_make_no_sense_are_reported(table: dict[str, object], sentence: str) -> None:
    with pytest.raises(SettingsError, match=rf"^\[algorithm\] {sentence}$"):
        validated(FlhcOptions, table, "[algorithm]")
    assert FlhcOptions(metric="euclidean", linkage="ward").linkage == "ward"


@given(st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_client_has_one_valid_model_whatever_happens(
    parabolas: Make, data: st.DataObject
) -> None:
    metric, linkage = data.draw(st.sampled_from(KINDS))
    threshold, sample = data.draw(st.sampled_from([(None, None), (0.1, 5), (None, 4)]))
    options = FlhcOptions(1, 3, threshold, metric, linkage, sample)  # type: ignore[arg-type]
    state, clients = global_model(8, 3), st.sets(st.integers(0, 7))
    for number in range(6):
        silent, phase = data.draw(clients), data.draw(st.sampled_from([None, "placement"]))
        federation = parabolas(8, silent=frozenset(silent), phase=phase)
        cohort = sorted(data.draw(clients))
        before = state
        state = after(state, cohort, federation, options, seed=number)
        assert len(state.models) == state.groups + 1
        assert ((state.model_of >= 0) & (state.model_of <= state.groups)).all()
        assert state.models.dtype == state.directions.dtype == np.float32
        assert np.isfinite(state.models).all()
        if before.groups:
            placed = before.model_of != before.groups
            assert np.array_equal(state.model_of[placed], before.model_of[placed])
            assert np.array_equal(state.models[-1], before.models[-1])


def test_the_memory_of_the_round_for_everybody() -> None:
    assert flhc.memory(FlhcOptions(sample=100), 1000, 7850) == 3_140_000
    assert flhc.memory(FlhcOptions(sample=100), 10, 7850) == 314_000
    assert doctest.testmod(flhc) == (0, 1)
