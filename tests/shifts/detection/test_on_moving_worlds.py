"""Detectors on the shifts themselves: the benchmark runs, and the bounds hold on real clients."""

import os
from pathlib import Path

import detectors as benchmark
import pytest

from flexcfl.data import Federation, load_federation
from flexcfl.shifts import SHIFTS
from flexcfl.shifts.detection import DETECTORS, MMD, Detector, LabelShare

CHECKOUT = Path(__file__).parents[3]
REAL = Path(os.environ.get("FLEXCFL_DATA") or CHECKOUT.parent / "shared" / "data")


@pytest.fixture(scope="module")
def digits() -> Federation:
    return load_federation("digits")


@pytest.fixture(scope="module")
def mnist() -> Federation:
    if not (REAL / "mnist").is_dir():
        pytest.skip(f"The real files are not in {REAL}; FLEXCFL_DATA can name their folder.")
    return load_federation("mnist", REAL)


def test_the_benchmark_prints_a_line_for_every_shift_and_detector(
    digits: Federation, capsys: pytest.CaptureFixture[str]
) -> None:
    made = {name: entry.detector for name, entry in DETECTORS.items()}
    benchmark.report(digits, list(SHIFTS), made, seed=0, rounds=8)
    shown = capsys.readouterr().out
    for name in DETECTORS:
        assert all(f"| {shift} | {name} |" in shown for shift in SHIFTS)
        assert f"| {name} | 90 |" in shown


def test_the_benchmark_tells_catches_misses_and_false_alarms_apart(digits: Federation) -> None:
    made: dict[str, Detector] = {"label-share": LabelShare(), "mmd": MMD()}
    turned = benchmark.run(digits, "rotation", made, seed=0, rounds=40)
    labels, looks = turned["label-share"], turned["mmd"]
    assert labels.at_once == labels.later == labels.false_alarms == 0 < labels.shifts
    assert looks.at_once >= 0.8 * looks.shifts > 0
    grown = benchmark.run(digits, "incremental", made, seed=0, rounds=60)
    assert all(score.shifts == 0 < score.harmless for score in grown.values())


@pytest.mark.slow
def test_label_share_keeps_its_bounds_on_mnist(mnist: Federation) -> None:
    made = {"label-share": LabelShare()}
    for shift in ("swap-all", "swap-part"):
        score = benchmark.run(mnist, shift, made, seed=0, rounds=100)["label-share"]
        assert score.at_once >= 0.98 * score.shifts > 1000
    score = benchmark.run(mnist, "incremental", made, seed=0, rounds=150)["label-share"]
    assert len(score.alarmed) <= 0.01 * mnist.clients


@pytest.mark.slow
def test_mmd_keeps_its_bounds_on_mnist(mnist: Federation) -> None:
    for shift in ("rotation", "label-permutation"):
        score = benchmark.run(mnist, shift, {"mmd": MMD()}, seed=0, rounds=60)["mmd"]
        assert score.at_once >= 0.8 * score.shifts > 500
        assert score.false_alarms <= 0.05 * score.harmless
    raised, exchanges = benchmark.same_labels(mnist, MMD(), seed=0)
    assert raised <= 0.05 * exchanges
