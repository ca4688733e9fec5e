"""FedJAX's federated averaging on its for_each_client backend, compiled by JAX.

All epochs of a client are one stream of full batches, so that it takes a few steps less where the
others end every epoch with what is left of a batch.
"""

from collections.abc import Callable
from typing import Any

import haiku as hk
import jax
import numpy as np
from contestants.task import Floats, Serve, Task
from fedjax import (
    ClientDataset,
    ShuffleRepeatBatchHParams,
    create_model_from_haiku,
    metrics,
    model_grad,
    optimizers,
)
from fedjax.algorithms import fed_avg

__all__ = ["PACKAGES", "run"]

PACKAGES = ("fedjax", "jax", "jaxlib", "dm-haiku")


def _mclr(x: Any, training: bool) -> Any:
    return hk.Linear(10)(hk.Flatten()(x))


def _mlp(x: Any, training: bool) -> Any:
    hidden = hk.Linear(128)(hk.Flatten()(x))  # haiku names layers in the order they are made
    return hk.Linear(10)(jax.nn.relu(hidden))


def _cnn(x: Any, training: bool) -> Any:
    for channels in (32, 64):
        x = jax.nn.relu(hk.Conv2D(channels, kernel_shape=3, padding="SAME")(x))
        x = hk.max_pool(x, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    x = hk.Flatten()(x)
    if training:
        x = hk.dropout(hk.next_rng_key(), 0.5, x)
    return hk.Linear(10)(x)


_NETWORKS: dict[str, Callable[[Any, bool], Any]] = {"mclr": _mclr, "mlp": _mlp, "cnn": _cnn}


def _images(x: Floats) -> Floats:
    return np.moveaxis(x, 1, -1)


def _model(work: str) -> Any:
    layers = _NETWORKS[work]

    def forward(batch: Any, is_train: bool = True) -> Any:
        return layers(batch["x"], is_train)

    sample = {"x": np.zeros((1, 28, 28, 1), np.float32), "y": np.zeros(1, np.int64)}
    return create_model_from_haiku(
        transformed_forward_pass=hk.transform(forward),
        sample_batch=sample,
        train_loss=lambda batch, said: metrics.unreduced_cross_entropy_loss(batch["y"], said),
        eval_metrics={"accuracy": metrics.Accuracy()},
        train_kwargs={"is_train": True},
        eval_kwargs={"is_train": False},
    )


def _as_haiku(weight: Floats, after_convolution: bool) -> Floats:
    """Turn torch's (outputs, inputs, ...) around, and its channels first into channels last."""
    if weight.ndim == 4:
        return weight.transpose(2, 3, 1, 0)
    if after_convolution:
        return weight.reshape(len(weight), 64, 7, 7).transpose(2, 3, 1, 0).reshape(-1, len(weight))
    return weight.T


def _parameters(task: Task) -> dict[str, dict[str, Floats]]:
    parameters: dict[str, dict[str, Floats]] = {}
    counts = {"conv2_d": 0, "linear": 0}
    for name in (name for name in task.initial if name.endswith(".weight")):
        weight, bias = task.initial[name], task.initial[name.replace("weight", "bias")]
        kind = "conv2_d" if weight.ndim == 4 else "linear"
        own = f"{kind}_{counts[kind]}" if counts[kind] else kind
        parameters[own] = {"w": _as_haiku(weight, counts["conv2_d"] > 0), "b": bias}
        counts[kind] += 1
    return parameters


class FedJAX:
    """One compiled step for all clients, one client after the other."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.model = _model(task.work)
        self.algorithm = fed_avg.federated_averaging(
            model_grad(self.model),
            optimizers.sgd(task.rate),
            optimizers.sgd(1.0),
            ShuffleRepeatBatchHParams(batch_size=task.batch, num_epochs=task.epochs),
        )
        self.state = self.algorithm.init(jax.device_put(_parameters(task)))

    def round(self, number: int) -> int:
        """Apply the algorithm to the cohort."""
        clients = self.task.cohort(number)
        keys = jax.random.split(jax.random.PRNGKey(number), len(clients))
        cohort = [(c, self._examples(c), key) for c, key in zip(clients, keys, strict=True)]
        self.state, _ = self.algorithm.apply(self.state, cohort)
        jax.block_until_ready(self.state.params)
        sizes = (len(self.task.rows(client)) for client in clients)
        return sum(-(-self.task.epochs * size // self.task.batch) for size in sizes)

    def _examples(self, client: int) -> Any:
        rows = self.task.rows(client)
        return ClientDataset({"x": _images(self.task.x[rows]), "y": self.task.y[rows]})

    def scores(self, x: Floats) -> Floats:
        """Judge with the global model."""
        return np.asarray(self.model.apply_for_eval(self.state.params, {"x": _images(x)}))


def run(task: Task, serve: Serve) -> None:
    """Take part."""
    serve(FedJAX(task))
