"""Tables as CSV: the same rows and columns that were written, or a reason why not."""

import csv
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexcfl.data.describe import LabelSkew
from flexcfl.protocol import NO_GROUP, Clustering, spans
from flexcfl.record import csv_tables as tables
from flexcfl.record.checkpoints import UnfitError
from flexcfl.record.folder import Extent
from flexcfl.record.reading import rows_at_checkpoint, rows_so_far
from flexcfl.record.record import founders_of
from flexcfl.record.tables import TABLES, Missing, Shifted


def test_every_client_has_its_group_arrival_and_true_cluster() -> None:
    group_of, arrival = np.array([1, NO_GROUP, 0]), np.array([0, 7, 0])
    assert tables.clients_to_csv(group_of, arrival, np.array([2, 0, 2])) == (
        "client,group,arrival,structure,name\n0,1,0,2,\n1,,7,0,\n2,0,0,2,\n"
    )
    assert tables.clients_to_csv(group_of, arrival, None, ["a", "b,c", "<d>"]) == (
        'client,group,arrival,structure,name\n0,1,0,,a\n1,,7,,"b,c"\n2,0,0,,<d>\n'
    )


def test_every_client_has_its_labels() -> None:
    columns = ([0, 0, 7], [1, 2, 0], [5, 0, 10], [1, 3, 0])
    skew = LabelSkew(*map(np.array, columns))
    assert (
        tables.columns_to_csv(skew.columns)
        == "client,label,train,test\n0,1,5,1\n0,2,0,3\n7,0,10,0\n"
    )


def test_founders_points_can_be_read_back_exactly() -> None:
    points = np.random.default_rng(0).normal(size=(4, 3))
    clients, group_of = np.array([3, 5, 8, 9]), np.array([0, 1, 1, 0])
    clustering = Clustering(clients, group_of, 2, points, within=1.0, silhouette=0.5)
    header, *lines = csv.reader(tables.columns_to_csv(founders_of(clustering)).splitlines())
    assert header == ["client", "group", "x0", "x1", "x2"]
    assert [[int(line[0]), int(line[1])] for line in lines] == [[3, 0], [5, 1], [8, 1], [9, 0]]
    assert np.array_equal(np.array([line[2:] for line in lines], float), points)


# What a row may hold; numbers are finite, because a run ends if they are not.
DRAWN: dict[Any, st.SearchStrategy[Any]] = {
    int: st.integers(0, 2**62),
    float: st.floats(allow_nan=False, allow_infinity=False),
    str: st.sampled_from(["training", "cold-start", 'a "word", or two']),
}


def drawn(kind: Any) -> st.SearchStrategy[Any]:
    hints = get_type_hints(kind)
    parts = {item.name: hint_drawn(hints[item.name]) for item in fields(kind)}
    return st.builds(kind, **parts)


def hint_drawn(hint: Any) -> st.SearchStrategy[Any]:
    if hint in DRAWN:
        return DRAWN[hint]
    inner = next(each for each in hint.__args__ if each is not type(None))
    return st.none() | DRAWN[inner]


def written(kind: Any, made: list[Any]) -> bytes:
    names = [item.name for item in fields(kind)]
    return tables.to_csv([names, *([getattr(row, n) for n in names] for row in made)]).encode()


def laid(folder: Path, **content: bytes) -> dict[str, Extent]:
    """Write tables and return their extents, those of rounds without any being empty."""
    extents = {}
    for name, text in content.items():
        (folder / f"{name}.csv").write_bytes(text)
        extents[f"{name}.csv"] = Extent().plus(text)
    return extents


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


@pytest.mark.parametrize("name", [name for name in TABLES if name != "rounds.csv"])
def test_rows_read_back_as_they_were(name: str, folder: Path) -> None:
    kind = TABLES[name].row

    @given(st.lists(drawn(kind), min_size=1, max_size=5))
    def check(made: list[Any]) -> None:
        text = written(kind, made)
        (folder / name).write_bytes(text + b"more that nobody vouches for")
        found = rows_at_checkpoint(folder, {name: Extent().plus(text)}, 0)[name]
        assert found == made
        assert written(kind, found) == text

    check()


def test_a_list_of_very_many_clients_reads_back(tmp_path: Path) -> None:
    clients = spans(np.arange(0, 10**6, 20))
    assert len(clients) > csv.field_size_limit()
    for name, row in (
        ("shifts.csv", Shifted(1, clients)),
        ("missing.csv", Missing(1, "train", clients)),
    ):
        text = written(type(row), [row, row])
        (tmp_path / name).write_bytes(text)
        assert rows_at_checkpoint(tmp_path, {name: Extent().plus(text)}, 0)[name] == [row, row]


def rounds_of(*numbers: object) -> bytes:
    head = ",".join(item.name for item in fields(TABLES["rounds.csv"].row))
    cells = ",,,,,0,,," + ",".join(["0"] * 18)
    return "\n".join([head, *(f"{number}{cells}" for number in numbers), ""]).encode()


def test_rounds_must_be_all_up_to_the_checkpoint(tmp_path: Path) -> None:
    assert [row.round for row in found(tmp_path, rounds_of(1, 2, 3), 3)] == [1, 2, 3]
    for text, last in [((1, 2), 3), ((1, 2, 3), 2), ((1, 3), 2), ((2, 1), 2), ((), 1)]:
        with pytest.raises(UnfitError, match=f"does not have the rounds 1 to {last}"):
            found(tmp_path, rounds_of(*text), last)


def found(folder: Path, text: bytes, last: int) -> list[Any]:
    return rows_at_checkpoint(folder, laid(folder, rounds=text), last)["rounds.csv"]


def test_without_extents_there_are_no_rows_whatever_is_there(tmp_path: Path) -> None:
    laid(tmp_path, rounds=rounds_of(1, 2), groups=b"x")
    assert all(not each for each in rows_at_checkpoint(tmp_path, {}, 0).values())


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\n",
        b"round\n1\n",
        rounds_of("x"),
        rounds_of("1,"),
        rounds_of(1.5),
        rounds_of("9" * 5000),
        rounds_of(1).replace(b"tested", b"x"),
        rounds_of(1).replace(b",", b";"),
        rounds_of(1) + b"\xff",
        rounds_of(1) + b'"',
        rounds_of(1) + b"\0",
        rounds_of(1) + b"1," * 70_000,
        rounds_of(1) + b"\n",
        b'"' + b"x" * 200_000,
    ],
    ids=range(15),
)
def test_what_is_no_table_is_reported(text: bytes, tmp_path: Path) -> None:
    with pytest.raises(UnfitError, match=r"'rounds\.csv' (is not a table|does not have)"):
        found(tmp_path, text, 1)


def test_what_has_changed_or_is_gone_is_reported(tmp_path: Path) -> None:
    text = rounds_of(1, 2)
    extents = laid(tmp_path, rounds=text)
    for changed in (text[:-1], text.replace(b"2,", b"3,"), b""):
        (tmp_path / "rounds.csv").write_bytes(changed)
        with pytest.raises(UnfitError, match="has changed since the checkpoint was made"):
            rows_at_checkpoint(tmp_path, extents, 2)
    (tmp_path / "rounds.csv").unlink()
    with pytest.raises(UnfitError, match="cannot be read"):
        rows_at_checkpoint(tmp_path, extents, 2)


@pytest.mark.parametrize("length", [-5, -1, 2**60, 2**80])
def test_extents_beyond_all_measure_are_reported(length: int, tmp_path: Path) -> None:
    laid(tmp_path, rounds=rounds_of(1))
    with pytest.raises(UnfitError):
        rows_at_checkpoint(tmp_path, {"rounds.csv": Extent(length, 0)}, 1)


@given(st.lists(st.binary(max_size=20), max_size=5))
def test_an_extent_grows_by_parts_as_by_the_whole(parts: list[bytes]) -> None:
    extent = Extent()
    for part in parts:
        extent = extent.plus(part)
    assert extent == Extent().plus(b"".join(parts))


@given(number=st.integers(0, 5), data=st.data())
def test_a_table_that_grows_is_read_as_far_as_its_lines_are_whole(
    number: int, data: st.DataObject, folder: Path
) -> None:
    text = rounds_of(*range(1, number + 1))
    length = data.draw(st.integers(0, len(text)))
    (folder / "rounds.csv").write_bytes(text[:length])
    whole = max(text[:length].count(b"\n") - 1, 0)
    try:
        assert [row.round for row in rows_so_far(folder / "rounds.csv")] == list(
            range(1, whole + 1)
        )
    finally:
        (folder / "rounds.csv").unlink()


def test_a_run_without_tables_has_no_rows_so_far(tmp_path: Path) -> None:
    assert not any(rows_so_far(tmp_path / name) for name in TABLES)


def test_what_is_no_table_is_named(tmp_path: Path) -> None:
    for text in (b"round\n1\n", rounds_of("x"), rounds_of(1) + b"\xff\n", b'"\n'):
        (tmp_path / "rounds.csv").write_bytes(text)
        with pytest.raises(ValueError, match=r"^rounds\.csv$"):
            rows_so_far(tmp_path / "rounds.csv")
