"""The plain loop over clients: one module, one client at a time, the objective written out.

It defines the results that the faster paths must reproduce; it is not meant for experiments.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from flexcfl.engine.example_pool import ExamplePool
from flexcfl.engine.flat import Layout
from flexcfl.engine.schedule import Schedule
from flexcfl.models.dropout import Site, masked, masks
from flexcfl.protocol import Local


@dataclass(frozen=True, eq=False)
class ReferencePath:
    """Train clients one after the other with autograd and ``torch.optim.SGD``."""

    module: nn.Module
    layout: Layout
    places: Sequence[Site]
    pool: ExamplePool

    def train(
        self, starts: Tensor, schedules: Sequence[Schedule], local: Local
    ) -> tuple[Tensor, Tensor]:
        """Return the trained models and the mean data loss of each client's last epoch."""
        trained = [
            self._client(start, schedule, local)
            for start, schedule in zip(starts, schedules, strict=True)
        ]
        models, losses = zip(*trained, strict=True)
        return torch.stack(models), torch.stack(losses)

    def _client(self, start: Tensor, schedule: Schedule, local: Local) -> tuple[Tensor, Tensor]:
        self._load(start)
        optimizer = torch.optim.SGD(self.module.parameters(), lr=local.rate)
        closing = torch.zeros((), device=start.device)
        for step in range(len(schedule)):
            count = int(schedule.counts[step])
            rows = torch.from_numpy(schedule.rows[step, :count]).to(self.pool.device)
            drawn = [
                mask.to(start.device) for mask in masks(self.places, schedule.key, step, count)
            ]
            with masked(self.places, drawn):
                logits = self.module(self.pool.inputs(rows))
            loss = functional.cross_entropy(logits, self.pool.labels(rows))
            optimizer.zero_grad()
            (loss + self._penalty(start, local)).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            closing += loss.detach() * float(schedule.closing[step])
        return self.layout.vector(self.module), closing

    def _penalty(self, start: Tensor, local: Local) -> Tensor:
        """Add up the L2 term on weight matrices and FedProx's proximal term."""
        parameters = dict(self.module.named_parameters())
        received = self.layout.split(start)
        squares = [parameters[name].square().sum() for name in self.layout.matrices]
        distances = [(p - received[name]).square().sum() for name, p in parameters.items()]
        return local.l2 * sum(squares, start.new_zeros(())) + local.prox / 2 * sum(
            distances, start.new_zeros(())
        )

    @torch.no_grad()
    def _load(self, vector: Tensor) -> None:
        for name, values in self.layout.split(vector).items():
            self.module.get_parameter(name).copy_(values)
