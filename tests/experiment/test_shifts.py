"""Runs with changing data: the tables, the world that all methods share, what is reported."""

import csv
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexcfl
from flexcfl.algorithms import ALGORITHMS
from flexcfl.data import Federation
from flexcfl.errors import SettingsError
from flexcfl.experiment import arrivals, toml
from flexcfl.experiment.choices import names
from flexcfl.experiment.layers import SettingsLayer, options_layer
from flexcfl.experiment.resolve import resolve
from flexcfl.protocol import numbers
from flexcfl.protocol.cohorts import Cohorts
from flexcfl.report.terminal.setting_rows import resolved_rows
from flexcfl.runner.prepare import prepare
from flexcfl.runner.result import Run
from flexcfl.shifts import SHIFTS, Holdings, Incremental, Moment, SwapAll, SwapPart, Timeline
from flexcfl.shifts.detection import DETECTORS, Samples

SHORT: dict[str, Any] = {"rounds": 6, "cohort": 10, "epochs": 1}
OFTEN = {"shift.probability": 0.5}


def resolved(**options: Any) -> Any:
    given = options.pop("set", {})
    return resolve([options_layer(options, given)]).experiment


def test_shifts_are_named_by_one_word_or_several_and_act_in_their_order() -> None:
    assert resolved(shift="swap-part").shift == {"swap-part": SwapPart()}
    both = resolved(shift=["incremental", "swap-all"]).shift
    assert list(both.items()) == [("incremental", Incremental()), ("swap-all", SwapAll())]
    assert resolved(shift="incremental, swap-all").shift == both
    assert resolved(shift="none").shift == {} == resolved(shift=[]).shift
    assert resolved(shift=["none"]).shift == {}


@pytest.mark.parametrize("written", ['shift = ["swap-part", "incremental"]\n',
                                     '[shift]\nname = ["swap-part", "incremental"]\n'])  # fmt: skip
def test_a_file_may_name_them_in_one_line(written: str, tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text(written)
    experiment = resolve([SettingsLayer("file", toml.read(tmp_path / "my.toml"))]).experiment
    assert list(experiment.shift) == ["swap-part", "incremental"]


def test_an_option_is_for_all_shifts_that_have_it() -> None:
    shift = resolved(
        shift=["swap-all", "swap-part", "incremental"], set={"shift.probability": 0.2}
    ).shift
    assert shift["swap-all"].probability == shift["swap-part"].probability == 0.2
    assert shift["incremental"] == Incremental()


@pytest.mark.parametrize("detector", sorted(DETECTORS))
@pytest.mark.parametrize("shift", sorted(SHIFTS))
def test_what_is_written_reads_back_as_the_same(shift: str, detector: str, tmp_path: Path) -> None:
    experiment = resolved(dataset="mnist", shift=shift, drift=detector)
    file = tmp_path / "experiment.toml"
    file.write_text(toml.written(experiment, []))
    assert resolve([SettingsLayer("file", toml.read(file))]).experiment == experiment
    written = toml.read(file)
    assert set(written["shift"]) == {"name", *(f.name for f in fields(SHIFTS[shift].shift))}  # type: ignore[arg-type]


def test_an_algorithm_without_migration_shows_and_takes_no_detector() -> None:
    for name, entry in ALGORITHMS.items():
        told = "drift" in resolved_rows(resolve([options_layer({"algorithm": name}, {})]), None)
        assert told == entry.migrates
        if not entry.migrates:
            with pytest.raises(SettingsError, match=f"'{name}' asks no client whether"):
                resolved(algorithm=name, drift="mmd")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"shift": "swap"}, "There is no shift 'swap': did you mean 'swap-all'?"),
        ({"shift": ["swap-all", "swap-all"]}, "The shift 'swap-all' is named twice"),
        ({"shift": ["none", "swap-all"]}, "'none' stands alone"),
        ({"shift": 3}, "[shift] name must be a text or a list of them"),
        ({"drift": "label"}, "There is no detector 'label': did you mean 'label-share'?"),
        ({"set": {"drift.name": 3}}, "[drift] name must be a text, not 3."),
        (
            {"set": {"shift.probability": 1.5}},
            "[shift] probability must be less than or equal to 1, not 1.5.",
        ),
        ({"set": {"shift.probability": -0.1}}, "[shift] probability must be greater than or equal"),
        ({"set": {"shift.probability": "often"}}, "[shift] probability must be a number"),
        ({"set": {"shift.probabilty": 0.1}}, "no setting 'probabilty' with swap-all: did you mean"),
        ({"shift": "none", "set": {"shift.period": 3}}, "[shift] period is set, but no shift is"),
        ({"set": {"shift.period": 3}}, "[shift] has no setting 'period' with swap-all"),
        ({"shift": "recurring", "set": {"shift.period": 0}}, "[shift] period must be greater"),
        ({"set": {"drift.level": 2}}, "[drift] level must be less than 1, not 2."),
        ({"set": {"probability": 0.1}}, "such as shift.probability"),
    ],
)
def test_a_mistake_is_one_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SettingsError) as error:
        resolved(**options)
    assert sentence in str(error.value)
    assert str(error.value).endswith((".", "?"))


@pytest.mark.parametrize(
    "schedule",
    [
        [{"round": 0, "share": 0.5}, {"round": 20, "share": 0.25}],
        [{"round": 0, "share": 0.25}, {"round": 20, "share": 0.5}, {"round": 10, "share": 1.0}],
        [{"round": 5, "share": 0.25}],
        [{"round": 0, "share": 0.0}],
        [],
    ],
)
def test_a_schedule_out_of_order_is_one_sentence(schedule: list[dict[str, Any]]) -> None:
    with pytest.raises(SettingsError, match=r"^\[shift\] schedule.*\.$"):
        resolved(shift="incremental", set={"shift.schedule": schedule})


def test_data_that_a_shift_cannot_work_on_are_reported(blobs: Federation) -> None:
    with pytest.raises(SettingsError, match=r"^[^.]*images[^.]*\.$"):
        flexcfl.run(dataset=blobs, shift="rotation", rounds=1)
    one = Federation("one", blobs.x, blobs.y, [np.arange(9)], [np.arange(9)], 3)  # type: ignore[arg-type]
    alone: dict[str, Any] = {"dataset": one, "algorithm": "fedavg", "rounds": 1}
    for shift in ("swap-all", "swap-part", "gradual", "recurring"):
        with pytest.raises(SettingsError, match=r"^[^.]*two clients[^.]*\.$"):
            flexcfl.run(shift=shift, **alone)
    assert flexcfl.run(shift="incremental", **alone).summary["rounds"] == 1


@pytest.mark.parametrize("value", [None, 3, {"a": 1}, [1], ("swap-all", None)])
def test_names_are_words(value: object) -> None:
    with pytest.raises(SettingsError, match="must be a text"):
        names(value)


def check_shifts(run: Run) -> None:
    """Demand a line for each round in which data changed, with as many clients as are counted."""
    lists = [numbers(text) for text in run.shifts["clients"]]
    counted = dict(zip(run.rounds["round"].tolist(), run.rounds["shifted"].tolist(), strict=True))
    told = zip(run.shifts["round"].tolist(), map(len, lists), strict=True)
    assert list(told) == [(number, count) for number, count in counted.items() if count]
    assert all(each[-1] < len(run.group_of) for each in lists)


@pytest.mark.parametrize("shift", sorted(SHIFTS))
def test_who_is_shifted_is_in_the_object_and_in_the_folder(shift: str, tmp_path: Path) -> None:
    early = [{"round": number, "share": share} for number, share in ((0, 0.2), (2, 0.5), (4, 1.0))]
    settings = {"shift.schedule": early} if shift == "incremental" else OFTEN
    run = flexcfl.run(shift=shift, set=settings, out=tmp_path / "run", **SHORT)
    check_shifts(run)
    assert len(run.shifts["round"]) >= 2
    pairs = zip(run.shifts["round"].tolist(), run.shifts["clients"].tolist(), strict=True)
    lines = [f"{number},{clients}" for number, clients in pairs]
    assert (tmp_path / "run" / "shifts.csv").read_text().splitlines() == ["round,clients", *lines]


def test_where_nothing_shifts_there_is_no_list(tmp_path: Path) -> None:
    run = flexcfl.run(shift="none", out=tmp_path / "run", **SHORT)
    assert {name: len(column) for name, column in run.shifts.items()} == {"round": 0, "clients": 0}
    assert not (tmp_path / "run" / "shifts.csv").exists()


@pytest.mark.slow
@pytest.mark.parametrize("shift", [*sorted(SHIFTS), ["swap-part", "incremental", "rotation"]])
def test_every_method_meets_the_same_world(shift: str | list[str]) -> None:
    often = {"shift.probability": 0.5} if shift != "incremental" else {}
    worlds, changed = [], []
    for algorithm in ("fedavg", "flexcfl", "ifca-mig"):
        run = flexcfl.run(algorithm=algorithm, shift=shift, set=often, **SHORT)
        worlds.append(run.rounds["shifted"].tolist())
        changed.append(run.shifts["clients"].tolist())
        check_shifts(run)
        assert run.summary["shifted"] == sum(worlds[-1])
        expected = shift if isinstance(shift, str) else "+".join(shift)
        assert run.summary["shift"] == expected
    assert worlds[0] == worlds[1] == worlds[2]
    assert changed[0] == changed[1] == changed[2]
    assert shift == "incremental" or sum(worlds[0]) > 10


def test_a_run_that_moves_can_be_repeated_from_its_file(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    shift = ["swap-part", "label-permutation", "rotation"]
    flexcfl.run(shift=shift, drift="mmd", set=OFTEN, out=one, **SHORT)
    flexcfl.run(one / "experiment.toml", out=other)
    for name in ("rounds.csv", "ledger.csv", "membership.csv", "clients.csv", "shifts.csv"):
        assert (one / name).read_bytes() == (other / name).read_bytes()


@pytest.mark.slow
def test_migration_is_worth_something() -> None:
    moving: dict[str, Any] = {"rounds": 60, "set": {"shift.probability": 0.1}}
    flex, group = (flexcfl.run(algorithm=name, **moving) for name in ("flexcfl", "fedgroup"))
    assert flex.summary["migrations"] > 200
    assert group.summary["migrations"] == group.summary["detected"] == 0
    shifted: Any = flex.summary["shifted"]
    assert shifted == group.summary["shifted"]
    assert shifted > 400
    finals: list[Any] = [run.accuracy.final for run in (flex, group)]
    assert finals[0] > finals[1] + 0.05


def test_without_shifts_flexcfl_is_fedgroup() -> None:
    still: dict[str, Any] = {"rounds": 10, "shift": "none"}
    one, other = (flexcfl.run(algorithm=name, **still) for name in ("flexcfl", "fedgroup"))
    assert np.array_equal(one.models, other.models)
    assert one.rounds["accuracy"].tolist()[5:] == other.rounds["accuracy"].tolist()[5:]


@dataclass(frozen=True)
class Jumpy:
    """Says that every change of anything is drift."""

    def profiles(self, samples: Samples) -> np.ndarray:
        means = [samples.examples(place)[0].mean() for place in range(len(samples.counts))]
        return np.array(means, dtype=np.float64)[:, np.newaxis]

    def drifted(self, kept: np.ndarray, now: np.ndarray) -> np.ndarray:
        return np.asarray((kept != now).any(axis=1))


def test_a_custom_detector(tmp_path: Path) -> None:
    run = flexcfl.run(drift=Jumpy(), set=OFTEN, out=tmp_path / "run", **SHORT)
    assert run.experiment.drift.name.endswith(":Jumpy")
    settled: Any = run.summary["shifted"]
    assert 0.7 * settled < run.summary["detected"] <= settled
    text = (tmp_path / "run" / "experiment.toml").read_text()
    assert "To run it again: flexcfl run" in text
    again = flexcfl.run(tmp_path / "run" / "experiment.toml")
    assert again.summary["detected"] == run.summary["detected"]


def test_a_detector_that_only_python_has(tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Local(Jumpy):
        pass

    flexcfl.run(drift=Local(), out=tmp_path / "run", **SHORT)
    with pytest.raises(SettingsError, match=r"There is no '.*Local' in '.*': correct the detector"):
        flexcfl.run(tmp_path / "run" / "experiment.toml")


def test_costs_and_memberships_are_in_the_object_and_in_the_folder(tmp_path: Path) -> None:
    run = flexcfl.run(set=OFTEN, out=tmp_path / "run", **SHORT)
    for name, columns in (("ledger", run.ledger), ("membership", run.membership)):
        with (tmp_path / "run" / f"{name}.csv").open() as file:
            lines = list(csv.DictReader(file))
        assert lines
        for column, values in columns.items():
            written = [line[column] for line in lines]
            assert written == [str(value) for value in values.tolist()]
    summed = {name: int(run.ledger[name].sum()) for name in ("transfers", "down_bytes")}
    evaluation = run.ledger["purpose"] == "evaluation"
    assert summed["transfers"] == run.summary["traffic"]["transfers"]
    sent = summed["down_bytes"] - int(run.ledger["down_bytes"][evaluation].sum())
    assert sent == run.summary["traffic"]["down_bytes"]
    last = dict(
        zip(run.membership["client"].tolist(), run.membership["group"].tolist(), strict=True)
    )
    assert last == {c: g for c, g in enumerate(run.group_of.tolist()) if g >= 0}


@dataclass(frozen=True)
class Carousel:
    """All data go to the next client in every second round."""

    period: int = 2
    variants = False

    def check(self, federation: Federation) -> None: ...

    def apply(self, holdings: Holdings, moment: Moment) -> Holdings:
        if moment.number == 0 or moment.number % self.period:
            return holdings
        return holdings.owned((holdings.owner + 1) % moment.clients)


def test_a_custom_shift(tmp_path: Path) -> None:
    run = flexcfl.run(shift={"carousel": Carousel()}, out=tmp_path / "run", **SHORT)
    assert run.rounds["shifted"].tolist() == [0, 100, 0, 100, 0, 100]
    assert run.shifts["clients"].tolist() == ["0-99"] * 3
    assert run.summary["shift"] == "carousel"
    text = (tmp_path / "run" / "experiment.toml").read_text()
    assert "from Python, which alone has its shifts" in text
    with pytest.raises(SettingsError, match="There is no shift 'carousel'"):
        flexcfl.run(tmp_path / "run" / "experiment.toml")


def test_the_world_of_a_run_is_that_of_its_seed_its_cohorts_and_its_arrivals() -> None:
    later = {"data.arrivals": [{"round": 4, "share": 0.3}]}
    given: dict[str, Any] = {"rounds": 9, "cohort": 7, "epochs": 1, "algorithm": "fedavg"}
    shifted = {}
    for seed in (3, 4):
        run = flexcfl.run(seed=seed, set={**OFTEN, **later}, **given)
        shifted[seed] = run.rounds["shifted"].tolist()
        prepared = prepare(run.experiment)
        arrival = arrivals.drawn(run.experiment.data.arrivals, 100, seed)
        eligible = Cohorts(seed, arrival, 7).visited
        swaps = {"swap-all": SwapAll(0.5)}
        visited = [eligible(number) for number in range(10)]
        timeline = Timeline(prepared.federation, swaps, seed, visited.__getitem__)
        assert shifted[seed] == [len(timeline.at(number).shifted) for number in range(1, 10)]
    assert shifted[3] != shifted[4]


def test_an_empty_list_of_custom_shifts_is_no_shift(tmp_path: Path) -> None:
    run = flexcfl.run(shift={}, out=tmp_path / "run", **SHORT)
    assert run.summary["shifted"] == 0
    assert "To run it again" in (tmp_path / "run" / "experiment.toml").read_text()


def test_memory_counts_what_a_detector_keeps() -> None:
    sizes = {
        name: prepare(resolved(drift=name, dataset="digits")).memory for name in sorted(DETECTORS)
    }
    plain = sizes["label-share"]
    assert sizes["wasserstein"] == plain
    assert sizes["wasserstein-counts"] == plain + 100 * 8
    assert sizes["mmd"] == plain + 100 * 8 * (10 * 257 + 1)
