"""Privacy: clipping and noise, the updates of clients, and epsilon against other accountants."""

import re
import sys
from pathlib import Path

import dp_accounting
import numpy as np
import pytest
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from flexcfl.aggregation import Rule, group_steps, norms
from flexcfl.errors import SettingsError
from flexcfl.settings import validated
from flexcfl.trust.privacy import (
    Privacy,
    PrivacyGuard,
    PrivateMean,
    clipped,
    epsilon,
    most_releases,
    noised,
)

ROWS = arrays(
    np.float32,
    st.tuples(st.integers(1, 4), st.integers(1, 6)),
    elements=st.floats(width=32, allow_nan=True, allow_infinity=True),
)
BOUNDS = st.floats(1e-6, 1e6)


@given(ROWS, BOUNDS)
@settings(max_examples=100, deadline=None)
def test_no_row_is_longer_than_the_bound_and_short_ones_are_left_alone(
    vectors: np.ndarray, bound: float
) -> None:
    before = vectors.copy()
    short = clipped(vectors, bound)
    np.testing.assert_array_equal(vectors, before)
    assert short.dtype == np.float32
    for old, new in zip(vectors, short, strict=True):
        length = float(norms(new[np.newaxis])[0])
        assert length <= bound
        exact = old.astype(np.float64)
        if not np.isfinite(exact).all():
            assert not new.any()
        elif np.sqrt(np.square(exact).sum()) <= bound * (1 - 1e-9):
            np.testing.assert_array_equal(new.view(np.uint32), old.view(np.uint32))
        elif np.sqrt(np.square(exact).sum()) > bound * (1 + 1e-9):
            assert length > bound * (1 - 1e-6)
            cosine = exact @ new / np.sqrt(np.square(exact).sum()) / length
            assert cosine > 1 - 1e-6


def test_noise_has_the_deviation_that_it_should_and_leaves_the_middle_alone() -> None:
    vector = np.full(200_000, 3, dtype=np.float32)
    noise = noised(vector, 0.5, np.random.default_rng(0)).astype(np.float64) - 3
    assert abs(noise.std() / 0.5 - 1) < 0.01
    assert abs(noise.mean()) < 0.005
    assert abs(np.mean(noise**4) / 0.5**4 - 3) < 0.1  # as of a normal distribution


def test_the_mean_of_a_group_is_noised_once_and_believes_no_weights() -> None:
    parameters, rule = 100_000, PrivateMean(clip=2.0, noise=3.0)
    updates = np.zeros((5, parameters), dtype=np.float32)
    updates[:, 0] = [1e9, -1e9, 1, 1, 99]  # clipped to 2, -2, 1 and 1; the last is of another group
    rows, weights = np.arange(4), np.array([10**9, 1, 1, 1, 1])
    step = rule(updates, rows, weights, np.random.default_rng(1)) * 4
    silent = rule(np.zeros_like(updates), rows, weights, np.random.default_rng(1)) * 4
    assert abs(silent.std() / 6.0 - 1) < 0.01
    np.testing.assert_allclose((step - silent)[:2], [2, 0], atol=1e-9)
    again = rule(updates, rows, weights[::-1].copy(), np.random.default_rng(1)) * 4
    np.testing.assert_array_equal(again, step)


def test_it_is_a_rule_of_aggregation() -> None:
    rule: Rule = PrivateMean(clip=1.0, noise=1e-9)
    updates = np.array([[3, 4], [0, 0.5], [1, 0]], dtype=np.float32)
    group_of = np.array([2, 2, 0])
    steps = group_steps(rule, updates, group_of, 3, np.ones(3), np.random.default_rng(0))
    expected = np.array([[1, 0], [0, 0], [0.3, 0.65]])
    np.testing.assert_allclose(steps, expected, atol=1e-6)


def test_what_is_not_finite_does_not_spoil_a_group() -> None:
    updates = np.array([[np.nan, 1], [np.inf, 1], [1, 0]], dtype=np.float32)
    rule = PrivateMean(clip=1.0, noise=1e-9)
    step = rule(updates, np.arange(3), np.ones(3), np.random.default_rng(0))
    np.testing.assert_allclose(step, [1 / 3, 0], atol=1e-6)


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
    hidden = PrivacyGuard(NOISY, CLIENTS, 0).protected(updates, EVERYBODY, "training", 1)
    noise = hidden - clipped(updates, 2.0)
    np.testing.assert_array_equal(updates, before)
    assert hidden.dtype == np.float32
    assert (np.abs(noise.std(axis=1) / 3.0 - 1) < 0.05).all()
    assert (np.abs(np.corrcoef(noise) - np.eye(CLIENTS)) < 0.06).all()  # each has its own


def test_a_clients_noise_depends_on_nobody_else(updates: np.ndarray) -> None:
    all_of_them = PrivacyGuard(NOISY, CLIENTS, 7).protected(updates, EVERYBODY, "training", 4)
    some = np.array([6, 1])
    alone = PrivacyGuard(NOISY, CLIENTS, 7).protected(updates[some], some, "training", 4)
    np.testing.assert_array_equal(alone, all_of_them[some])


def test_no_two_releases_share_their_noise(updates: np.ndarray) -> None:
    privacy_guard = PrivacyGuard(NOISY, CLIENTS, 0)
    asked = [
        ("training", 1),
        ("placement", 1),
        ("placement", 1),
        ("cold-start", 1),
        ("training", 2),
    ]
    seen = [privacy_guard.protected(updates, EVERYBODY, what, number)[0] for what, number in asked]  # type: ignore[arg-type]
    seen.append(PrivacyGuard(NOISY, CLIENTS, 1).protected(updates, EVERYBODY, "training", 1)[0])
    noise = np.array(seen) - clipped(updates, 2.0)[0]
    assert (np.abs(np.corrcoef(noise) - np.eye(len(seen))) < 0.06).all()


def test_at_the_level_of_groups_updates_are_only_counted(updates: np.ndarray) -> None:
    privacy_guard = PrivacyGuard(Privacy(level="group"), CLIENTS, 0)
    some = np.array([2, 5])
    assert privacy_guard.most == 0
    assert privacy_guard.protected(updates[some], some, "cold-start", 0) is not None
    left = privacy_guard.protected(updates, EVERYBODY, "training", 1)
    assert left is updates
    np.testing.assert_array_equal(privacy_guard.memory(), [1, 1, 2, 1, 1, 2, 1, 1])
    assert privacy_guard.most == 2


def test_who_has_spent_its_budget_is_known(updates: np.ndarray) -> None:
    settings = Privacy(level="client", noise=10.0, delta=1e-3, epsilon=1.0)
    allowed = most_releases(10.0, 1.0, 1e-3)
    privacy_guard = PrivacyGuard(settings, CLIENTS, 0)
    some = np.array([4, 1])
    for number in range(allowed):
        assert not privacy_guard.spent(EVERYBODY).any()
        privacy_guard.protected(updates[some], some, "training", number)
    np.testing.assert_array_equal(privacy_guard.spent(np.array([1, 2, 4])), [True, False, True])
    free = PrivacyGuard(NOISY, CLIENTS, 0)
    free.recall(np.full(CLIENTS, 10**9))
    assert not free.spent(EVERYBODY).any()


def test_going_on_from_memory_is_as_if_it_had_never_stopped(updates: np.ndarray) -> None:
    straight, stopped = (PrivacyGuard(NOISY, CLIENTS, 0) for _ in range(2))
    for each in (straight, stopped):
        each.protected(updates, EVERYBODY, "training", 1)
    kept = stopped.memory()
    resumed = PrivacyGuard(NOISY, CLIENTS, 0)
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
    hidden = PrivacyGuard(NOISY, CLIENTS, 0).protected(updates, EVERYBODY, "training", 1)
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
        PrivacyGuard(Privacy(level="client"), clients=1, seed=0)
    assert PrivacyGuard(Privacy(level="client", delta=1e-3), clients=1, seed=0).most == 0


PAGE = Path(__file__).parents[2] / "docs" / "privacy.md"


@pytest.mark.parametrize(("noise", "releases", "delta"), [(4.0, 7, 1e-3), (40.0, 300, 1e-6)])
def test_other_accountants_agree(noise: float, releases: int, delta: float) -> None:
    # Neighbours that replace a client's data: twice the length to which its update is clipped.
    event = dp_accounting.GaussianDpEvent(noise / 2)
    ours = epsilon(noise, releases, delta)
    bound = RdpAccountant().compose(event, releases).get_epsilon(delta)
    near = PLDAccountant().compose(event, releases).get_epsilon(delta)
    assert ours <= bound
    assert ours == pytest.approx(near, rel=2e-3)


def test_what_is_promised_is_what_happens() -> None:
    """The likeliest evidence against a client is as likely as delta allows, and no likelier."""
    noise, releases, delta, tries = 3.0, 3, 0.05, 200_000
    promised = epsilon(noise, releases, delta)
    rng = np.random.default_rng(0)
    one, other = (
        sum(noised(clipped_to_one(sign, tries), noise, rng).astype(float) for _ in range(releases))
        for sign in (1.0, -1.0)
    )
    evidence = [2 * seen / noise**2 > promised for seen in (one, other)]
    share, other_share = (float(np.mean(each)) for each in evidence)
    error = np.sqrt(share / tries) + np.exp(promised) * np.sqrt(other_share / tries)
    assert abs(share - np.exp(promised) * other_share - delta) < 4 * error
    assert 4 * error < delta / 4


def clipped_to_one(sign: float, tries: int) -> np.ndarray:
    """Return many updates of one number each, all too long."""
    one = clipped(np.array([[sign * 77]], dtype=np.float32), 1.0)
    return np.repeat(one[0], tries)


def test_epsilon_grows_with_releases_and_shrinks_with_noise() -> None:
    counts = [0, 1, 2, 5, 40, 10**6, 10**9]
    grown = [epsilon(2.0, releases, 1e-3) for releases in counts]
    assert grown[0] == 0
    assert grown == sorted(set(grown))
    shrunk = [epsilon(noise, 3, 1e-3) for noise in (1e-12, 1e-6, 0.1, 1.0, 30.0)]
    assert shrunk == sorted(set(shrunk), reverse=True)
    assert np.isfinite(shrunk).all()
    assert epsilon(1e12, 1, 1e-300) < 1e-10


@pytest.mark.parametrize(("noise", "budget"), [(1.0, 8.0), (10.0, 3.0), (50.0, 1e12)])
def test_a_budget_is_used_up_and_not_exceeded(noise: float, budget: float) -> None:
    allowed = most_releases(noise, budget, 1e-3)
    assert allowed >= 1
    assert epsilon(noise, allowed, 1e-3) <= budget
    assert allowed == 10**9 or epsilon(noise, allowed + 1, 1e-3) > budget


@pytest.mark.parametrize(("noise", "budget"), [(1.0, 1.0), (0.1, 1e-3), (3.0, 0.5)])
def test_a_budget_for_nothing_is_one_sentence_that_says_what_would_do(
    noise: float, budget: float
) -> None:
    with pytest.raises(SettingsError) as found:
        most_releases(noise, budget, 1e-3)
    sentence = str(found.value)
    said = re.fullmatch(
        rf"\[privacy\] epsilon = {budget:g} is less than one update with noise {noise:g} costs at "
        r"delta 0\.001: set it to (\S+) or more, or privacy\.noise to (\S+) or more\.",
        sentence,
    )
    assert said is not None, sentence
    assert most_releases(noise, float(said[1]), 1e-3) == 1
    assert most_releases(float(said[2]), budget, 1e-3) == 1


def test_a_missing_package_is_one_sentence_before_the_first_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "dp_accounting.gaussian_mechanism", None)
    with pytest.raises(SettingsError, match=r"pip install 'flexcfl\[privacy\]'\.$"):
        PrivacyGuard(Privacy(level="client"), clients=10, seed=0)
    assert epsilon(1.0, 0, 1e-3) == 0


def test_the_table_in_the_docs() -> None:
    lines = PAGE.read_text("utf-8").splitlines()
    head = next(place for place, line in enumerate(lines) if line.startswith("| noise \\ releases"))
    releases = [int(cell) for cell in _cells(lines[head])[1:]]
    body = [_cells(line) for line in lines[head + 2 : head + 9]]
    assert (len(releases), len(body)) == (7, 7)
    for noise, *told in body:
        computed = [f"{epsilon(float(noise), each, 1e-3):.3g}" for each in releases]
        assert told == computed


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("| \n").split("|")]
