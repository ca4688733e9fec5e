"""FlexCFL whose clients count their pre-training as one epoch, as in the paper (Section 3.4).

"The client can continue to train E - 1 epochs": who was placed in a round trains an epoch less in
it. Continue from where is not said: from the model of its new group, or from its own.
"""

from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypeVar

import numpy as np

from flexcfl.algorithms.flexcfl import FlexCFL, FlexcflState
from flexcfl.protocol import (
    Conversation,
    Flags,
    Ids,
    Migrate,
    Place,
    Train,
    Trained,
    Vectors,
    ask,
)

ResultT = TypeVar("ResultT")


@dataclass(frozen=True)
class Continuing(FlexCFL):
    """FlexCFL in which clients placed in a round train ``fewer`` epochs less in it.

    It trains from the model of its ``group``, or goes on from its ``own`` that it pre-trained.
    """

    fewer: int = 1
    begin: Literal["group", "own"] = "group"

    def round(
        self, state: FlexcflState, cohort: Ids, present: Flags, rng: np.random.Generator
    ) -> Conversation[FlexcflState]:
        """Do a round of FlexCFL, but split its order to train."""
        talk, placed, reply = super().round(state, cohort, present, rng), [cohort[:0]], None
        while True:
            try:
                order: Any = talk.send(reply)
            except StopIteration as stop:
                done: FlexcflState = stop.value
                return done
            if isinstance(order, Train):
                reply = yield from self._divided(order, np.concatenate(placed), state)
            else:
                reply = yield from ask(order)
            if isinstance(order, Place | Migrate):
                placed.append(reply.clients)

    def _divided(self, order: Train, placed: Ids, state: FlexcflState) -> Conversation[Trained]:
        """Send separate orders to the clients that were just placed and to the others."""
        new = np.isin(order.clients, placed)
        if not new.any():
            return (yield from ask(order))
        short = replace(self.local, epochs=self.local.epochs - self.fewer)
        newcomers = replace(_of(order, new), local=short)
        if self.begin == "group":
            parts = [(yield from ask(newcomers))]
        else:
            parts = [(yield from self._from_own(newcomers, state))]
        if not new.all():
            parts.append((yield from ask(_of(order, ~new))))
        return _together(parts, order.clients)

    def _from_own(self, order: Train, state: FlexcflState) -> Conversation[Trained]:
        """Let clients pre-train again, on the same batches, and train from where that ends."""
        zeros, local = np.zeros_like(order.clients), self.options.pretraining(self.local)
        first = Train(
            order.clients, state.origin[np.newaxis], zeros, local, "cold-start", repeats=zeros
        )
        own: Vectors = state.origin + (yield from ask(first)).updates
        trained = yield from ask(replace(order, models=own, model_of=np.arange(len(own))))
        groups = np.asarray(order.model_of)
        updates = own + trained.updates - order.models[groups]
        return replace(trained, updates=updates, model_of=groups)


def _of(order: Train, own: Flags) -> Train:
    return replace(order, clients=order.clients[own], model_of=np.asarray(order.model_of)[own])


def _together(parts: list[Trained], clients: Ids) -> Trained:
    """Return one reply in the order of these clients, so that sums stay bit-identical."""
    whole = {
        each.name: np.concatenate([getattr(part, each.name) for part in parts])
        for each in fields(Trained)
    }
    rank = {client: place for place, client in enumerate(clients.tolist())}
    order = np.argsort([rank[client] for client in whole["clients"].tolist()])
    return Trained(**{name: values[order] for name, values in whole.items()})
