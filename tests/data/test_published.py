import numpy as np

from flexcfl.data.published import nine_tenths


def test_nine_tenths_rounded_down_are_for_training() -> None:
    owned = [np.arange(size) for size in (1, 9, 10, 11, 19, 20)]
    train, test = nine_tenths(owned, np.random.RandomState(0))
    assert train.sizes.tolist() == [0, 8, 9, 9, 17, 18]
    for part, learnt, tested in zip(owned, train, test, strict=True):
        assert sorted([*learnt, *tested]) == part.tolist()


def test_which_ones_is_drawn() -> None:
    def tested(seed: int) -> list[int]:
        lists = nine_tenths([np.arange(1000)], np.random.RandomState(seed))[1]
        return sorted(lists[0].tolist())

    assert tested(0) == tested(0) != tested(1)
    assert 300 < np.mean(tested(0)) < 700
