import itertools
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch import nn

from flexcfl.models import networks


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
