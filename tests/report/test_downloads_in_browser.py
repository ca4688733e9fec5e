"""What can be taken along from the page is what the tables of the runs say."""

import csv
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from flexcfl.protocol import numbers
from tests.report.browsing import choose, downloaded, rows

if TYPE_CHECKING:
    from playwright.sync_api import Page


pytestmark = pytest.mark.slow

BURST = 1100  # milliseconds: within a second Chromium lets a page begin ten downloads


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def page(shared: "Page") -> "Page":
    """Return the page once what another test has taken along is no longer counted."""
    shared.wait_for_timeout(BURST)
    return shared


def test_downloaded_curves_are_the_figures_of_the_rounds(page: "Page", runs: Path) -> None:
    charts = {
        "Accuracy over rounds": ("accuracy", "accuracy_percent", 100),
        "Loss over rounds": ("loss", "loss", 1),
        "Discrepancy over rounds": ("discrepancy", "discrepancy", 1),
    }
    for title, (column, called, scale) in charts.items():
        name, text = downloaded(page, "Data (CSV)", title)
        assert name == f"{column}.csv"
        seen = {(line["method"], int(line["round"])): line for line in rows(text)}
        expected: dict[tuple[str, int], list[float]] = {}
        for folder in sorted(runs.iterdir()):
            for line in table(folder / "rounds.csv"):
                if line[column]:
                    key = (folder.name.partition("-")[0], int(line["round"]))
                    expected.setdefault(key, []).append(scale * float(line[column]))
        assert seen.keys() == expected.keys()
        for key, values in expected.items():
            figures = [float(seen[key][each]) for each in (called, "lowest", "highest")]
            assert figures == pytest.approx([np.mean(values), min(values), max(values)], rel=1e-5)


def test_downloaded_traffic_is_the_bytes_of_the_rounds(page: "Page", runs: Path) -> None:
    _, text = downloaded(page, "Data (CSV)", "Accuracy against traffic")
    for method in ("fedavg", "flexcfl", "ifca"):
        last = [line for line in rows(text) if line["method"] == method][-1]
        sent = [
            sum(int(line["down_bytes"]) + int(line["up_bytes"]) for line in table(path))
            for path in runs.glob(f"{method}-*/rounds.csv")
        ]
        assert float(last["megabytes"]) == pytest.approx(np.mean(sent) / 1e6, rel=1e-5)


def test_downloaded_groups_are_those_of_the_run(page: "Page", runs: Path) -> None:
    choose(page, "Run", "ifca, seed 1")
    choose(page, "Run", "flexcfl, seed 1")
    folder = runs / "flexcfl-seed1"
    _, accuracies = downloaded(page, "Data (CSV)", "Accuracy of each group")
    _, sizes = downloaded(page, "Data (CSV)", "Size of each group")
    groups = {
        (f"group {each['group']}", each["round"]): each for each in table(folder / "groups.csv")
    }
    for line in rows(accuracies):
        own = groups[line["group"], line["round"]]["accuracy"]
        assert float(line["accuracy_percent"]) == pytest.approx(100 * float(own), rel=1e-5)
    assert {(each["group"], each["round"]): each["clients"] for each in rows(sizes)} == {
        key: each["clients"] for key, each in groups.items()
    }
    _, changes = downloaded(page, "Data (CSV)", "Shifts and migrations by round")
    moved = [each["clients"] for each in rows(changes) if each["what"] == "moved to another group"]
    assert moved == [each["migrated"] for each in table(folder / "rounds.csv")]
    _, founders = downloaded(page, "Data (CSV)", "Founders by their updates")
    points = {each["client"]: (each["group"], float(each["first"])) for each in rows(founders)}
    found = {each["client"]: each for each in table(folder / "founders.csv")}
    assert points.keys() == found.keys()
    for client, (group, first) in points.items():
        assert group == f"group {found[client]['group']}"
        assert first == pytest.approx(float(found[client]["x0"]), rel=1e-5)
    _, labels = downloaded(page, "Data (CSV)", "Label skew of the federation")
    counts = {
        (each["client"], each["label"]): int(each["train"]) + int(each["test"])
        for each in table(folder / "labels.csv")
    }
    sums = Counter[str]()
    for (client, _), number in counts.items():
        sums[client] += number
    shares = {(each["client"], each["class"]): float(each["percent"]) for each in rows(labels)}
    assert {key: share for key, share in shares.items() if share} == {
        key: pytest.approx(100 * number / sums[key[0]], rel=1e-2) for key, number in counts.items()
    }


def test_downloaded_moves_are_those_of_the_run(page: "Page", runs: Path) -> None:
    folder = runs / "flexcfl-seed0"
    choose(page, "Run", "flexcfl, seed 0")
    _, text = downloaded(page, "Data (CSV)", "Group of each client by round")
    lines = rows(text)
    group_of: dict[tuple[str, int], str] = {}
    members = table(folder / "membership.csv")
    for number in range(9):
        for line in members:
            if int(line["round"]) == number:
                group_of |= {(line["client"], later): line["group"] for later in range(number, 9)}
    assert {
        (each["client"], int(each["round"])): each["group"]
        for each in lines
        if each["what"] == "group"
    } == group_of
    assert {(int(each["round"]), each["client"]) for each in lines if each["what"] != "group"} == {
        (int(each["round"]), str(client))
        for each in table(folder / "shifts.csv")
        for client in numbers(each["clients"]).tolist()
    }
    _, flows = downloaded(page, "Data (CSV)", "Moves between groups")
    moves = Counter[tuple[str, str]]()
    for (client, number), group in group_of.items():
        before = group_of.get((client, number - 1))
        if before is not None and before != group:
            moves[before, group] += 1
    assert {
        (each["from"], each["to"]): int(each["moves"])
        for each in rows(flows)
        if each["moves"] != "0"
    } == moves


def test_pictures_stand_by_themselves(page: "Page") -> None:
    for title, legend in (
        ("Accuracy over rounds", "flexcfl"),
        ("Group of each client by round", "group 1"),
    ):
        name, text = downloaded(page, "Picture (SVG)", title)
        assert name.endswith(".svg")
        assert text.startswith("<svg")
        assert title in text
        assert legend in text
        assert "rgb(255, 255, 255)" in text


def test_a_client_can_be_followed(page: "Page", runs: Path) -> None:
    folder = runs / "flexcfl-seed0"
    choose(page, "Run", "flexcfl, seed 0")
    members, shifts = table(folder / "membership.csv"), table(folder / "shifts.csv")
    changed = {
        client: number["round"]
        for number in shifts
        for client in numbers(number["clients"]).tolist()
    }
    moves = Counter(int(line["client"]) for line in members)
    client = max(changed, key=lambda each: moves[each])
    page.get_by_label("Follow a client").fill(str(client))
    told = page.locator(".follow output").inner_text()
    assert told.startswith(f"Client {client}: ")
    assert f"its data changed before round {changed[client]}" in told
    for line in members:
        if int(line["client"]) == client:
            start = f"round {line['round']}" if line["round"] != "0" else "the start"
            assert f"group {line['group']} from {start} on" in told
    page.get_by_label("Follow a client").fill("4711")
    assert page.locator(".follow output").inner_text() == "There is no client 4711 in this chart."
