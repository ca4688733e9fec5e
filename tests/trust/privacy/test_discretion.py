"""How updates leave clients: each hidden for itself, counted, and the same after a restart."""

import numpy as np
import pytest

from flexcfl.errors import SettingsError
from flexcfl.settings import validated
from flexcfl.trust.privacy import Discretion, Privacy
from flexcfl.trust.privacy.accounting import most_releases
from flexcfl.trust.privacy.mechanism import clipped

CLIENTS, PARAMETERS = 8, 5_000
EVERYBODY = np.arange(CLIENTS)
NOISY = Privacy(level="client", clip=2.0, noise=1.5)


@pytest.fixture
def updates() -> np.ndarray:
    rng = np.random.default_rng(3)
    scale = np.linspace(1e-3, 1, CLIENTS)[:, np.newaxis]
    return (scale * rng.normal(size=(CLIENTS, PARAMETERS))).astype(np.float32)


def test_updates_are_clipped_and_hidden_in_noise(updates: np.ndarray) -> None:
    before = updates.copy()
    hidden = Discretion(NOISY, CLIENTS, 0).protected(updates, EVERYBODY, "training", 1)
    noise = hidden - clipped(updates, 2.0)
    np.testing.assert_array_equal(updates, before)
    assert hidden.dtype == np.float32
    assert (np.abs(noise.std(axis=1) / 3.0 - 1) < 0.05).all()
    assert (np.abs(np.corrcoef(noise) - np.eye(CLIENTS)) < 0.06).all()  # each has its own


def test_a_clients_noise_depends_on_nobody_else(updates: np.ndarray) -> None:
    all_of_them = Discretion(NOISY, CLIENTS, 7).protected(updates, EVERYBODY, "training", 4)
    some = np.array([6, 1])
    alone = Discretion(NOISY, CLIENTS, 7).protected(updates[some], some, "training", 4)
    np.testing.assert_array_equal(alone, all_of_them[some])


def test_no_two_releases_share_their_noise(updates: np.ndarray) -> None:
    discretion = Discretion(NOISY, CLIENTS, 0)
    asked = [
        ("training", 1),
        ("placement", 1),
        ("placement", 1),
        ("cold-start", 1),
        ("training", 2),
    ]
    seen = [discretion.protected(updates, EVERYBODY, what, number)[0] for what, number in asked]  # type: ignore[arg-type]
    seen.append(Discretion(NOISY, CLIENTS, 1).protected(updates, EVERYBODY, "training", 1)[0])
    noise = np.array(seen) - clipped(updates, 2.0)[0]
    assert (np.abs(np.corrcoef(noise) - np.eye(len(seen))) < 0.06).all()


def test_at_the_level_of_groups_updates_are_only_counted(updates: np.ndarray) -> None:
    discretion = Discretion(Privacy(level="group"), CLIENTS, 0)
    some = np.array([2, 5])
    assert discretion.most == 0
    assert discretion.protected(updates[some], some, "cold-start", 0) is not None
    left = discretion.protected(updates, EVERYBODY, "training", 1)
    assert left is updates
    np.testing.assert_array_equal(discretion.memory(), [1, 1, 2, 1, 1, 2, 1, 1])
    assert discretion.most == 2


def test_who_has_spent_its_budget_is_known(updates: np.ndarray) -> None:
    settings = Privacy(level="client", noise=10.0, delta=1e-3, epsilon=1.0)
    allowed = most_releases(10.0, 1.0, 1e-3)
    discretion = Discretion(settings, CLIENTS, 0)
    some = np.array([4, 1])
    for number in range(allowed):
        assert not discretion.spent(EVERYBODY).any()
        discretion.protected(updates[some], some, "training", number)
    np.testing.assert_array_equal(discretion.spent(np.array([1, 2, 4])), [True, False, True])
    free = Discretion(NOISY, CLIENTS, 0)
    free.recall(np.full(CLIENTS, 10**9))
    assert not free.spent(EVERYBODY).any()


def test_going_on_from_memory_is_as_if_it_had_never_stopped(updates: np.ndarray) -> None:
    straight, stopped = (Discretion(NOISY, CLIENTS, 0) for _ in range(2))
    for each in (straight, stopped):
        each.protected(updates, EVERYBODY, "training", 1)
    kept = stopped.memory()
    resumed = Discretion(NOISY, CLIENTS, 0)
    resumed.recall(kept)
    later = [
        each.protected(updates, EVERYBODY, "training", 2) for each in (straight, stopped, resumed)
    ]
    np.testing.assert_array_equal(later[0], later[1])
    np.testing.assert_array_equal(later[0], later[2])
    assert kept.dtype == np.int64
    np.testing.assert_array_equal(kept, 1)  # it does not change with whom it was taken from


def test_what_diverged_does_not_leave_a_trace(updates: np.ndarray) -> None:
    updates[0], updates[1] = np.nan, np.inf
    hidden = Discretion(NOISY, CLIENTS, 0).protected(updates, EVERYBODY, "training", 1)
    assert np.isfinite(hidden).all()


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"epsilon": 0}, r"\[privacy\] epsilon must be greater than 0, not 0\."),
        ({"noise": 0}, r"\[privacy\] noise must be greater than or equal to 0\.000001, not 0\."),
        (
            {"clip": -1.0},
            r"\[privacy\] clip must be greater than or equal to 0\.000001, not -1\.0\.",
        ),
        ({"delta": 1.0}, r"\[privacy\] delta must be less than 1, not 1\.0\."),
        ({"level": "server"}, r"\[privacy\] level must be .*, not 'server'\."),
    ],
)
def test_settings_that_promise_nothing_are_one_sentence(
    table: dict[str, object], sentence: str
) -> None:
    with pytest.raises(SettingsError, match=f"^{sentence}$"):
        validated(Privacy, table, "[privacy]")


def test_one_over_one_client_is_no_delta() -> None:
    with pytest.raises(SettingsError, match=r"^\[privacy\] delta must be given .*\.$"):
        Discretion(Privacy(level="client"), clients=1, seed=0)
    assert Discretion(Privacy(level="client", delta=1e-3), clients=1, seed=0).most == 0
