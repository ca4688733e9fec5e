"""The networks layer by layer, and their first weights."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch import nn

from flexcfl.models import build, initialised, networks
from flexcfl.seeds import generator


def spatial_sizes(network: nn.Sequential, size: int) -> list[int]:
    """Return the width of the image after every convolution and pooling."""
    values = torch.zeros(1, 1, size, size)
    sizes = []
    for layer in network:
        values = layer(values)
        if isinstance(layer, nn.Conv2d | nn.MaxPool2d):
            sizes.append(values.shape[-1])
    return sizes


def tensorflow_same(
    image: NDArray[np.float64], kernel: NDArray[np.float64], stride: int
) -> NDArray[np.float64]:
    """TensorFlow's documented "SAME" convolution of one channel, cell by cell."""
    size, width = len(image), len(kernel)
    outputs = (size + stride - 1) // stride
    top = max(width - (size % stride or stride), 0) // 2
    result = np.zeros((outputs, outputs))
    for row, column in np.ndindex(outputs, outputs):
        for i, j in np.ndindex(width, width):
            y, x = row * stride + i - top, column * stride + j - top
            if 0 <= y < size and 0 <= x < size:
                result[row, column] += image[y, x] * kernel[i, j]
    return result


@pytest.mark.parametrize(
    ("network", "size", "expected"),
    [
        (networks.mnist_cnn, 28, [28, 14, 14, 7]),
        (networks.femnist_cnn, 28, [26, 24, 12, 10, 8, 4]),
        (networks.fashion_cnn, 28, [28, 14, 14, 7]),
        (networks.digits_cnn, 8, [8, 4, 4, 2]),
    ],
)
def test_convolutions_shrink_the_image_as_planned(
    network: Callable[[int], nn.Sequential], size: int, expected: list[int]
) -> None:
    assert spatial_sizes(network(10), size) == expected


@given(
    size=st.integers(1, 9),
    width=st.integers(1, 6),
    stride=st.integers(1, 3),
    seed=st.integers(0, 2**32 - 1),
)
def test_same_padding_is_tensorflows(size: int, width: int, stride: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    image, kernel = rng.normal(size=(size, size)), rng.normal(size=(width, width))
    before, after = networks.same_padding(size, width, stride)
    padded = np.pad(image, (before, after))
    ours = nn.functional.conv2d(
        torch.from_numpy(padded)[None, None], torch.from_numpy(kernel)[None, None], stride=stride
    )
    np.testing.assert_allclose(ours[0, 0].numpy(), tensorflow_same(image, kernel, stride))


def test_the_strided_layers_of_femnist_pad_one_before_and_two_after() -> None:
    pads = [layer for layer in networks.femnist_cnn(10) if isinstance(layer, nn.ZeroPad2d)]
    assert [pad.padding for pad in pads] == [(1, 2, 1, 2), (1, 2, 1, 2)]


@pytest.mark.parametrize("hidden", [(), (128,), (20, 30)])
def test_dense_networks_are_flatten_then_linear_with_relu_between(hidden: tuple[int, ...]) -> None:
    network = networks.dense((1, 8, 8), hidden, 10)
    kinds: list[type[nn.Module]] = [nn.Flatten]
    kinds += [nn.Linear, nn.ReLU] * len(hidden) + [nn.Linear]
    assert type(network) is nn.Sequential
    assert [type(layer) for layer in network] == kinds
    linear = [layer for layer in network if isinstance(layer, nn.Linear)]
    assert [layer.in_features for layer in linear] == [64, *hidden]
    assert [layer.out_features for layer in linear] == [*hidden, 10]


@pytest.mark.parametrize(
    "network", [networks.mnist_cnn, networks.femnist_cnn, networks.fashion_cnn, networks.digits_cnn]
)
def test_every_convolution_and_hidden_layer_is_followed_by_relu(
    network: Callable[[int], nn.Sequential],
) -> None:
    layers = list(network(10))
    for layer, following in itertools.pairwise(layers):
        if isinstance(layer, nn.Conv2d | nn.Linear):
            assert isinstance(following, nn.ReLU)
    assert isinstance(layers[-1], nn.Linear)


def test_dropout_is_where_the_paper_has_it() -> None:
    def rates(network: nn.Sequential) -> list[float]:
        return [layer.p for layer in network if isinstance(layer, nn.Dropout)]

    assert rates(networks.mnist_cnn(10)) == [0.5]
    assert rates(networks.femnist_cnn(10)) == [0.4, 0.4, 0.4]
    assert rates(networks.fashion_cnn(10)) == []


def make() -> nn.Module:
    return build("femnist", "cnn", (1, 28, 28), 10)


def vector(module: nn.Module) -> torch.Tensor:
    return nn.utils.parameters_to_vector(module.parameters()).detach()


def test_the_same_generator_gives_the_same_weights_whatever_torch_drew_before() -> None:
    torch.manual_seed(1)
    first = vector(initialised(make, generator(0, "model")))
    torch.rand(7)
    assert torch.equal(first, vector(initialised(make, generator(0, "model"))))


def test_another_seed_and_a_second_draw_give_other_weights() -> None:
    rng = generator(0, "model")
    first, second = vector(initialised(make, rng)), vector(initialised(make, rng))
    assert not torch.equal(first, second)
    assert not torch.equal(first, vector(initialised(make, generator(1, "model"))))


def test_torchs_own_generator_is_left_as_it_was() -> None:
    before = torch.get_rng_state()
    initialised(make, generator(0, "model"))
    assert torch.equal(before, torch.get_rng_state())


def test_torchs_own_generator_is_left_as_it_was_also_after_an_error() -> None:
    def fails() -> nn.Module:
        torch.rand(3)
        raise RuntimeError("broken factory")

    before = torch.get_rng_state()
    with pytest.raises(RuntimeError, match="broken factory"):
        initialised(fails, generator(0, "model"))
    assert torch.equal(before, torch.get_rng_state())


def test_weights_are_glorot_uniform_and_biases_zero() -> None:
    module = initialised(make, generator(0, "model"))
    layers = [layer for layer in module.modules() if isinstance(layer, nn.Conv2d | nn.Linear)]
    assert len(layers) == 8
    for layer in layers:
        cells = layer.weight[0][0].numel() if isinstance(layer, nn.Conv2d) else 1
        inputs, outputs = layer.weight.shape[1] * cells, layer.weight.shape[0] * cells
        bound = np.sqrt(6 / (inputs + outputs))
        weights = layer.weight.detach().numpy()
        assert 0.95 * bound < np.abs(weights).max() <= bound * (1 + 1e-6)
        assert weights.std() == pytest.approx(bound / np.sqrt(3), rel=0.1)
        assert layer.bias is not None
        assert not layer.bias.any()
