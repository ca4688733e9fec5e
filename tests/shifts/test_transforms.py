"""Clients that come to see their data in another way: label permutation and rotation."""

from collections import Counter
from itertools import permutations

import numpy as np
import pytest

from flexcfl.data import Federation, IndexLists
from flexcfl.errors import SettingsError
from flexcfl.settings import validated
from flexcfl.shifts import LabelPermutation, Rotation
from flexcfl.testing.shifts import of_labels
from tests.shifts.worlds import labels, timeline


def test_labels_come_to_mean_something_else_in_training_and_test() -> None:
    federation = of_labels([[0, 1], [2, 2]], [[0], [1]], classes=3)
    story = timeline(federation, label_permutation=LabelPermutation(1.0, labellings=2))
    variants = story.variants
    assert variants is not None
    other = variants.labellings[1]
    assert labels(story.at(0)) == [[0, 1], [2, 2]]
    for number in range(1, 4):
        view, meaning = story.at(number), other if number % 2 else np.arange(3)
        expected = [meaning[federation.y[own]].tolist() for own in federation.train]
        assert [variants.labels(view.y, own).tolist() for own in view.train] == expected
        assert variants.labels(view.y, view.test[0]).tolist() == [meaning[0]]
        counts = [np.bincount(own, minlength=3).tolist() for own in expected]
        assert view.label_counts.tolist() == counts
        assert view.shifted.tolist() == [0, 1]
        assert (variants.parts(view.train.indices)[2] == 0).all()


def test_clients_change_to_every_other_labelling_and_never_to_their_own() -> None:
    federation = of_labels([[0]] * 300)
    story = timeline(federation, label_permutation=LabelPermutation(1.0))
    assert story.variants is not None
    before = np.zeros(300, dtype=np.int64)
    for number in range(1, 4):
        labelling = story.variants.parts(story.at(number).train.indices)[1]
        steps = Counter(((labelling - before) % 4).tolist())
        assert set(steps) == {1, 2, 3}
        assert min(steps.values()) > 60  # 100 in the mean, with a standard deviation of 8.2
        before = labelling


@pytest.mark.parametrize(
    ("classes", "labellings", "without_fixed_point"),
    [(2, 2, 1), (3, 3, 2), (3, 6, 2), (4, 10, 9), (6, 720, 265), (7, 1000, 999), (62, 50, 49)],
)
def test_labellings_are_different_permutations_that_leave_nothing_in_place_where_they_can(
    classes: int, labellings: int, without_fixed_point: int
) -> None:
    shift = LabelPermutation(labellings=labellings)
    variants = timeline(of_labels([[0]], classes=classes), label_permutation=shift).variants
    assert variants is not None
    drawn = variants.labellings
    assert drawn.shape == (labellings, classes)
    assert drawn[0].tolist() == list(range(classes))
    assert len({tuple(each) for each in drawn.tolist()}) == labellings
    assert (np.sort(drawn, axis=1) == np.arange(classes)).all()
    moved = (drawn != np.arange(classes)).all(axis=1)
    assert moved[1 : without_fixed_point + 1].all()
    assert moved.sum() == without_fixed_point


@pytest.mark.parametrize(
    ("classes", "advice"), [(1, "leave the shift out."), (2, "lower it to at most 2.")]
)
def test_too_many_labellings_for_the_classes_are_refused(classes: int, advice: str) -> None:
    assert len(list(permutations(range(classes)))) < LabelPermutation().labellings
    with pytest.raises(SettingsError, match=f"labellings = 4, [^\n]*: {advice}$"):
        LabelPermutation().check(of_labels([[0]], classes=classes))


@pytest.mark.parametrize("number", [1, 0, -3, 1001, "some"])
def test_the_number_of_labellings_is_bounded(number: object) -> None:
    with pytest.raises(SettingsError, match=r"^\[shift\] labellings must be "):
        validated(LabelPermutation, {"labellings": number}, "[shift]")


def test_images_turn_from_how_they_were_in_training_and_test() -> None:
    federation = of_labels([[0]] * 300, [[1]] * 300)
    story = timeline(federation, rotation=Rotation(1.0))
    variants = story.variants
    assert variants is not None
    before = np.zeros(300, dtype=np.int64)
    for number in range(1, 4):
        view = story.at(number)
        indices, labelling, turns = variants.parts(view.train.indices)
        assert indices.tolist() == federation.train.indices.tolist()
        assert not labelling.any()
        assert set(((turns - before) % 4).tolist()) == {1, 2, 3}
        assert variants.parts(view.test.indices)[2].tolist() == turns.tolist()
        assert view.shifted.tolist() == list(range(300))
        before = turns


@pytest.mark.parametrize("shape", [(8, 8), (1, 8, 8), (3, 28, 28)])
def test_square_images_can_be_turned(shape: tuple[int, ...]) -> None:
    Rotation().check(_shaped(shape))


@pytest.mark.parametrize("shape", [(), (60,), (1, 1), (3, 1, 1), (8, 9), (8, 8, 3), (1, 1, 8, 8)])
def test_what_is_no_square_image_cannot_be_turned(shape: tuple[int, ...]) -> None:
    with pytest.raises(SettingsError, match=r"turns square images, [^\n]*\.$"):
        Rotation().check(_shaped(shape))


def _shaped(shape: tuple[int, ...]) -> Federation:
    x = np.zeros((2, *shape), dtype=np.float32)
    halves = (IndexLists.of([[0]]), IndexLists.of([[1]]))
    return Federation("shaped", x, np.zeros(2, dtype=np.int64), *halves, 2)
