import copy
import re
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.nn import functional

from flexcfl.errors import ModelError
from flexcfl.models import check
from tests.models.modules import (
    CLASSES,
    Applied,
    CalledTwice,
    Centred,
    Classifier,
    Hidden,
    Masked,
    NotCopied,
    Recurrent,
    Renormalised,
    ResidualBlock,
    Tied,
    Tokens,
    Twins,
    attention,
    frozen,
    same_activation_twice,
    same_layer_twice,
    with_buffer,
    written_outside,
)

SHAPE = (4, 6)

WORKS: dict[str, Callable[[], nn.Module]] = {
    "linear": lambda: Classifier(nn.Identity()),
    "group norm": lambda: Classifier(nn.GroupNorm(2, 4)),
    "instance norm without statistics": lambda: Classifier(nn.InstanceNorm1d(4)),
    "dropout": lambda: Classifier(nn.Dropout(0.5)),
    "dropout in place": lambda: nn.Sequential(
        nn.Flatten(), nn.Linear(24, 8), nn.Dropout(0.5, inplace=True), nn.Linear(8, CLASSES)
    ),
    "dropout of channels": lambda: Classifier(nn.Dropout1d(0.5)),
    "dropout by name": lambda: Classifier(lambda x: functional.dropout(input=x, p=0.5)),
    "gru": lambda: Recurrent(nn.GRU(6, 5, num_layers=2, batch_first=True)),
    "lstm": lambda: Recurrent(nn.LSTM(6, 5, batch_first=True)),
    "attention with dropout around it": lambda: attention(dropout=0.1, inside=0.0),
    "tied": Tied,
    "one layer called twice": CalledTwice,
    "one activation registered twice": same_activation_twice,
    "constant buffers": lambda: Classifier(Masked()),
    "tokens": Tokens,
}

REFUSED: dict[str, tuple[Callable[[], nn.Module], str]] = {
    "batch norm": (
        lambda: Classifier(nn.Sequential(nn.ReLU(), nn.BatchNorm1d(4))),
        r"layer 'step\.1' \(BatchNorm1d\) .* use nn\.GroupNorm or nn\.LayerNorm instead",
    ),
    "batch norm without statistics": (
        lambda: Classifier(nn.BatchNorm1d(4, track_running_stats=False)),
        r"layer 'step' \(BatchNorm1d\) .* nn\.GroupNorm or nn\.LayerNorm",
    ),
    "batch norm by itself": (lambda: nn.BatchNorm1d(4), r"The layer BatchNorm1d normalises"),
    "instance norm with statistics": (
        lambda: Classifier(nn.InstanceNorm1d(4, track_running_stats=True)),
        r"layer 'step' \(InstanceNorm1d\) keeps running .* track_running_stats=False",
    ),
    "gru with dropout inside": (
        lambda: Recurrent(nn.GRU(6, 5, num_layers=2, dropout=0.2, batch_first=True)),
        r"layer 'layer' \(GRU\) has dropout inside, .* nn\.Dropout layers before or after",
    ),
    "attention with dropout inside": (
        lambda: attention(dropout=0.1, inside=0.1),
        r"layer 'step\.self_attn' \(MultiheadAttention\) has dropout inside",
    ),
    "attention function with dropout": (
        lambda: Classifier(
            lambda x: functional.scaled_dot_product_attention(x, x, x, dropout_p=0.1)
        ),
        r"draws random numbers that cannot be seeded per client: take them out",
    ),
    "lazy": (lambda: Classifier(nn.LazyLinear(6)), r"parameter 'step\.weight' has no size yet"),
    "double": (lambda: Classifier(nn.ReLU()).double(), r"'head\.weight' is torch\.float64, .*\.fl"),
    "double buffer": (
        lambda: with_buffer(torch.ones(1, dtype=torch.float64)),
        r"buffer 'extra' is torch\.float64, .* \.float\(\)",
    ),
    "another device": (
        lambda: Classifier(nn.ReLU()).to("meta"),
        r"parameter 'head\.weight' is on the device 'meta': make the module on the CPU",
    ),
    "nothing to train": (nn.Flatten, r"\(Flatten\) has no parameters, so there is nothing to"),
    "frozen": (frozen, r"'head\.weight' is frozen .* make it a buffer with register_buffer"),
    "one layer registered twice": (
        same_layer_twice,
        r"layer 'step\.0' \(Linear\) is registered a second time as 'step\.2', .* assign it once",
    ),
    "wrong input": (
        lambda: nn.Sequential(nn.Flatten(), nn.Linear(784, CLASSES)),
        r"cannot run on a batch of shape \(3, 4, 6\) \(RuntimeError: mat.*\): "
        r"it must take any number of examples of shape \(4, 6\)\.",
    ),
    "wrong output": (
        lambda: nn.Sequential(nn.Flatten(), nn.Linear(24, 5)),
        r"returns shape \(3, 5\) .* a batch of shape \(3, 4, 6\): 3 classes need shape \(3, 3\)",
    ),
    "output of integers": (
        lambda: nn.Sequential(Classifier(nn.ReLU()), Applied(Tensor.long)),
        r"returns shape \(3, 3\) of torch\.int64 .* need shape \(3, 3\) of torch\.float32",
    ),
    "two outputs": (Twins, r"The model returns a tuple: it must return one tensor of shape \(3, 3"),
    "squeezed": (
        lambda: nn.Sequential(Classifier(nn.ReLU()), Applied(torch.squeeze)),
        r"returns shape \(3,\) .* for a batch of shape \(1, 4, 6\): .* need shape \(1, 3\)",
    ),
    "changing buffer": (
        lambda: Classifier(Centred()),
        r"The model changes 'step\.mean' while it runs, .* keep it constant",
    ),
    "changing parameter": (
        lambda: Classifier(Renormalised(6, 6)),
        r"The model changes 'step\.weight' while it runs",
    ),
    "spectral norm": (
        lambda: Classifier(nn.utils.parametrizations.spectral_norm(nn.Linear(6, 6))),
        r"The model changes 'step\.parametrizations\.\S+' while it runs",
    ),
    "mean over the batch": (
        lambda: Classifier(lambda x: x - x.mean(0)),
        r"mixes the examples of a batch.* nn\.GroupNorm",
    ),
    "gru over the batch": (
        lambda: Recurrent(nn.GRU(6, 5)),
        r"mixes the examples of a batch.* batch_first=True",
    ),
    "noise": (
        lambda: Classifier(lambda x: x + torch.randn_like(x)),
        r"draws random numbers .* use nn\.Dropout, nn\.Dropout1d, 2d or 3d",
    ),
    "alpha dropout": (lambda: Classifier(nn.AlphaDropout(0.5)), r"use nn\.Dropout"),
    "feature alpha dropout": (
        lambda: Classifier(nn.FeatureAlphaDropout(0.5)),
        r"use nn\.Dropout",
    ),
    "item": (
        lambda: Classifier(lambda x: x / x.abs().max(dim=-1)[0].mean().item()),
        r"cannot be run as many copies at once \(RuntimeError at .*test_vetting\.py:\d+: vmap: "
        r".*item.*use tensor operations only",
    ),
    "branch on values": (
        lambda: Classifier(lambda x: x if x.sum() > 0 else -x),
        r"cannot be run as many copies at once \(.*control flow.*without \.item\(\), if or while",
    ),
    "writing outside": (
        lambda: Classifier(written_outside),
        r"cannot be run as many copies at once \(.*in-place.*tensors that were made outside",
    ),
    "hidden parameter": (
        lambda: Classifier(Hidden()),
        r"gradients are wrong when many copies run at once: .* never through lists or closures",
    ),
    "detached": (
        lambda: nn.Sequential(Classifier(nn.ReLU()), Applied(torch.detach)),
        r"does not depend on its parameters.* remove detach\(\)",
    ),
    "not to be copied": (
        lambda: Classifier(NotCopied()),
        r"The model cannot be copied \(RuntimeError: .*\): keep only layers, parameters",
    ),
}


@pytest.mark.parametrize("name", WORKS)
def test_modules_that_work_are_let_through(name: str) -> None:
    check(WORKS[name](), SHAPE, CLASSES)


def test_a_residual_block_with_group_norm_is_let_through() -> None:
    check(ResidualBlock(), (1, 8, 8), 10)


@pytest.mark.parametrize("name", REFUSED)
def test_modules_that_cannot_work_are_refused_in_one_sentence(name: str) -> None:
    make, sentence = REFUSED[name]
    with pytest.raises(ModelError, match=sentence) as caught:
        check(make(), SHAPE, CLASSES)
    said = str(caught.value)
    assert "\n" not in said
    assert re.search(r"[^.]\.$", said)
    assert len(said) < 600


def _state(module: nn.Module) -> dict[str, Tensor]:
    tensors = [*module.named_parameters(), *module.named_buffers()]
    return {name: tensor.detach().clone() for name, tensor in tensors}


@pytest.mark.parametrize("name", ["dropout", "gru", "attention with dropout around it"])
@pytest.mark.parametrize("training", [True, False])
def test_the_module_and_the_random_state_are_left_as_they_were(name: str, training: bool) -> None:
    module = WORKS[name]().train(training)
    next(module.children()).train(not training)
    modes = [layer.training for layer in module.modules()]
    before, random = _state(module), torch.get_rng_state()
    check(module, SHAPE, CLASSES)
    assert [layer.training for layer in module.modules()] == modes
    assert all(torch.equal(before[key], tensor) for key, tensor in _state(module).items())
    assert all(parameter.grad is None for parameter in module.parameters())
    assert torch.equal(random, torch.get_rng_state())


@pytest.mark.parametrize("name", ["changing buffer", "changing parameter", "noise"])
def test_a_refused_module_is_left_as_it_was_too(name: str) -> None:
    module = REFUSED[name][0]()
    before, random = _state(module), torch.get_rng_state()
    with pytest.raises(ModelError):
        check(module, SHAPE, CLASSES)
    assert all(torch.equal(before[key], tensor) for key, tensor in _state(module).items())
    assert torch.equal(random, torch.get_rng_state())


def test_the_caller_may_have_switched_gradients_off() -> None:
    with torch.no_grad():
        check(WORKS["linear"](), SHAPE, CLASSES)


def test_tied_parameters_are_trained_once_and_alike_in_every_copy() -> None:
    """The reason why sharing is allowed: many copies at once learn what one alone does."""
    module = Tied()
    own = {name: tensor.detach() for name, tensor in module.named_parameters()}
    assert set(own) == {"first.weight", "first.bias", "second.bias", "head.weight", "head.bias"}
    stacked = {name: torch.stack([tensor, tensor * 2]) for name, tensor in own.items()}
    rows, labels = torch.rand(2, *SHAPE), torch.tensor([0, 2])

    def loss(parameters: dict[str, Tensor]) -> Tensor:
        return functional.cross_entropy(functional_call(module, parameters, (rows,)), labels)

    together = vmap(grad(loss))(stacked)
    for index in range(2):
        alone = copy.deepcopy(module)
        with torch.no_grad():
            for name, tensor in alone.named_parameters():
                tensor.copy_(stacked[name][index])
        value = functional.cross_entropy(alone(rows), labels)
        gradients = torch.autograd.grad(value, list(alone.parameters()))
        for name, gradient in zip(own, gradients, strict=True):
            torch.testing.assert_close(together[name][index], gradient)
