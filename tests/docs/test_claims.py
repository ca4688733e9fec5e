"""What docs/replication.md says of a claim follows from figures, whatever they are."""

import pytest

from tools import claims, replication, runs


def test_a_verdict_names_where_a_claim_does_not_hold() -> None:
    assert claims.verdict({"A": True, "B": True}) == "yes"
    assert claims.verdict({"A": False, "B": False}) == "no"
    assert claims.verdict({"A": True, "B": False, "C": True}) == "in 2 of 3, not on B"


def test_a_page_follows_its_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    table = runs.runs("table3")
    worse = [
        {**line, "best": "0.5", "final": "0.5"} if line["method"] == "flexcfl" else line
        for line in table.lines
    ]
    changed = {"table3": runs.Runs(worse)}
    for module in (claims, replication):
        monkeypatch.setattr(module, "runs", lambda name: changed.get(name) or runs.runs(name))
    found = {claim.says: claim for claim in claims.claims()}
    lost = found["FlexCFL is better than FedAvg, FedProx and FeSEM"]
    assert (lost.best, lost.final) == ("no", "no")
    assert "FlexCFL 50.0 (95.8)" in lost.figures
    assert "| no | no | MNIST-MCLR FlexCFL 50.0 (95.8)" in replication.page()
