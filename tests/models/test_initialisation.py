import numpy as np
import pytest
import torch
from torch import nn

from flexcfl.models import build, initialised
from flexcfl.seeds import generator


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
