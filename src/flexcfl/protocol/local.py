"""How a client trains on its own data, as one frozen value."""

from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as settings

Positive = Annotated[int, Field(ge=1, le=10**9)]
# The upper bounds keep a step's factors, such as rate * prox, within float32.
Rate = Annotated[float, Field(gt=0, le=1e32, allow_inf_nan=False)]
Weight = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]


@settings(frozen=True, config=ConfigDict(extra="forbid"))
class Local:
    """How a client trains: mini-batch SGD over its own data.

    ``steps`` is a number of mini-batches; if set, it replaces ``epochs``. ``l2`` adds
    ``l2 * sum(w ** 2)`` over weight matrices (not biases) to the objective. ``prox`` adds FedProx's
    ``prox / 2 * |w - w_start| ** 2`` over all parameters. Reported losses are data losses only.
    """

    epochs: Positive = 10
    steps: Positive | None = None
    batch: Positive = 10
    rate: Rate = 0.03
    l2: Weight = 0.0
    prox: Weight = 0.0
