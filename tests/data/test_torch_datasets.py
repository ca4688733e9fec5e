from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from torch.utils.data import ConcatDataset, Dataset, Subset, TensorDataset

from flexcfl.data import from_arrays, from_dataset
from flexcfl.errors import DataError
from tests.data.own import CLASSES, Clients, Pair, clients, pool, same


class Transformed(Dataset[tuple[Any, Any]]):
    """A typical custom dataset."""

    def __init__(self, pairs: Dataset[Any], transform: Callable[[Any], Any]) -> None:
        self.pairs, self.transform = pairs, transform

    def __len__(self) -> int:
        return len(self.pairs)  # type: ignore[arg-type]

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        example, label = self.pairs[index]
        return self.transform(example), int(label)


def tensors(pair: Pair) -> TensorDataset:
    return TensorDataset(*map(torch.from_numpy, pair))


@given(clients(), st.integers(0, 99))
def test_a_dataset_for_each_client_is_the_same_as_its_arrays(own: Clients, seed: int) -> None:
    each = {name: tensors(pair) for name, pair in own.items()}
    assert same(from_dataset(each, seed=seed), from_arrays(*pool(own), seed=seed))


@given(clients(), st.integers(0, 99))
def test_so_is_one_dataset_with_owners_however_it_is_put_together(own: Clients, seed: int) -> None:
    x, y, owner = pool(own)
    wanted = from_arrays(x, y, owner, seed=seed)
    one = tensors((x, y))
    several: Dataset[Any] = ConcatDataset([tensors(pair) for pair in own.values()])
    for dataset in (
        one,
        several,
        Subset(one, range(len(y))),
        [(x[i], y[i]) for i in range(len(y))],
    ):
        assert same(from_dataset(dataset, owner, seed=seed), wanted)


@given(clients(), clients())
def test_test_sets_are_given_in_the_same_way(own: Clients, more: Clients) -> None:
    known = {name: pair for name, pair in more.items() if name in own}
    read = from_dataset(
        {name: tensors(pair) for name, pair in own.items()},
        test={name: tensors(pair) for name, pair in known.items()} or {next(iter(own)): []},
        classes=CLASSES,
    )
    for number, name in enumerate(own):
        np.testing.assert_array_equal(read.x[read.train[number]], own[name][0])
        tested = known[name][1].tolist() if name in known else []
        assert read.y[read.test[number]].tolist() == tested


def test_clients_of_a_list_have_numbers() -> None:
    pairs = [tensors((np.full((5, 2), n), np.arange(5) % 2)) for n in range(3)]
    read = from_dataset(pairs, test=pairs[::-1])
    assert read.names == ()
    assert [read.x[own].max() for own in read.train] == [0, 1, 2]
    assert [read.x[own].max() for own in read.test] == [2, 1, 0]


def test_a_subset_for_each_client_of_one_dataset() -> None:
    whole = tensors((np.arange(12.0).reshape(12, 1), np.arange(12) % 3))
    read = from_dataset(
        {"odd": Subset(whole, range(1, 12, 2)), "even": Subset(whole, range(0, 12, 2))}
    )
    assert read.names == ("odd", "even")
    assert sorted(read.x[:6].ravel()) == [1, 3, 5, 7, 9, 11]


def test_transforms_are_applied_and_flags_choose_what_is_to_test_with() -> None:
    whole = tensors((np.ones((6, 4)), np.arange(6) % 2))
    dataset = Transformed(whole, lambda example: example.reshape(2, 2).double() * 3)
    read = from_dataset(dataset, np.arange(6) // 3, test=[False, False, True] * 2)
    assert read.shape == (2, 2)
    assert set(read.x.ravel()) == {3.0}
    assert [own.tolist() for own in read.test] == [[2], [5]]


@pytest.mark.parametrize(
    ("pixels", "mode", "wanted"),
    [
        (np.full((2, 3), 51, np.uint8), "L", np.full((1, 2, 3), 0.2)),
        (np.full((2, 3, 3), 255, np.uint8), "RGB", np.ones((3, 2, 3))),
        (np.arange(24, dtype=np.uint8).reshape(2, 3, 4), "RGBA", None),
        (np.full((2, 3), 65535, np.uint16), "I;16", np.ones((1, 2, 3))),
    ],
)
def test_images_become_numbers_from_0_to_1_with_channels_first(
    pixels: Any, mode: str, wanted: Any
) -> None:
    image = Image.fromarray(pixels)
    assert image.mode == mode
    read = from_dataset({"ann": [(image, 0), (image, 1)]})
    if wanted is None:
        wanted = np.moveaxis(pixels, -1, 0) / 255
    np.testing.assert_allclose(read.x[0], wanted, rtol=1e-6)


def test_images_of_two_colours_and_of_palettes_are_read_as_well() -> None:
    image = Image.fromarray(np.full((2, 3, 3), 255, np.uint8))
    assert from_dataset({"ann": [(image.convert("1"), 0)]}).x.tolist() == [[[[1.0] * 3] * 2]]
    assert from_dataset({"ann": [(image.convert("P"), 0)]}).shape == (3, 2, 3)


def test_the_cause_is_kept_for_who_wrote_the_dataset() -> None:
    def broken(example: Any) -> Any:
        raise KeyError("gone")

    dataset = Transformed(tensors((np.ones((2, 1)), np.zeros(2, int))), broken)
    with pytest.raises(
        DataError, match=r"'ann' .* example 0, which cannot be read \(KeyError"
    ) as e:
        from_dataset({"ann": dataset})
    assert isinstance(e.value.__cause__, KeyError)
