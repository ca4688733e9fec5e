"""Names that come from data or settings never lead out of the folder that they are used in."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexcfl.comparison import folder
from flexcfl.comparison.plan import plan_runs
from flexcfl.errors import FlexcflError
from flexcfl.experiment.layers import SettingsLayer
from flexcfl.experiment.resolve import resolve
from flexcfl.record import lifecycle, run_folders
from fuzz.strategies import STRANGE_NAMES

EXPERIMENT = resolve([]).experiment
NAMES = st.text() | st.sampled_from(STRANGE_NAMES) | st.text("./\\-~: \0\n", max_size=200)


def has_one_name(path: Path, root: Path) -> bool:
    return path.parent == root and path.name not in ("", ".", "..") and path.name.isprintable()


@given(st.lists(NAMES, min_size=1, max_size=4))
def test_a_name_is_one_name_within_its_folder(parts: list[str]) -> None:
    name = run_folders.safe_name(parts)
    assert len(name) <= 100
    assert name.isascii()
    assert has_one_name(Path("root") / name, Path("root"))


def test_a_name_is_never_empty() -> None:
    assert run_folders.safe_name(["." * 100, "mclr"])


@settings(max_examples=40)
@given(NAMES, NAMES)
def test_folders_of_runs_and_comparisons_stay_below_theirs(
    tmp_path_factory: pytest.TempPathFactory, data: str, model: str
) -> None:
    experiment = replace(
        EXPERIMENT,
        data=replace(EXPERIMENT.data, name=data),
        model=replace(EXPERIMENT.model, name=model),
    )
    base = tmp_path_factory.getbasetemp() / "names"
    base.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(base)
        runs, comparisons = (
            lifecycle.claim_folder(None, experiment),
            folder.locked_folder(None, experiment),
        )
        with runs as run, comparisons as compared:
            assert has_one_name(run, lifecycle.ROOT)
            assert has_one_name(compared, folder.ROOT)
            made = {each.relative_to(base).parts[0] for each in base.rglob("*")}
        assert made == {"runs", "comparisons"}


@pytest.mark.parametrize("name", STRANGE_NAMES)
def test_a_strange_algorithm_is_none(name: str) -> None:
    with pytest.raises(FlexcflError, match="algorithm"):
        plan_runs([name], 1, SettingsLayer("given", {}))
