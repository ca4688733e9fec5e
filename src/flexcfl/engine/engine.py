"""The engine: trains and evaluates whole cohorts of clients of different sizes at once.

Its interface is NumPy, its implementation torch. ``train`` has several implementations, called
paths, with the same results; the fastest one that supports the module is chosen.
"""

import copy
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from flexcfl.data.client_lists import IndexLists
from flexcfl.data.variants import Variants
from flexcfl.engine.evaluation import evaluate_models
from flexcfl.engine.example_pool import ExamplePool
from flexcfl.engine.flat import Layout
from flexcfl.engine.paths import Path, PathName, Paths
from flexcfl.engine.schedule import draw_batches, steps
from flexcfl.engine.workers import ResourcePool, run_in_threads
from flexcfl.errors import DataError, ModelError, SettingsError
from flexcfl.models import initialised
from flexcfl.models.dropout import sites
from flexcfl.models.vetting import check
from flexcfl.protocol import Ids, Local, Vector, Vectors


class Engine:
    """Local training and evaluation on one pool of examples.

    ``factory()`` makes a freshly initialised ``nn.Module`` that maps ``(batch, *shape)`` to
    ``(batch, classes)`` logits. With ``variants``, examples may be rows beyond the pool (see
    ``flexcfl.data.variants``). ``path`` overrides the choice of path, for tests and benchmarks.
    """

    def __init__(
        self,
        factory: Callable[[], nn.Module],
        x: NDArray[np.float32],
        y: NDArray[np.int64],
        classes: int,
        *,
        variants: Variants | None = None,
        device: str = "cpu",
        path: PathName | None = None,
    ) -> None:
        self.factory = factory
        self.device = _device(device)
        template = initialised(factory, np.random.default_rng(0))
        check(template, x.shape[1:], classes)
        if len(y) and not 0 <= y.min() <= y.max() < classes:
            raise DataError(
                f"A label lies outside of 0 to {classes - 1}: number the classes from 0, or "
                "correct their number."
            )
        self._template = template.to(self.device).train()
        self._layout = Layout(self._template)
        self.pool = ExamplePool(_shared(x).to(self.device), _shared(y).to(self.device), variants)
        places = sites(self._template, x.shape[1:])
        paths = Paths(self._template, self._layout, places, self.pool)
        self.path: PathName = path or paths.fastest()
        self._stack_size = paths.clients(self.path)
        self.paths = ResourcePool(partial(paths.path, self.path))
        self._meters = ResourcePool(partial(paths.meter, self.path))
        with self.paths.borrowed():  # compiles now rather than during training
            pass

    @property
    def parameters(self) -> int:
        """The number of parameters of the model."""
        return self._layout.parameters

    @property
    def could_be_compiled(self) -> bool:
        """Whether training would be much faster if Numba were installed."""
        return self.path == "dense" and self.device.type == "cpu"

    def initial(self, rng: np.random.Generator) -> Vector:
        """Return a freshly initialised model."""
        return self._layout.vector(initialised(self.factory, rng)).numpy()

    def train(
        self,
        models: Vectors,
        model_of: Ids,
        examples: IndexLists,
        local: Local,
        rngs: Iterable[np.random.Generator],
    ) -> tuple[Vectors, NDArray[np.float64]]:
        """Train client ``i`` on ``examples[i]`` from ``models[model_of[i]]``.

        Return updates (trained minus received) and the mean data loss of each client's last local
        epoch, in the given order. The client's batches and dropout depend on the ``i``-th of
        ``rngs`` alone.
        """
        models = self._checked(models, model_of, examples)
        # Not in the threads, which would only wait for each other's interpreter lock.
        schedules = [draw_batches(own, local, rng) for own, rng in zip(examples, rngs, strict=True)]
        updates = np.empty((len(schedules), self.parameters), dtype=np.float32)
        losses = np.empty(len(schedules), dtype=np.float64)

        def train(path: Path, stack: list[int]) -> None:
            own = [schedules[client] for client in stack]
            if len(stack) == 1:  # nothing is copied
                client = stack[0]
                start, update = models[model_of[client]][np.newaxis], updates[client : client + 1]
                losses[client] = path.train(start, own, local, update)[0]
                return
            together = np.empty((len(stack), self.parameters), dtype=np.float32)
            losses[stack] = path.train(models[model_of[stack]], own, local, together)
            updates[stack] = together

        with warnings.catch_warnings():
            # vmap warns about operators that it runs one by one; the module has been vetted.
            warnings.filterwarnings("ignore", message="There is a performance drop")
            run_in_threads(train, self._stacks(examples.sizes, local), self.paths)
        return updates, losses

    def evaluate(
        self, models: Vectors, model_of: Ids, examples: IndexLists
    ) -> tuple[NDArray[np.float64], Ids]:
        """Return, for each client, the sum of its losses and its number of hits under its model."""
        models = self._checked(models, model_of, examples)
        return evaluate_models(models, model_of, examples, self._meters)

    def unflatten(self, vector: Vector) -> dict[str, NDArray[Any]]:
        """Return a model's ``state_dict``: its parameters and the module's constant buffers."""
        return {name: value.numpy() for name, value in self.module(vector).state_dict().items()}

    def flatten(self, named: Mapping[str, NDArray[Any]]) -> Vector:
        """Return the model of a ``state_dict``: the inverse of ``unflatten``."""
        template = self._template.state_dict()
        shapes = {name: tuple(value.shape) for name, value in template.items()}
        if {name: value.shape for name, value in named.items()} != shapes:
            raise ModelError(
                "The model has parameters of other names or shapes than those that were saved: "
                "give the one that was trained."
            )
        tensors = {name: torch.from_numpy(named[name].copy()) for name in self._layout.shapes}
        return self._layout.join(tensors).to(torch.float32).numpy()

    def module(self, vector: Vector) -> nn.Module:
        """Return a module with a model's parameters, in eval mode."""
        ready = copy.deepcopy(self._template).cpu().eval()
        named = self._layout.split(torch.from_numpy(vector.copy()))
        ready.load_state_dict(named, strict=False)  # buffers keep their values
        return ready

    def _checked(self, models: Vectors, model_of: Ids, examples: IndexLists) -> Vectors:
        """Return models in the layout that compiled code needs, which checks no bounds itself."""
        self.pool.check(examples.indices)
        if models.shape[1:] != (self.parameters,):
            raise ValueError(f"models are rows of {self.parameters} numbers, not {models.shape}")
        if len(model_of) and not 0 <= model_of.min() <= model_of.max() < len(models):
            raise IndexError(f"models lie between 0 and {len(models) - 1}")
        return np.require(models, np.float32, ["C", "W"])

    def _stacks(self, sizes: Ids, local: Local) -> list[list[int]]:
        """Sort clients from most to fewest steps and cut them into stacks."""
        order = np.argsort(-steps(sizes, local), kind="stable").tolist()
        size = self._stack_size
        return [order[start : start + size] for start in range(0, len(order), size)]


def _device(name: str) -> torch.device:
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).cpu()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise SettingsError(
            f"There is no device '{name}' here: use --device cpu, or a torch build that has it."
        ) from error
    return device


def _shared(array: NDArray[np.float32] | NDArray[np.int64]) -> Tensor:
    """View an array as a tensor, without a copy if possible; the engine only reads it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*not writable.*")
        return torch.from_numpy(np.ascontiguousarray(array))
