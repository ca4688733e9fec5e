"""Epsilon against other accountants, against chance, and against the table in the docs."""

import re
import sys
from pathlib import Path

import dp_accounting
import numpy as np
import pytest
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant

from flexcfl.errors import SettingsError
from flexcfl.trust.privacy import Discretion, Privacy, epsilon
from flexcfl.trust.privacy.accounting import most_releases
from flexcfl.trust.privacy.mechanism import clipped, noised

PAGE = Path(__file__).parents[3] / "docs" / "privacy.md"


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
        Discretion(Privacy(level="client"), clients=10, seed=0)
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
