"""Admission of answers: they must be finite, of the right shape, and not too long.

A bad answer of one client never costs the answer of another.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as settings

from flexcfl.protocol import Flags, Ids, Order, Received, Trained, Vectors, of_those
from flexcfl.trust.guards.columns import lengths, matrix, take_rows
from flexcfl.trust.guards.review import Readings, Review, checked_columns, finite
from flexcfl.trust.guards.updates import Centre, copies, judge_founders, length_bound, shortened

ReplyT = TypeVar("ReplyT")
Factor = Annotated[float, Field(ge=1, le=1e12, allow_inf_nan=False)]
Cosine = Annotated[float, Field(ge=-1, le=1)]


@settings(frozen=True, config=ConfigDict(extra="forbid"))
class Guards:
    """The optional checks of the server on answers.

    Answers must always be finite, of the right shape, and for the order of this round. An update
    longer than ``norm_bound`` times a reference length is rejected, or shortened to that bound, as
    ``norm_action`` says. The reference is the median length of all updates of the reply, but at
    least a hundredth of the model's length; with one or two updates, it is the model's length.
    Founders of groups whose update has a cosine below ``founder_cosine`` to the geometric median of
    the others' directions are not admitted, so that a minority with other directions cannot found
    a group. Either check is off with ``none``.
    """

    norm_bound: Factor | Literal["none"] = 100.0
    norm_action: Literal["reject", "clip"] = "reject"
    founder_cosine: Cosine | Literal["none"] = "none"


@dataclass(frozen=True, eq=False)
class Admission:
    """The accepted part of a reply, and the number of rejected answers by reason.

    ``clipped`` counts updates that were shortened and then accepted. ``centre`` is the direction by
    which founders were judged, if any. ``silent`` are the clients that did not answer.
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

    ``received`` is a reply or a ``Received``. If a client answers more often than it was asked, its
    first answers count. If nothing is wrong, the same reply object is passed on. Founders that are
    asked later are judged by the ``centre`` of the earlier ones, because they are too few to have
    their own.
    """
    if not isinstance(received, Received):
        received = Received(received)
    reply, review = received.reply, Review.of(order, received, number)
    silent = review.silent(order.clients)
    columns, shorter = checked_columns(order, reply, review), np.zeros_like(review.stands)
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
    """Return the accepted updates, and which answers have an update that is too long."""
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
    dropped = np.zeros(len(review.why), dtype=np.bool_)
    dropped[review.rows()[~kept]] = True
    review.refuse(dropped, "founding")
    founders: Trained = of_those(trained, kept)
    return founders


def _answers(reply: ReplyT, columns: Readings, rows: Ids, **updates: Vectors) -> ReplyT:
    """Return some rows of a reply, or the same object if these are all rows."""
    parts = {name: take_rows(column, rows) for name, column in columns.items()} | updates
    if all(part is getattr(reply, name) for name, part in parts.items()):
        return reply
    return type(reply)(**parts)
