"""The engine as its users see it: arrays in, arrays out."""

import copy

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, log_loss
from torch import Tensor, nn

from flexcfl.data.client_lists import IndexLists
from flexcfl.engine import Engine
from flexcfl.engine.known_layers import linear_layers
from flexcfl.engine.paths import STACK_CLIENTS
from flexcfl.errors import ModelError, SettingsError
from flexcfl.protocol import Local
from tests.engine.cohorts import CLASSES, MODULES, SHAPE, Cohort, perceptron

LOCAL = Local(epochs=2, rate=0.05)


def test_same_seeds_same_bits(module: str, cohort: Cohort) -> None:
    first, first_loss = cohort.train(cohort.engine(module), LOCAL)
    second, second_loss = cohort.train(cohort.engine(module), LOCAL)
    assert first.tobytes() == second.tobytes()
    assert first_loss.tobytes() == second_loss.tobytes()


def test_the_number_of_threads_changes_nothing(module: str) -> None:
    cohort = Cohort(tuple(range(1, 2 * STACK_CLIENTS + 5)))
    before = torch.get_num_threads()
    results = []
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            results.append(cohort.train(cohort.engine(module), Local(epochs=1)))
    finally:
        torch.set_num_threads(before)
    assert results[0][0].tobytes() == results[1][0].tobytes()
    assert results[0][1].tobytes() == results[1][1].tobytes()


def test_replies_come_in_the_order_asked(module: str, cohort: Cohort) -> None:
    engine = cohort.engine(module)
    order = [4, 0, 8, 7, 1, 6, 2, 5, 3]
    straight, _ = cohort.train(engine, LOCAL)
    mixed, _ = cohort.train(engine, LOCAL, order)
    np.testing.assert_allclose(mixed, straight[order], atol=1e-6)


def test_a_client_trains_as_if_it_were_alone(module: str, cohort: Cohort) -> None:
    engine = cohort.engine(module)
    together, _ = cohort.train(engine, LOCAL)
    alone, _ = cohort.train(engine, LOCAL, [5])
    np.testing.assert_allclose(alone[0], together[5], atol=1e-6)


def test_nobody_to_train_is_no_mistake(module: str, cohort: Cohort) -> None:
    engine = cohort.engine(module)
    updates, loss = cohort.train(engine, LOCAL, [])
    assert updates.shape == (0, engine.parameters)
    assert loss.shape == (0,)


@pytest.mark.slow
def test_training_learns(module: str, cohort: Cohort) -> None:
    _, early = cohort.train(cohort.engine(module), Local(epochs=1, rate=0.1))
    _, late = cohort.train(cohort.engine(module), Local(epochs=20, rate=0.1))
    assert late.mean() < 0.8 * early.mean()


def test_a_loss_that_is_not_finite_is_handed_on(cohort: Cohort) -> None:
    _, loss = cohort.train(cohort.engine("perceptron"), Local(epochs=5, rate=1e30))
    assert not np.isfinite(loss).all()


def test_inputs_are_left_alone(module: str, cohort: Cohort) -> None:
    engine = cohort.engine(module)
    model = engine.initial(np.random.default_rng(0))[None]
    model.flags.writeable = False
    examples = cohort.examples()
    before = copy.deepcopy(examples)
    zero = np.zeros(len(examples), np.int64)
    engine.train(model, zero, examples, LOCAL, [np.random.default_rng(0)] * len(examples))
    engine.evaluate(model, zero, examples)
    for one, other in zip(before, examples, strict=True):
        np.testing.assert_array_equal(one, other)


def test_torch_is_left_as_it_was(module: str, cohort: Cohort) -> None:
    threads, state = torch.get_num_threads(), torch.get_rng_state()
    cohort.train(cohort.engine(module), LOCAL)
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.get_rng_state(), state)


def test_a_pool_that_may_only_be_read_is_enough() -> None:
    x = np.zeros((5, *SHAPE), np.float32)
    x.flags.writeable = False
    engine = Engine(perceptron, x, np.zeros(5, np.int64), CLASSES)
    model = engine.initial(np.random.default_rng(0))[None]
    _, hits = engine.evaluate(model, np.zeros(1, np.int64), IndexLists.of([np.arange(5)]))
    assert 0 <= hits[0] <= 5


def test_evaluation_is_that_of_scikit_learn(module: str) -> None:
    cohort = Cohort((1, 0, 200, 13, 0, 40))
    engine = cohort.engine(module)
    models = np.stack([engine.initial(np.random.default_rng(seed)) for seed in range(3)])
    model_of = np.array([2, 0, 0, 2, 1, 2])
    loss, hits = engine.evaluate(models, model_of, cohort.examples())
    for client, rows in enumerate(cohort.examples()):
        if len(rows) == 0:
            assert (loss[client], hits[client]) == (0, 0)
            continue
        with torch.no_grad():
            logits = engine.module(models[model_of[client]])(engine.pool.x[torch.from_numpy(rows)])
        labels = engine.pool.y[torch.from_numpy(rows)].numpy()
        shares = logits.double().softmax(1).numpy()
        assert hits[client] == accuracy_score(labels, shares.argmax(1), normalize=False)
        expected = log_loss(labels, shares, labels=range(CLASSES)) * len(rows)
        assert loss[client] == pytest.approx(expected, rel=1e-5)


def test_nobody_to_evaluate_is_no_mistake(cohort: Cohort) -> None:
    engine = cohort.engine("perceptron")
    models = engine.initial(np.random.default_rng(0))[None]
    loss, hits = engine.evaluate(models, np.empty(0, np.int64), IndexLists.of([]))
    assert len(loss) == len(hits) == 0


def test_vectors_and_modules_say_the_same(module: str, cohort: Cohort) -> None:
    engine = cohort.engine(module)
    vector = engine.initial(np.random.default_rng(7))
    assert vector.shape == (engine.parameters,)
    assert vector.dtype == np.float32
    ready = engine.module(vector)
    assert not ready.training
    named = engine.unflatten(vector)
    for name, parameter in ready.named_parameters():
        np.testing.assert_array_equal(named[name], parameter.detach().numpy())
    joined = np.concatenate([named[name].reshape(-1) for name, _ in ready.named_parameters()])
    np.testing.assert_array_equal(joined, vector)


class Projected(nn.Module):
    """A model with a buffer that every new module draws anew."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("projection", torch.randn(64, 5))
        self.out = nn.Linear(5, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.out(x.flatten(1) @ self.get_buffer("projection"))
        return logits


def test_a_models_state_has_the_buffers_too() -> None:
    x = np.ones((3, *SHAPE), np.float32)
    engine = Engine(Projected, x, np.zeros(3, np.int64), CLASSES)
    vector = engine.initial(np.random.default_rng(3))
    named = {name: torch.from_numpy(value) for name, value in engine.unflatten(vector).items()}
    other = Projected()
    other.load_state_dict(named)
    ready, images = engine.module(vector), torch.from_numpy(x)
    assert torch.equal(ready(images), other(images))


def test_initial_models_depend_on_the_generator_alone(module: str, cohort: Cohort) -> None:
    engine = cohort.engine(module)
    first, again, other = (engine.initial(np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0.01


def test_dense_stacks_are_recognised_and_nothing_else() -> None:
    tied = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
    tied[2].weight = tied[0].weight
    extended = nn.Sequential(nn.Flatten(), nn.Linear(64, 4))
    extended.extra = nn.Parameter(torch.zeros(3))
    others = [
        tied,
        extended,
        nn.Sequential(nn.Flatten(), nn.Linear(64, 4), nn.ReLU()),
        nn.Sequential(nn.Flatten(), nn.Linear(64, 4, bias=False)),
        nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.Tanh(), nn.Linear(8, 4)),
        nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.Linear(8, 4)),
        nn.Sequential(nn.Flatten(0), nn.Linear(64, 4)),
        MODULES["convolutional"](),
    ]
    assert [linear_layers(other) for other in others] == [None] * len(others)
    nested = nn.Sequential(nn.Flatten(), nn.Sequential(nn.Linear(9, 4), nn.ReLU()), nn.Linear(4, 2))
    for known, layers in [(nested, 2), (perceptron(), 3), (nn.Linear(3, 2), 1)]:
        found = linear_layers(known)
        assert found is not None
        assert len(found) == layers


def test_a_module_that_does_not_fit_is_refused(cohort: Cohort) -> None:
    x, y = np.zeros((3, 5), np.float32), np.zeros(3, np.int64)
    with pytest.raises(ModelError, match="shape"):
        Engine(perceptron, x, y, CLASSES)
    with pytest.raises(ModelError, match="Linear and ReLU"):
        cohort.train(cohort.engine("recurrent", "dense"), LOCAL)


def test_a_device_that_is_not_there_is_named() -> None:
    x, y = np.zeros((3, *SHAPE), np.float32), np.zeros(3, np.int64)
    for device in ("cuda:77", "abacus", "meta"):
        with pytest.raises(SettingsError, match=device):
            Engine(perceptron, x, y, CLASSES, device=device)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device here")
def test_a_gpu_gives_the_same(module: str, cohort: Cohort) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(300, *SHAPE)).astype(np.float32)
    gpu = Engine(MODULES[module], x, rng.integers(CLASSES, size=300), CLASSES, device="cuda")
    np.testing.assert_allclose(
        cohort.train(gpu, LOCAL)[0], cohort.train(cohort.engine(module), LOCAL)[0], atol=1e-4
    )


def test_a_model_that_vmap_runs_slowly_is_trained_without_a_word() -> None:
    class LongShort(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rows = nn.LSTM(8, 6, batch_first=True)
            self.out = nn.Linear(6, CLASSES)

        def forward(self, x: Tensor) -> Tensor:
            logits: Tensor = self.out(self.rows(x.squeeze(1))[0][:, -1])
            return logits

    x = np.ones((6, *SHAPE), np.float32)
    engine = Engine(LongShort, x, np.zeros(6, np.int64), CLASSES)
    model = engine.initial(np.random.default_rng(0))[None]
    examples = IndexLists.of([np.arange(3), np.arange(3, 6)])
    rngs = [np.random.default_rng(client) for client in range(2)]
    updates, _ = engine.train(model, np.zeros(2, np.int64), examples, LOCAL, rngs)
    assert np.abs(updates).min(axis=0).max() > 0


@pytest.mark.parametrize("module", ["logistic regression", "perceptron"])
def test_a_client_that_diverges_leaves_the_others_alone(module: str) -> None:
    x = np.random.default_rng(0).normal(size=(60, *SHAPE)).astype(np.float32)
    x[:20] *= 1e30  # the first client's
    engine = Engine(MODULES[module], x, np.arange(60) % CLASSES, CLASSES)
    model = engine.initial(np.random.default_rng(0))[None]
    lists = [np.arange(start, start + 20) for start in (0, 20, 40)]

    def trained(clients: list[int]) -> NDArray[np.float32]:
        examples = IndexLists.of([lists[client] for client in clients])
        rngs = [np.random.default_rng(client) for client in clients]
        return engine.train(model, np.zeros(len(clients), np.int64), examples, LOCAL, rngs)[0]

    together = trained([0, 1, 2])
    assert not np.isfinite(together[0]).all()
    assert np.isfinite(together[1:]).all()
    np.testing.assert_array_equal(trained([1, 2]), together[1:])


def test_what_compiled_code_would_not_notice_is_a_mistake() -> None:
    engine = Cohort((5,)).engine("perceptron")
    assert engine.path == "compiled"
    model, zero = engine.initial(np.random.default_rng(0))[None], np.zeros(1, np.int64)
    examples, rngs = IndexLists.of([[0, 1]]), [np.random.default_rng(0)]
    for wide in (model[:, 1:], np.append(model, model, axis=1)):
        with pytest.raises(ValueError, match="rows of"):
            engine.train(wide, zero, examples, LOCAL, rngs)
    for group in (1, -1):
        with pytest.raises(IndexError, match="models lie between 0 and 0"):
            engine.evaluate(model, zero + group, examples)
    with pytest.raises(IndexError, match="rows lie between"):
        engine.train(model, zero, IndexLists.of([[0, 300]]), LOCAL, rngs)
