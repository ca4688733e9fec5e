"""What a real notebook kernel shows of runs, and which charts the documentation names."""

import re
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[3] / "docs" / "report.md"
CELLS = ("import flexcfl\nrun = flexcfl.run(rounds=6)\nrun", 'run.plot("moves")')


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the kernel's own libraries
def test_a_notebook_shows_a_run_as_a_table_and_a_chart_as_plotly_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))  # there may be no home for it
    nbformat: Any = pytest.importorskip("nbformat")
    client: Any = pytest.importorskip("nbclient")
    cells = [nbformat.v4.new_code_cell(cell) for cell in CELLS]
    notebook = nbformat.v4.new_notebook(cells=cells)
    resources = {"metadata": {"path": str(tmp_path)}}
    client.NotebookClient(notebook, timeout=300, resources=resources).execute()
    run, chart = (cell.outputs[-1]["data"] for cell in notebook.cells)
    assert "<table>" in run["text/html"]
    assert "<svg" in run["text/html"]
    assert run["text/plain"].startswith("Run(flexcfl, digits")
    drawn = chart["application/vnd.plotly.v1+json"]
    assert drawn["layout"]["title"]["text"] == "Group of each client by round"


def test_the_documentation_names_every_chart() -> None:
    from flexcfl.report.charts import OF_METHODS, OF_RUN

    listed = re.search(r"The charts of a run are (.*?)\.\n", DOCS.read_text("utf-8"))
    assert listed is not None
    assert re.findall(r"`([\w-]+)`", listed[1]) == [*OF_METHODS, *OF_RUN]
