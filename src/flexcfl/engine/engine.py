"""The engine: trains and evaluates whole cohorts of clients of different sizes at once.

NumPy outside, torch inside. Behind ``train`` stand several paths that give the same result; the
fastest one that knows the module is chosen.
"""

import copy
import importlib.util
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from flexcfl.data.federation import IndexLists
from flexcfl.data.variants import Variants
from flexcfl.engine.dense import DensePath, linear_layers
from flexcfl.engine.evaluation import Meter, ModuleMeter, evaluated
from flexcfl.engine.flat import Layout
from flexcfl.engine.layered import LayeredPath, known_layers
from flexcfl.engine.pool import Pool
from flexcfl.engine.reference import ReferencePath
from flexcfl.engine.schedule import Schedule, draw, steps
from flexcfl.engine.stacked import StackedPath
from flexcfl.engine.workers import Tools, spread
from flexcfl.errors import DataError, ModelError, SettingsError
from flexcfl.models import initialised
from flexcfl.models.dropout import sites, undropped
from flexcfl.models.vetting import check
from flexcfl.protocol import Ids, Local, Vector, Vectors

if TYPE_CHECKING:
    from flexcfl.engine.compiled import CompiledPath

__all__ = ["Engine", "Path", "PathName"]

PathName: TypeAlias = Literal["reference", "stacked", "layered", "dense", "compiled"]

# Clients side by side share the cost of launching operators. Beyond these bounds there is nothing
# left to share: their weights leave a core's cache, or one client's operators are long enough.
STACK_BYTES = 2**21
STACK_MULTIPLY_ADDS = 2**22  # of one example's forward pass
STACK_CLIENTS = 32


class Path(Protocol):
    """One way of training a stack of clients."""

    def train(
        self, starts: Tensor, schedules: Sequence[Schedule], local: Local
    ) -> tuple[Tensor, Tensor]:
        """Return trained models and the mean data loss of each client's last local epoch.

        Clients come sorted from most to fewest steps; ``starts`` is ``(clients, parameters)``.
        """
        ...


class Engine:
    """Local training and evaluation on one pool of examples.

    ``factory()`` makes a freshly initialised ``nn.Module`` that maps ``(batch, *shape)`` to
    ``(batch, classes)`` logits. With ``variants``, examples may be rows beyond the pool (see
    ``flexcfl.data.variants``). ``path`` overrules the choice of path, for tests and benchmarks.
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
        self._sites = sites(self._template, x.shape[1:])
        self._pool = Pool(_shared(x).to(self.device), _shared(y).to(self.device), variants)
        self.path: PathName = path or self._fastest()
        self._stack_size = self._clients_per_stack(x.shape[1:])
        self._channels_last = self._takes_channels_last()
        self._paths, self._meters = Tools(self._path), Tools(self._meter)
        if self.path == "compiled":
            self._compiled()  # so that what has to be compiled is, before anybody trains

    @property
    def parameters(self) -> int:
        """The number of parameters of the model."""
        return self._layout.parameters

    def initial(self, rng: np.random.Generator) -> Vector:
        """Return a freshly initialised model."""
        return self._layout.vector(initialised(self.factory, rng)).numpy()

    def train(
        self,
        models: Vectors,
        model_of: Ids,
        examples: IndexLists,
        local: Local,
        rngs: Sequence[np.random.Generator],
    ) -> tuple[Vectors, NDArray[np.float64]]:
        """Train client ``i`` on ``examples[i]`` from ``models[model_of[i]]``.

        Returns updates (trained minus received) and the mean data loss of each client's last local
        epoch, in the order given. ``rngs[i]`` alone decides the client's batches and dropout.
        """
        updates = np.empty((len(examples), self.parameters), dtype=np.float32)
        losses = np.empty(len(examples), dtype=np.float64)

        def train(path: Path, stack: Ids) -> None:
            starts = torch.from_numpy(models[model_of[stack]]).to(self.device)
            schedules = [draw(examples[client], local, rngs[client]) for client in stack.tolist()]
            trained, loss = path.train(starts, schedules, local)
            updates[stack] = trained.sub_(starts).cpu().numpy()
            losses[stack] = loss.cpu().numpy()

        with warnings.catch_warnings():
            # vmap runs some operators one by one and says so; vetting has let the module pass.
            warnings.filterwarnings("ignore", message="There is a performance drop")
            spread(train, self._stacks(examples.sizes, local), self._paths)
        return updates, losses

    def evaluate(
        self, models: Vectors, model_of: Ids, examples: IndexLists
    ) -> tuple[NDArray[np.float64], Ids]:
        """Return, for each client, the sum of its losses and its hits under its model."""
        return evaluated(models, model_of, examples, self._meters)

    def unflatten(self, vector: Vector) -> dict[str, NDArray[Any]]:
        """Return a model's state by name: its parameters, and the module's constant buffers."""
        return {name: value.numpy() for name, value in self.module(vector).state_dict().items()}

    def module(self, vector: Vector) -> nn.Module:
        """Return a ready module that carries a model's parameters, in eval mode."""
        ready = copy.deepcopy(self._template).cpu().eval()
        named = self._layout.split(torch.from_numpy(vector.copy()))
        ready.load_state_dict(named, strict=False)  # buffers stay as they are
        return ready

    def _clients_per_stack(self, shape: tuple[int, ...]) -> int:
        if self.device.type != "cpu":
            return sys.maxsize
        if self.path in ("compiled", "layered"):  # nothing is shared between clients
            return 1
        return self._worth_stacking(shape)

    def _worth_stacking(self, shape: tuple[int, ...]) -> int:
        """Return how many clients side by side share the cost of launching operators."""
        with torch.no_grad(), undropped(), FlopCounterMode(display=False) as counter:
            self._template(torch.zeros(1, *shape))
        work = max(1, counter.get_total_flops() // 2)
        most = min(STACK_BYTES // (4 * self.parameters), STACK_MULTIPLY_ADDS // work)
        return int(np.clip(most, 1, STACK_CLIENTS))

    def _fastest(self) -> PathName:
        if linear_layers(self._template) is None:
            return "layered" if self._large_and_known() else "stacked"
        can_compile = self.device.type == "cpu" and importlib.util.find_spec("numba")
        return "compiled" if can_compile else "dense"

    def _large_and_known(self) -> bool:
        """Whether clients are better trained one by one, layer by layer, than side by side."""
        if self.device.type != "cpu" or known_layers(self._template) is None:
            return False
        return self._worth_stacking(tuple(self._pool.x.shape[1:])) < STACK_CLIENTS

    def _path(self) -> Path:
        if self.path in ("dense", "compiled"):
            layers = linear_layers(self._template)
            if layers is None:
                raise ModelError(
                    f"The {self.path} path trains stacks of Linear and ReLU layers only."
                )
            return DensePath(layers, self._pool) if self.path == "dense" else self._compiled()
        if self.path == "layered":
            known = known_layers(self._template)
            if known is None or self.device.type != "cpu":
                raise ModelError("The layered path trains plain convolutional models on a CPU.")
            return LayeredPath(known, self._layout, self._sites, self._pool)
        # functional_call and the plain loop both write into the module: one for every thread.
        module = copy.deepcopy(self._template)
        given = module, self._layout, self._sites, self._pool
        if self.path == "reference":
            return ReferencePath(*given)
        return StackedPath(*given, channels_last=self._channels_last)

    def _compiled(self) -> "CompiledPath":
        from flexcfl.engine.compiled import CompiledPath  # which compiles, or reads what it has

        return CompiledPath(linear_layers(self._template) or [], self._pool)

    def _meter(self) -> Meter:
        if self.path == "compiled":
            return self._compiled()
        module = copy.deepcopy(self._template).eval()
        return ModuleMeter(module, self._layout, self._pool)

    def _takes_channels_last(self) -> bool:
        """Whether the module runs with kernels of that format, which ``view`` may not accept."""
        if self.path != "stacked" or self.device.type != "cpu":
            return False
        self._channels_last = True
        start = self._layout.vector(self._template)[None]
        schedule = draw(np.zeros(1, np.int64), Local(steps=1), np.random.default_rng(0))
        try:
            self._path().train(start, [schedule], Local(steps=1))
        except Exception:  # vetting has seen it run; whatever this is, the format is the reason
            return False
        return True

    def _stacks(self, sizes: Ids, local: Local) -> list[Ids]:
        """Sort clients from most to fewest steps and cut them into stacks."""
        order = np.argsort(-steps(sizes, local), kind="stable")
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
    """View an array as a tensor without a copy; the engine only ever reads it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*not writable.*")
        return torch.from_numpy(array)
