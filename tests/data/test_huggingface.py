import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from flexcfl.data import from_arrays, from_partitions
from flexcfl.errors import DataError
from tests.data.own import CLASSES, SHAPE, Clients, clients, pool, same

datasets = pytest.importorskip("datasets", reason="flexcfl[datasets] is not installed.")
partitioners = pytest.importorskip(
    "flwr_datasets.partitioner", reason="flwr-datasets is not installed."
)
from PIL import Image  # noqa: E402  (which comes with what may be missing)

COLOURS = np.random.default_rng(0).integers(0, 256, (24, 4, 5, 3), dtype=np.uint8)
GREY = COLOURS[..., 0]
LABELS = [index % 3 for index in range(24)]
WHO = [f"writer {index % 4}" for index in range(24)]


@pytest.fixture(autouse=True, scope="module")
def quiet() -> None:
    datasets.disable_progress_bars()


def images(pixels: Any = GREY, classes: int = 3) -> Any:
    features = {
        "image": datasets.Image(),
        "label": datasets.ClassLabel(num_classes=classes),
        "writer": datasets.Value("string"),
    }
    rows = {"image": [Image.fromarray(each) for each in pixels], "label": LABELS, "writer": WHO}
    return datasets.Dataset.from_dict(rows, features=datasets.Features(features))


def arrays(pair: Any) -> Any:
    features = {
        "x": datasets.Array2D(SHAPE, "float32"),
        "y": datasets.ClassLabel(num_classes=CLASSES),
    }
    rows = {"x": [*pair[0]], "y": pair[1].tolist()}
    return datasets.Dataset.from_dict(rows, features=datasets.Features(features))


def divided(partitioner: Any, dataset: Any) -> Any:
    partitioner.dataset = dataset
    return partitioner


@settings(max_examples=20, deadline=None)
@given(clients())
def test_a_dataset_for_each_client_is_the_same_as_its_arrays(own: Clients) -> None:
    each = {name: arrays(pair) for name, pair in own.items()}
    assert same(from_partitions(each), from_arrays(*pool(own), classes=CLASSES))


def test_grey_images_and_the_class_label_are_found_by_themselves() -> None:
    read = from_partitions(divided(partitioners.IidPartitioner(3), images(classes=7)))
    assert (read.clients, read.classes, read.shape, read.names) == (3, 7, (1, 4, 5), ())
    np.testing.assert_allclose(read.x[:, 0], GREY / 255, rtol=1e-6)
    assert read.train.sizes.sum() + read.test.sizes.sum() == 24


def test_coloured_images_have_their_channels_first() -> None:
    read = from_partitions([images(COLOURS)])
    np.testing.assert_allclose(read.x, np.moveaxis(COLOURS, -1, 1) / 255, rtol=1e-6)


def test_natural_owners_give_their_names() -> None:
    read = from_partitions(divided(partitioners.NaturalIdPartitioner("writer"), images()))
    assert read.names == ("writer 0", "writer 1", "writer 2", "writer 3")
    assert read.y[:6].tolist() == LABELS[0::4]


def test_shares_drawn_from_a_dirichlet_distribution() -> None:
    drawn = partitioners.DirichletPartitioner(3, "label", 1.0, min_partition_size=1)
    read = from_partitions(divided(drawn, images()))
    sizes = [len(drawn.load_partition(client)) for client in range(3)]
    assert (read.train.sizes + read.test.sizes).tolist() == sizes


def test_partitions_to_test_with_are_given_in_the_same_way() -> None:
    train, test = (divided(partitioners.IidPartitioner(4), images()) for _ in range(2))
    read = from_partitions(train, test=test)
    assert read.train.sizes.tolist() == read.test.sizes.tolist() == [6] * 4


def test_a_federated_dataset_of_files_on_this_machine(tmp_path: Path) -> None:
    flwr_datasets = pytest.importorskip("flwr_datasets")
    rows = {"a": [*range(20)], "b": [1.5] * 20, "label": [index % 2 for index in range(20)]}
    datasets.Dataset.from_dict(rows).to_parquet(tmp_path / "train.parquet")
    several = {
        "dataset": "parquet",
        "data_files": {part: str(tmp_path / "train.parquet") for part in ("train", "test")},
        "cache_dir": str(tmp_path / "cache"),
        "shuffle": False,
    }
    one = flwr_datasets.FederatedDataset(partitioners={"train": 5}, **several)
    read = from_partitions(one, features=["a", "b"], label="label", name="table")
    assert (read.clients, read.shape, read.classes) == (5, (2,), 2)
    assert read.x[:4].tolist() == [[0, 1.5], [1, 1.5], [2, 1.5], [3, 1.5]]
    two = flwr_datasets.FederatedDataset(partitioners={"train": 5, "test": 2}, **several)
    with pytest.raises(DataError, match="with partitioners for train, test: give one of its"):
        from_partitions(two, features=["a", "b"], label="label")


def test_formats_and_transforms_of_the_datasets_own_are_kept() -> None:
    plain = images().with_format("torch")
    np.testing.assert_allclose(
        from_partitions([plain]).x.ravel(), GREY.ravel().astype(np.float32), rtol=1e-6
    )

    def halved(batch: Any) -> Any:
        pixels = [np.asarray(each, dtype=np.float32)[::2] for each in batch["image"]]
        return {"image": pixels, "label": [len(each) % 3 for each in batch["writer"]]}

    read = from_partitions([images().with_transform(halved)])
    assert read.shape == (2, 5)
    assert set(read.y) == {len("writer 0") % 3}


def test_neither_package_is_needed_to_import_flexcfl() -> None:
    code = (
        "import sys, flexcfl, flexcfl.data; "
        "sys.exit(any(name in sys.modules for name in ('datasets', 'flwr_datasets', 'PIL.Image')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
