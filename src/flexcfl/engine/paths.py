"""The paths, which are implementations of training, and the choice of the fastest for a module."""

import copy
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from flexcfl.engine.compiling import can_compile
from flexcfl.engine.dense import DensePath
from flexcfl.engine.evaluation import Meter, ModuleMeter
from flexcfl.engine.example_pool import ExamplePool
from flexcfl.engine.flat import Layout
from flexcfl.engine.known_layers import convolutional_layers, linear_layers
from flexcfl.engine.layered import LayeredPath
from flexcfl.engine.reference import ReferencePath
from flexcfl.engine.schedule import Schedule, draw_batches
from flexcfl.engine.stacked import StackedPath
from flexcfl.errors import ModelError
from flexcfl.models.dropout import Site, undropped
from flexcfl.protocol import Local, Vectors

if TYPE_CHECKING:
    from flexcfl.engine.compiled import CompiledPath

PathName: TypeAlias = Literal["reference", "stacked", "layered", "dense", "compiled"]

# Clients in a stack share the cost of launching operators. Beyond these bounds a stack gains
# nothing: its weights do not fit a core's cache, or one client's operators are long enough.
STACK_BYTES = 2**21
STACK_MULTIPLY_ADDS = 2**22  # of one example's forward pass
STACK_CLIENTS = 32


class Path(Protocol):
    """One implementation of training a stack of clients."""

    def train(
        self, starts: Vectors, schedules: Sequence[Schedule], local: Local, updates: Vectors
    ) -> NDArray[np.float64]:
        """Write the updates and return the mean data loss of each client's last local epoch.

        Clients come sorted from most to fewest steps; ``starts`` is ``(clients, parameters)``.
        """
        ...


class TorchPath(Protocol):
    """One implementation of training a stack of clients on tensors."""

    def train(
        self, starts: Tensor, schedules: Sequence[Schedule], local: Local
    ) -> tuple[Tensor, Tensor]:
        """Return trained models and the losses, both on the device of ``starts``."""
        ...


@dataclass(frozen=True, eq=False)
class OnDevice:
    """A ``TorchPath`` as a ``Path``: copies arrays to its device and back."""

    inner: TorchPath
    device: torch.device

    def train(
        self, starts: Vectors, schedules: Sequence[Schedule], local: Local, updates: Vectors
    ) -> NDArray[np.float64]:
        """Write the updates and return the mean data loss of each client's last local epoch."""
        given = torch.from_numpy(starts).to(self.device)
        trained, losses = self.inner.train(given, schedules, local)
        updates[:] = trained.sub_(given).cpu().numpy()
        return losses.cpu().double().numpy()


@dataclass(frozen=True, eq=False)
class Paths:
    """All paths for one module and the examples of one pool.

    A path may write into its parts, so every thread needs a path of its own.
    """

    module: nn.Module
    layout: Layout
    sites: Sequence[Site]
    pool: ExamplePool

    def fastest(self) -> PathName:
        """Return the path that trains this module in the shortest time."""
        on_cpu = self.pool.device.type == "cpu"
        if linear_layers(self.module) is not None:
            return "compiled" if on_cpu and can_compile() else "dense"
        known = on_cpu and convolutional_layers(self.module) is not None
        return "layered" if known and self._together < STACK_CLIENTS else "stacked"

    def clients(self, name: PathName) -> int:
        """Return the number of clients in a stack."""
        if self.pool.device.type != "cpu":
            return sys.maxsize
        alone = name in ("compiled", "layered")  # these share nothing between clients
        return 1 if alone else self._together

    def path(self, name: PathName) -> Path:
        """Make a path."""
        if name == "compiled":
            return self._compiled()
        return OnDevice(self._torch_path(name), self.pool.device)

    def _torch_path(self, name: PathName) -> TorchPath:
        if name == "dense":
            return DensePath(self._linear(name), self.pool)
        if name == "layered":
            known = convolutional_layers(self.module)
            if known is None or self.pool.device.type != "cpu":
                raise ModelError("The layered path trains plain convolutional models on a CPU.")
            return LayeredPath(known, self.layout, self.sites, self.pool)
        if name == "reference":
            return ReferencePath(self._copy(), self.layout, self.sites, self.pool)
        return self._stacked(self._channels_last)

    def meter(self, name: PathName) -> Meter:
        """Make the meter that evaluates models trained by the path ``name``."""
        if name == "compiled":
            return self._compiled()
        return ModuleMeter(self._copy().eval(), self.layout, self.pool)

    def _compiled(self) -> "CompiledPath":
        from flexcfl.engine.compiled import CompiledPath  # compiles on import, or loads the cache

        return CompiledPath(self._linear("compiled"), self.pool)

    def _linear(self, name: str) -> list[nn.Linear]:
        layers = linear_layers(self.module)
        if layers is None:
            raise ModelError(f"The {name} path trains stacks of Linear and ReLU layers only.")
        return layers

    def _stacked(self, channels_last: bool) -> StackedPath:
        given = self._copy(), self.layout, self.sites, self.pool
        return StackedPath(*given, channels_last=channels_last)

    def _copy(self) -> nn.Module:
        return copy.deepcopy(self.module)

    @cached_property
    def _together(self) -> int:
        """The number of clients that share the cost of launching operators."""
        from torch.utils.flop_counter import FlopCounterMode

        example = torch.zeros(1, *self.pool.x.shape[1:], device=self.pool.device)
        with torch.no_grad(), undropped(), FlopCounterMode(display=False) as counter:
            self.module(example)
        work = max(1, counter.get_total_flops() // 2)
        most = min(STACK_BYTES // (4 * self.layout.parameters), STACK_MULTIPLY_ADDS // work)
        return int(np.clip(most, 1, STACK_CLIENTS))

    @cached_property
    def _channels_last(self) -> bool:
        """Whether the module runs with ``channels_last`` kernels, which ``view`` may not accept."""
        if self.pool.device.type != "cpu":
            return False
        start = self.layout.vector(self.module)[None]
        schedule = draw_batches(np.zeros(1, np.int64), Local(steps=1), np.random.default_rng(0))
        try:
            self._stacked(channels_last=True).train(start, [schedule], Local(steps=1))
        except Exception:  # the module ran when it was vetted, so the format is the reason
            return False
        return True
