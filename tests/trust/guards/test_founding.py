"""Founders that point elsewhere than most found no group."""

from typing import Any, Literal

import numpy as np
import pytest

from flexcfl.protocol import Local, Purpose, Train, Trained
from flexcfl.trust.guards import Admission, Guards, admitted

PARAMETERS = 50


def asked(
    updates: Any,
    cosine: float | Literal["none"] = 0.0,
    purpose: Purpose = "cold-start",
    centre: Any = None,
) -> Admission:
    clients = np.arange(len(updates))
    start = np.zeros(len(updates), np.int64)
    model, founding = np.zeros((1, PARAMETERS), np.float32), purpose == "cold-start"
    order = Train(clients, model, start, Local(), purpose, founding=founding)
    reply = Trained(clients, updates, start + 1, np.zeros(len(updates)), start)
    return admitted(order, reply, 0, Guards(founder_cosine=cosine, norm_bound="none"), centre)


@pytest.fixture
def founders() -> np.ndarray:
    """Twenty honest founders of two groups, whose directions have a common part."""
    rng = np.random.default_rng(0)
    updates = 1 + rng.normal(scale=0.5, size=(20, PARAMETERS))
    updates[:10, :25] += 1
    updates[10:, 25:] += 1
    return updates.astype(np.float32)


@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e6, 1e30])
def test_a_minority_that_points_back_is_not_admitted(founders: np.ndarray, scale: float) -> None:
    hostile = np.array([0, 5, 10, 15, 16, 17])
    founders[hostile] *= -scale
    admission = asked(founders)
    np.testing.assert_array_equal(admission.reply.clients, np.delete(np.arange(20), hostile))
    assert admission.rejected == {"founding": 6}
    assert asked(list(founders)).rejected == {"founding": 6}


def test_the_centre_is_the_geometric_median_and_not_the_mean() -> None:
    updates = np.zeros((20, PARAMETERS), np.float32)
    updates[:12, 0] = 1
    updates[np.arange(12), np.arange(1, 13)] = 1  # what each has beside the common part
    updates[12:, 0] = -1  # a crowd that draws the mean to an angle of 70 degrees with the others
    admission = asked(updates, cosine=0.5)
    np.testing.assert_array_equal(admission.reply.clients, np.arange(12))


def test_only_where_groups_are_founded_and_it_is_asked_for(founders: np.ndarray) -> None:
    founders[:4] *= -1
    assert asked(founders, cosine="none").rejected == {}
    assert asked(founders, purpose="training").rejected == {}
    assert asked(founders, purpose="placement").rejected == {}
    assert len(asked(founders, cosine=1.0).reply.clients) < 4


def test_two_cannot_tell_which_of_them_is_strange(founders: np.ndarray) -> None:
    founders[0] *= -1
    assert not asked(founders[:1]).rejected
    assert not asked(founders[:2]).rejected
    assert asked(founders[:3]).rejected == {"founding": 1}
    founders[2] = 0  # has no direction, and so no say
    assert not asked(founders[:3], cosine=0.5).rejected


def test_where_directions_cancel_out_all_are_admitted() -> None:
    updates = np.eye(2, PARAMETERS, dtype=np.float32)
    assert not asked(np.concatenate([updates, -updates]), cosine=0.5).rejected


def test_clipped_founders_that_are_refused_are_counted_once(founders: np.ndarray) -> None:
    founders[0] *= -1e6
    founders[1] *= 1e6
    clients, start = np.arange(20), np.zeros(20, np.int64)
    models = np.zeros((1, PARAMETERS), np.float32)
    order = Train(clients, models, start, Local(), "cold-start", founding=True)
    reply = Trained(clients, founders, start + 1, np.zeros(20), start)
    guards = Guards(founder_cosine=0.0, norm_action="clip")
    admission = admitted(order, reply, 0, guards)
    assert (admission.rejected, admission.clipped) == ({"founding": 1}, 1)


def test_those_who_are_asked_later_are_judged_by_those_before(founders: np.ndarray) -> None:
    """A few that take the place of others could not tell for themselves who is strange."""
    first = asked(founders[:10])
    assert not first.rejected
    founders[10] *= -1
    assert not asked(founders[10:12]).rejected
    later = asked(founders[10:12], centre=first.centre)
    assert later.rejected == {"founding": 1}
    assert later.centre is first.centre


def test_noise_that_points_with_nobody_is_not_admitted(founders: np.ndarray) -> None:
    """Its own share of the centre would lend it a cosine."""
    hostile = np.array([2, 7, 12, 18])
    founders[hostile] = np.random.default_rng(1).normal(size=(4, PARAMETERS)) * 100
    admission = asked(founders, cosine=0.3)
    np.testing.assert_array_equal(admission.reply.clients, np.delete(np.arange(20), hostile))


def test_who_sends_what_another_has_sent_is_not_admitted(founders: np.ndarray) -> None:
    """Clients that agreed on one update would weigh as much as their number."""
    founders[[4, 9, 15]] = founders[2]
    founders[[6, 7]] = 0  # have nothing to say, and did not agree on it
    admission = asked(founders, cosine="none")
    assert admission.rejected == {"founding": 3}
    np.testing.assert_array_equal(admission.reply.clients, np.delete(np.arange(20), [4, 9, 15]))
    assert not asked(founders, cosine="none", purpose="training").rejected
