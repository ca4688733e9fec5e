"""The detector that the documentation shows is one."""

import re
from pathlib import Path
from typing import Any

import numpy as np

from flexcfl.shifts.detection import DETECTORS, Samples, Watch

PAGE = (Path(__file__).parents[3] / "docs" / "drift.md").read_text("utf-8")


def test_a_detector_in_ten_lines_works() -> None:
    block = re.findall(r"```python\n(.*?)```", PAGE, re.S)[0]
    names: dict[str, Any] = {}
    exec(block, names)
    assert len([line for line in block.splitlines() if line.strip()]) <= 10
    counts = np.array([[5, 5, 0], [5, 5, 0]])
    everybody = np.arange(2)

    def samples_of(clients: Any) -> Samples:
        return Samples(counts[clients], counts[clients].sum(axis=1), lambda client: names["none"])

    watch = Watch(names["LabelGone"](), clients=2)
    watch.settle(everybody, samples_of(everybody))
    counts[1] = [0, 5, 5]
    watch.stir(everybody)
    assert watch.check(everybody, samples_of).tolist() == [False, True]


def test_the_page_has_every_detector_with_its_options_and_figures() -> None:
    for name, entry in DETECTORS.items():
        line = next(line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |"))
        detector: Any = entry.detector
        for option, item in detector.__dataclass_fields__.items():
            assert f"`{option}` ({item.default:g})" in line
        assert f"### `{name}`" in PAGE
        assert re.search(rf"^\| swap-all \| {name} \| [\d,]+ \|", PAGE, re.M)
