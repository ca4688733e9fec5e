"""The picture of the peers' times, drawn from the report next to it."""

from pathlib import Path

import plot

REPORT = """# Beside other simulators

| | W1: logistic regression | W3: MNIST CNN |
|---|---|---|
| plain loop | 624 (1.0) | 11,400 (1.0) |
| FedJAX | 95.5 (0.15) | - |
| flexcfl, all cores | 4.2 (0.01) | 3,100 (0.27) |

How many of the probe's examples are known.

| | W1: logistic regression | W3: MNIST CNN |
|---|---|---|
| plain loop | 65.8 % | 70.0 % |
"""


def test_the_first_table_of_a_report_is_read() -> None:
    results = plot.read(REPORT)
    assert results.works == ["W1: logistic regression", "W3: MNIST CNN"]
    assert results.times == {
        "plain loop": [624, 11_400],
        "FedJAX": [95.5, None],
        "flexcfl, all cores": [4.2, 3_100],
    }


def test_the_picture_shows_every_time_and_is_the_same_again(tmp_path: Path) -> None:
    first, second = tmp_path / "first.svg", tmp_path / "second.svg"
    for path in (first, second):
        plot.draw(plot.read(REPORT), path)
    assert first.read_bytes() == second.read_bytes()
    for text in ("FedJAX", "not measured", "11,400", "4.2", plot.TITLE):
        assert f"<!-- {text} -->" in first.read_text("utf-8").replace("<!--  ", "<!-- "), text


def test_the_results_that_are_published_can_be_drawn(tmp_path: Path) -> None:
    results = plot.read(plot.RESULTS.read_text("utf-8"))
    assert len(results.works) == 3
    assert any(name.startswith("flexcfl") for name in results.times)
    plot.draw(results, tmp_path / "speed.svg")
