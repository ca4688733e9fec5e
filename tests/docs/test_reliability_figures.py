"""The figures of docs/reliability.md follow from its result files, each rounded once."""

from pathlib import Path

import common
import dropout
import founders
import pytest
import reliability
from reliability_rows import SEEDS, TABLES, sets
from reliability_tables import against, cost, difference, markdown, mean

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "reliability.md").read_text("utf-8")
TEXT = " ".join(PAGE.split())
RUNS = common.read(reliability.FILE, reliability.Done)
ROWS = reliability.by_row(RUNS)
PARTS = common.read(dropout.FILE, dropout.Done)
BY_PART = dropout.by_row(PARTS)
DIRECTIONS = common.read(founders.FILE, founders.Done)

# Sentences of the page: what a row loses against its table's reference row.
CLAIMS = {
    "Drop-out costs {} of the final accuracy": ("failing", "30 % away in every round"),
    "Vanishing during training costs {} of the final": (
        *("failing", "30 % vanish over their training, in every round"),
    ),
    "Stragglers cost {}: their training times": ("failing", "stragglers"),
    "for whatever reason, this costs {} of the final": ("failing", "10 % send NaN"),
    "they do not lengthen it, they cost {} of the final": ("hostile", "the same, not lengthened"),
    "the guard on founders loses {} of the final": ("hostile", "sign flip, multi-krum"),
    "shortening alone {}: the length": (
        *("hostile", "sign flip, mean of updates shortened to twice the median"),
    ),
    "Both together change it by {change}.": (
        *("hostile", "sign flip, multi-krum of updates so shortened"),
    ),
    "noise 0.1 changes the final accuracy by {change} and protects hardly at all": (
        *("private, few", "noise for each group, noise 0.1"),
    ),
    "noise 1 costs {}.": ("private, few", "noise for each group, noise 1"),
}
PARTS_OF_THE_LOSS = {
    "being away from migration alone costs {}.": ("away from migration alone", "final"),
    "All others lose {}.": ("away from everything", "current"),
    "Fewer answers for each group cost {},": ("away from training alone", "final"),
    "later placement {}: no": ("away from founding and placement alone", "final"),
    "drop-out would cost {}.": ("away, but migrating", "final"),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_and_its_command_are_what_its_runs_give(name: str) -> None:
    assert "\n".join(markdown(name, ROWS)) in PAGE


@pytest.mark.parametrize("name", TABLES)
def test_every_row_has_the_seeds_and_settings_that_its_table_asks_for(name: str) -> None:
    table = TABLES[name]
    for row, settings in table.rows.items():
        runs = ROWS[name, row]
        assert list(runs) == list(range(table.seeds)), row
        assert {run.settings for run in runs.values()} == {sets(settings)}, row


def test_the_files_have_no_other_runs() -> None:
    assert len(RUNS) == sum(len(table.rows) * table.seeds for table in TABLES.values())
    seeds = range(dropout.SEEDS)
    assert [(run.row, run.seed) for run in PARTS] == [
        (row, k) for row in dropout.ROWS for k in seeds
    ]


@pytest.mark.parametrize("sentence", CLAIMS)
def test_a_sentence_says_what_its_runs_give(sentence: str) -> None:
    table, row = CLAIMS[sentence]
    lost = against(ROWS[table, row], ROWS[TABLES[table].against], "final")
    assert sentence.format(cost(lost), change=difference(lost)) in TEXT


def test_the_best_round_loses_what_its_runs_give() -> None:
    lost = against(ROWS["failing", "30 % away in every round"], ROWS["failing", "none"], "best")
    assert f"of the final accuracy and {cost(lost)} of the best" in TEXT


@pytest.mark.parametrize("sentence", PARTS_OF_THE_LOSS)
def test_a_part_of_the_loss_is_what_its_runs_give(sentence: str) -> None:
    row, score = PARTS_OF_THE_LOSS[sentence]
    lost = against(BY_PART[row], BY_PART[dropout.NOBODY], score)
    assert sentence.format(cost(lost)) in TEXT


def test_clients_in_a_group_that_no_longer_fits_are_all_away() -> None:
    assert "\n".join(dropout.markdown(PARTS)) in PAGE
    assert f"seeds 0 to {dropout.SEEDS - 1};" in TEXT
    runs = BY_PART["away from everything"].values()
    tests, right = mean(run.outdated for run in runs), mean(run.right or 0 for run in runs)
    assert f"{tests} % of the tests are in a group that no longer fits, with {right} %" in TEXT
    assert not any(run.outdated_there for run in runs)


def test_what_the_guard_on_founders_can_tell_apart_is_what_was_measured() -> None:
    page = (DOCS / "robustness.md").read_text("utf-8")
    assert "\n".join(founders.markdown(DIRECTIONS)) in page
    most = max(100 * run.honest_lost for run in DIRECTIONS)
    assert f"at most {most:.0f} % of the honest founders" in page
    asked = [(attack, seed) for attack in founders.ATTACKS for seed in range(SEEDS)]
    assert [(run.attack, run.seed) for run in DIRECTIONS] == asked
