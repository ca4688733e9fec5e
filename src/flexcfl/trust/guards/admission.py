"""Which answers reach an algorithm: those that are finite, of the right shape, and in proportion.

Whatever a client sends, no answer but its own is lost.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as settings

from flexcfl.protocol import Flags, Ids, Order, Received, Trained, Vectors, of_those
from flexcfl.trust.guards.columns import lengths, matrix, take_rows
from flexcfl.trust.guards.review import REASONS, Readings, Review, finite, read_columns
from flexcfl.trust.guards.updates import Centre, copies, judge_founders, length_bound, shortened

__all__ = ["REASONS", "Admission", "Guards", "admitted"]

ReplyT = TypeVar("ReplyT")
Factor = Annotated[float, Field(ge=1, le=1e12, allow_inf_nan=False)]
Cosine = Annotated[float, Field(ge=-1, le=1)]


@settings(frozen=True, config=ConfigDict(extra="forbid"))
class Guards:
    """What the server accepts beyond what it always asks for.

    It always asks for finite numbers of the right shape, for the order of this round. An update
    longer than ``norm_bound`` times the median length of those that came with it (or a hundredth
    of the model's, if that is more; of one or two: the model's) is rejected, or shortened to that,
    as ``norm_action`` says.
    Founders of groups whose update has a cosine below ``founder_cosine`` to the geometric median of
    the others' directions are not admitted, so that a minority that points elsewhere founds no
    group. Either may be ``none``.
    """

    norm_bound: Factor | Literal["none"] = 100.0
    norm_action: Literal["reject", "clip"] = "reject"
    founder_cosine: Cosine | Literal["none"] = "none"


@dataclass(frozen=True, eq=False)
class Admission:
    """What an algorithm gets to see of a reply, and how many answers were rejected, by reason.

    ``clipped`` counts updates that were shortened and then accepted. ``centre`` is the direction by
    which founders were judged, if they were. ``silent`` are the clients that did not answer.
    """

    reply: Any
    rejected: Mapping[str, int] = field(default_factory=dict)
    clipped: int = 0
    centre: Centre | None = None
    silent: Ids = field(default_factory=lambda: np.empty(0, dtype=np.int64))


def admitted(
    order: Order[Any], received: Any, number: int, guards: Guards, centre: Centre | None = None
) -> Admission:
    """Return which answers of round ``number`` (0 is the start) are accepted.

    ``received`` is a reply, or one as it was ``Received``. Of a client that answers several times
    the first answers count, as many as it was asked for. If nothing is wrong, the reply is handed
    on as it is. Founders that are asked after others are judged by the ``centre`` of those, being
    too few to have one of their own.
    """
    if not isinstance(received, Received):
        received = Received(received)
    reply, review = received.reply, Review.of(order, received, number)
    silent = review.silent(order.clients)
    columns, shorter = read_columns(order, reply, review), np.zeros_like(review.stands)
    if order.brings_updates:
        reply, shorter = _trained(order, reply, columns, review, guards)
        if order.founding:
            reply = _kept(reply, review, ~copies(reply.updates))
        if order.founding and guards.founder_cosine != "none":
            kept, centre = judge_founders(reply.updates, guards.founder_cosine, centre)
            reply = _kept(reply, review, kept)
    else:
        review.refuse(~finite(order, columns), "not_finite")
        reply = _answers(reply, columns, review.rows())
    clipped = int(np.count_nonzero(shorter & review.stands))
    return Admission(reply, review.rejected(received.late), clipped, centre, silent)


def _trained(
    order: Any, reply: Trained, columns: Readings, review: Review, guards: Guards
) -> tuple[Trained, Flags]:
    """Return the updates that are accepted, and which answers have too long a one."""
    parameters = order.models.shape[1]
    length, fits = lengths(reply.updates, parameters)
    review.refuse(~fits, "shape")
    review.refuse(~(np.isfinite(length) & finite(order, columns)), "not_finite")
    factor = None if guards.norm_bound == "none" else guards.norm_bound
    bound = length_bound(length[review.stands], order.models, factor)
    if guards.norm_action == "reject":
        review.refuse(length > bound, "norm")
    rows = review.rows()
    trained = _answers(reply, columns, rows, updates=matrix(reply.updates, rows, parameters))
    if (length[rows] > bound).any():
        trained = replace(trained, updates=shortened(trained.updates, length[rows], bound))
    return trained, length > bound


def _kept(trained: Trained, review: Review, kept: Flags) -> Trained:
    """Return the founders that are kept, and refuse the others."""
    strange = np.zeros(len(review.why), dtype=np.bool_)
    strange[review.rows()[~kept]] = True
    review.refuse(strange, "founding")
    founders: Trained = of_those(trained, kept)
    return founders


def _answers(reply: ReplyT, columns: Readings, rows: Ids, **updates: Vectors) -> ReplyT:
    """Return the rows of a reply, which is the same object if that is all of it."""
    parts = {name: take_rows(column, rows) for name, column in columns.items()} | updates
    if all(part is getattr(reply, name) for name, part in parts.items()):
        return reply
    return type(reply)(**parts)
