"""Dropout that depends on client, step and place alone."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from flexcfl.engine import Engine
from flexcfl.errors import ModelError
from flexcfl.models.dropout import Site, masked, masks, sites
from flexcfl.protocol import Local
from tests.engine.cohorts import MODULES, SHAPE, Cohort, convolutional


class Functional(nn.Module):
    """Calls the functions instead of using the layers."""

    def __init__(self) -> None:
        super().__init__()
        self.out = nn.Linear(64, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = functional.dropout2d(x, 0.25, self.training)
        x = functional.dropout(input=x.flatten(1), p=0.5, training=self.training, inplace=True)
        logits: Tensor = self.out(x)
        return logits


class InPlace(nn.Module):
    """Relies on dropout's effect alone."""

    def forward(self, x: Tensor) -> Tensor:
        functional.dropout(x, 0.5, self.training, inplace=True)
        return x


class SequenceFirst(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.out = nn.Linear(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        rows = functional.dropout(x.squeeze(1).transpose(0, 1), 0.5, self.training)
        logits: Tensor = self.out(rows.mean(0))
        return logits


def without_dropout() -> nn.Module:
    module = convolutional()
    for layer in module.modules():
        if isinstance(layer, nn.Dropout | nn.Dropout2d):
            layer.p = 0.0
    return module


def test_layers_and_functions_are_both_found() -> None:
    assert sites(convolutional(), SHAPE) == [Site(0.3, (6, 1, 1)), Site(0.5, (96,))]
    assert sites(Functional(), SHAPE) == [Site(0.25, (1, 1, 1)), Site(0.5, (64,))]
    assert sites(Functional().eval(), SHAPE) == []


def test_masks_keep_the_mean_and_the_share() -> None:
    (mask,) = masks([Site(0.3, (50, 40))], key=5, step=2, examples=100)
    assert sorted(set(mask.flatten().tolist())) == pytest.approx([0, 1 / 0.7])
    assert float((mask == 0).float().mean()) == pytest.approx(0.3, abs=0.005)
    assert float(mask.mean()) == pytest.approx(1, abs=0.01)


def test_all_is_dropped_at_probability_one() -> None:
    (mask,) = masks([Site(1.0, (9,))], key=5, step=2, examples=3)
    assert not mask.any()


def test_masks_differ_between_clients_steps_and_sites() -> None:
    site = Site(0.5, (200,))
    drawn = [
        masks([site, site], key, step, 1)[place].numpy().tobytes()
        for key in (0, 1, 2**63 - 1)
        for step in (0, 1)
        for place in (0, 1)
    ]
    assert len(set(drawn)) == len(drawn)


def test_more_rows_leave_the_first_ones_alone() -> None:
    places = [Site(0.4, (7, 3)), Site(0.1, (5,))]
    few, many = masks(places, 9, 4, 3), masks(places, 9, 4, 10)
    for short, long in zip(few, many, strict=True):
        assert torch.equal(short, long[:3])


def test_masks_are_applied_in_the_order_of_the_forward_pass() -> None:
    module = nn.Sequential(nn.Dropout(0.5), nn.Dropout(0.5))
    first, second = torch.tensor([[2.0, 0.0]]), torch.tensor([[2.0, 2.0]])
    place = Site(0.5, (2,))
    with masked([place, place], [first, second]):
        assert module(torch.ones(1, 2)).tolist() == [[4.0, 0.0]]


@pytest.mark.parametrize("places", [[], [Site(0.25, (2,))], [Site(0.5, (3,))]])
def test_dropout_that_changes_from_pass_to_pass_is_told(places: list[Site]) -> None:
    with (
        pytest.raises(ModelError, match="not the same in every forward pass"),
        masked(places, [torch.ones(1, 2) for _ in places]),
    ):
        nn.Dropout(0.5)(torch.ones(1, 2))


def test_dropout_in_place_acts_in_place() -> None:
    with masked([Site(0.5, (2,))], [torch.tensor([[2.0, 0.0]])]):
        assert InPlace()(torch.ones(1, 2)).tolist() == [[2.0, 0.0]]


def test_dropout_matters_in_training_and_not_in_evaluation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(MODULES, "without-dropout", without_dropout)
    cohort = Cohort((20, 3, 50))
    engine = cohort.engine("convolutional")
    updates, _ = cohort.train(engine, Local(epochs=2))
    undropped, _ = cohort.train(cohort.engine("without-dropout"), Local(epochs=2))
    assert np.abs(updates - undropped).max() > 1e-3
    model = engine.initial(np.random.default_rng(0))[None]
    first, second = (engine.evaluate(model, np.zeros(3, int), cohort.examples()) for _ in range(2))
    np.testing.assert_array_equal(first[0], second[0])


def test_a_dropout_that_does_not_have_the_batch_first_is_refused() -> None:
    with pytest.raises(ModelError, match="batch_first"):
        sites(SequenceFirst(), SHAPE)


def test_alpha_dropout_is_refused_with_a_remedy() -> None:
    with pytest.raises(ModelError, match=r"nn\.Dropout"):
        Engine(
            lambda: nn.Sequential(nn.Flatten(), nn.AlphaDropout(0.2), nn.Linear(64, 4)),
            np.zeros((3, *SHAPE), np.float32),
            np.zeros(3, np.int64),
            4,
        )
