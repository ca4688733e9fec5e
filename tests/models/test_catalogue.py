import pytest
import torch
from torch import nn

from flexcfl.errors import ModelError
from flexcfl.models import build, check, copies
from flexcfl.models.dropout import undropped

IMAGE = (1, 28, 28)

PAPER = [
    ("mnist", "mclr", IMAGE, 7_850),
    ("mnist", "mlp", IMAGE, 101_770),
    ("mnist", "cnn", IMAGE, 50_186),
    ("femnist", "mclr", IMAGE, 7_850),
    ("femnist", "mlp", IMAGE, 407_050),
    ("femnist", "cnn", IMAGE, 325_578),
    ("synthetic", "mclr", (60,), 610),
    ("fashion-mnist", "cnn", IMAGE, 3_274_634),
]
OURS = [
    ("digits", "mclr", (1, 8, 8), 650),
    ("digits", "mlp", (1, 8, 8), 4_810),
    ("digits", "cnn", (1, 8, 8), 6_090),
    ("synthetic", "mlp", (60,), 9_098),
    ("fashion-mnist", "mclr", IMAGE, 7_850),
    ("fashion-mnist", "mlp", IMAGE, 101_770),
    ("leaf", "cnn", IMAGE, 50_186),
]


def parameters(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize(("dataset", "name", "shape", "count"), PAPER + OURS)
def test_parameter_counts(dataset: str, name: str, shape: tuple[int, ...], count: int) -> None:
    assert parameters(build(dataset, name, shape, 10)) == count


@pytest.mark.parametrize(("dataset", "name", "shape", "count"), PAPER + OURS)
def test_every_network_can_be_trained_as_many_copies(
    dataset: str, name: str, shape: tuple[int, ...], count: int
) -> None:
    module = build(dataset, name, shape, 10)
    check(module, shape, 10)
    # Vetting does not try what is known to work; here it is held to that.
    assert copies.known_to_work(module)
    with undropped():
        copies.check(module, torch.rand(3, *shape), 10)


@pytest.mark.parametrize("name", ["mclr", "mlp", "cnn"])
def test_any_number_of_classes(name: str) -> None:
    assert build("leaf", name, IMAGE, 62)(torch.zeros(2, *IMAGE)).shape == (2, 62)


def test_dense_networks_take_their_width_from_the_data() -> None:
    assert parameters(build("leaf", "mclr", (3, 5, 7), 4)) == 3 * 5 * 7 * 4 + 4


def test_a_cnn_for_what_is_no_image_is_refused() -> None:
    with pytest.raises(ModelError, match=r"'synthetic' is no image .* \(60,\): choose mclr or mlp"):
        build("synthetic", "cnn", (60,), 10)


@pytest.mark.parametrize(
    ("dataset", "shape"), [("leaf", (3, 32, 32)), ("digits", IMAGE), ("mnist", (1, 8, 8))]
)
def test_a_cnn_for_images_of_another_size_is_refused(dataset: str, shape: tuple[int, ...]) -> None:
    with pytest.raises(ModelError, match=rf"cnn of '{dataset}' takes .* not \({shape[0]}, "):
        build(dataset, "cnn", shape, 10)


def test_an_unknown_name_is_told_with_the_nearest() -> None:
    with pytest.raises(ModelError, match=r"no model 'mcrl': did you mean 'mclr'\? Known: cnn, "):
        build("mnist", "mcrl", IMAGE, 10)


def test_a_dotted_name_without_colon_is_told_how_to_name_an_own_network() -> None:
    with pytest.raises(ModelError, match=r"'networks\.small': .* package\.module:factory"):
        build("mnist", "networks.small", IMAGE, 10)


def test_only_plain_layers_of_torch_are_known_to_work() -> None:
    class Own(nn.Linear):
        pass

    hooked = nn.Sequential(nn.Linear(2, 2))
    hooked[0].register_forward_hook(lambda *_: None)
    for strange in (nn.Sequential(Own(2, 2)), nn.Sequential(nn.GRU(2, 2)), hooked):
        assert not copies.known_to_work(strange)
