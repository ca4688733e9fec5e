"""What every rule of the registry promises, whatever it makes of updates."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

import flexcfl.aggregation
from flexcfl.aggregation import RULES, Rule, group_steps
from flexcfl.errors import SettingsError
from flexcfl.protocol import Vector, Vectors
from flexcfl.settings import validated

LARGEST = float(np.finfo(np.float32).max)
ROBUST = sorted(set(RULES) - {"mean"})
SIZES = [1, 2, 3, 4, 7, 12]

any_updates = settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
few_values = arrays(
    np.float32, st.tuples(st.integers(1, 8), st.integers(1, 4)), elements=st.integers(-3, 3)
)
# Rows may be nothing, alike, opposed, or at the ends of float32.
any_values = arrays(
    np.float32,
    st.tuples(st.integers(1, 8), st.integers(1, 4)),
    elements=st.one_of(
        st.sampled_from([0.0, 1.0, -1.0, LARGEST, -LARGEST, 1e-45]),
        st.floats(-LARGEST, LARGEST, width=32),
    ),
)


@pytest.fixture(params=sorted(RULES))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def rule(name: str) -> Rule:
    return RULES[name].rule()


def step(rule: Rule, updates: Vectors) -> Vector:
    """Return the step of a group in which everybody counts the same."""
    rows = len(updates)
    alone = np.zeros(rows, np.int64)
    steps = group_steps(rule, updates, alone, 1, np.ones(rows), np.random.default_rng(0))
    return np.asarray(steps[0])


def honest(rows: int, columns: int = 6, seed: int = 0) -> Vectors:
    """Return rows that roughly agree: a common direction, and noise."""
    noise = np.random.default_rng([seed, rows]).normal(0, 0.5, (rows, columns))
    return (np.arange(1, columns + 1) + noise).astype(np.float32)


def close(actual: NDArray[Any], expected: NDArray[Any]) -> None:
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)


@given(arrays(np.float32, 4, elements=st.floats(-LARGEST, LARGEST, width=32)), st.integers(1, 9))
@any_updates
def test_one_row_or_the_same_row_many_times_gives_that_row(
    rule: Rule, row: Vector, times: int
) -> None:
    np.testing.assert_allclose(step(rule, np.tile(row, (times, 1))), row, rtol=1e-6)


@given(any_values)
@any_updates
def test_a_step_stays_between_the_updates_and_leaves_them_alone(
    rule: Rule, updates: Vectors
) -> None:
    before = updates.copy()
    found = step(rule, updates)
    assert np.array_equal(updates, before)
    assert found.dtype == np.float32
    # Also where sums and squares of the largest float32 are far beyond all float32.
    assert np.isfinite(found).all()
    room = 1e-6 * np.abs(updates).max(axis=0).astype(np.float64)
    assert (found >= updates.min(axis=0) - room).all()
    assert (found <= updates.max(axis=0) + room).all()


@pytest.mark.parametrize("rows", SIZES)
def test_the_order_of_updates_does_not_matter(rule: Rule, rows: int) -> None:
    for seed in range(5):
        updates = np.random.default_rng([rows, seed]).normal(0, 1, (rows, 3)).astype(np.float32)
        close(step(rule, np.roll(updates, 1, axis=0)), step(rule, updates))
        close(step(rule, updates[::-1]), step(rule, updates))


@pytest.mark.parametrize("rows", SIZES)
def test_a_step_moves_and_grows_with_the_updates(name: str, rule: Rule, rows: int) -> None:
    updates = honest(rows)
    for factor in (1e-20, 0.5, 1e20):
        scaled = (updates * factor).astype(np.float32)
        close(step(rule, scaled) / factor, step(rule, updates))
    close(step(rule, -updates), -step(rule, updates))
    if name != "clusters":  # cosines are seen from the origin
        close(step(rule, updates + np.float32(64)), step(rule, updates) + 64)


@given(few_values)
@any_updates
def test_what_weights_are_claimed_matters_to_the_mean_alone(
    name: str, rule: Rule, updates: Vectors
) -> None:
    rows = np.arange(len(updates))
    rng = np.random.default_rng(0)
    claimed = np.where(rows == 0, 10**9, 1)
    alike, greedy = (rule(updates, rows, each, rng) for each in (np.ones(len(rows)), claimed))
    if name == "mean":
        close(greedy, updates[0])
    else:
        assert np.array_equal(alike, greedy)


@pytest.mark.parametrize("rows", [3, 4, 5, 7, 12, 30])
@pytest.mark.parametrize("length", [1e2, 1e6, 3e37])
@pytest.mark.parametrize("name", ROBUST)
def test_a_fifth_that_is_far_away_moves_a_step_no_further_than_honest_clients_could(
    name: str, rows: int, length: float
) -> None:
    updates = honest(rows)
    hostile = -(-rows // 5)
    within = np.linalg.norm(updates - updates.mean(axis=0), axis=1).max()
    attacks: list[NDArray[Any]] = [-updates[:hostile], np.full((hostile, 6), -1.0)]
    if name != "clusters":  # which only tells directions apart
        attacks += [updates[:hostile], np.eye(6)[np.arange(hostile) % 6]]
    for attack in attacks:
        attacked = np.concatenate([attack * length, updates[hostile:]])
        moved = np.linalg.norm(
            step(RULES[name].rule(), attacked.astype(np.float32)) - updates.mean(axis=0)
        )
        assert moved <= 1.5 * within


def test_the_same_attack_carries_the_mean_away() -> None:
    attacked = honest(7)
    attacked[0] *= -1e6
    assert np.linalg.norm(step(RULES["mean"].rule(), attacked)) > 1e5


@pytest.mark.parametrize(
    ("name", "option"),
    [
        *(("median", {}), ("geometric-median", {}), ("clusters", {})),
        *(("trimmed-mean", {"trim": 0.49}), ("krum", {"hostile": 0.49})),
        ("multi-krum", {"hostile": 0.49}),
    ],
)
@pytest.mark.parametrize("rows", [3, 5, 9, 21])
def test_nearly_a_half_that_says_the_same_does_not_carry_a_step_away(
    name: str, option: dict[str, float], rows: int
) -> None:
    updates = honest(rows)
    within = np.linalg.norm(updates - updates.mean(axis=0), axis=1).max()
    attacked = updates.copy()
    attacked[: (rows - 1) // 2] = -1e6
    rule: Any = RULES[name].rule
    assert np.linalg.norm(step(rule(**option), attacked) - updates.mean(axis=0)) <= 4 * within


def test_only_the_rows_of_the_group_count(rule: Rule) -> None:
    updates = honest(9)
    rows = np.array([1, 2, 5, 8])
    spoilt = np.full_like(updates, np.nan)
    spoilt[rows] = updates[rows]
    rng = np.random.default_rng(0)
    found = rule(spoilt, rows, np.ones(9), rng)
    close(found, rule(updates[rows], np.arange(4), np.ones(4), rng))


def test_options_have_defaults_and_are_documented(name: str) -> None:
    options: Any = RULES[name].rule
    assert options() == options()
    for item in dataclasses.fields(options):
        assert f"``{item.name}``" in str(options.__doc__), f"{name} does not explain {item.name}"


def test_options_out_of_range_and_unknown_ones_are_told_in_a_sentence(name: str) -> None:
    options: Any = RULES[name].rule
    for item in dataclasses.fields(options):
        with pytest.raises(SettingsError, match=rf"^\[aggregation\] {item.name} must be .*-2\.$"):
            validated(options, {item.name: -2}, "[aggregation]")
    with pytest.raises(SettingsError, match="has no setting 'colour'"):
        validated(options, {"colour": 1}, "[aggregation]")


@pytest.mark.parametrize(
    ("name", "option"), [("trimmed-mean", "trim"), ("krum", "hostile"), ("multi-krum", "hostile")]
)
@pytest.mark.parametrize("share", [0.5, 0.7, float("nan")])
def test_a_share_of_a_half_or_more_is_refused(name: str, option: str, share: float) -> None:
    sentence = (
        rf"^\[aggregation\] {option} must be (less|greater) than [^.]*0(\.5)?, not {share}\.$"
    )
    with pytest.raises(SettingsError, match=sentence):
        validated(RULES[name].rule, {option: share}, "[aggregation]")


def test_rules_are_frozen(name: str) -> None:
    rule: Any = RULES[name].rule()
    with pytest.raises(dataclasses.FrozenInstanceError):
        rule.anything = 0.3


def test_every_entry_says_what_it_is(name: str) -> None:
    summary = RULES[name].summary
    assert summary
    assert not summary.endswith(".")
    assert RULES[name].rule.__name__ in flexcfl.aggregation.__all__
