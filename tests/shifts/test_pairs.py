"""Who exchanges with whom."""

from collections import Counter

from flexcfl.shifts import Holdings, SwapAll
from flexcfl.shifts.pairs import Pairing
from flexcfl.testing.shifts import of_labels
from tests.shifts.worlds import moment, timeline


def test_all_are_paired_and_an_odd_one_is_left_out() -> None:
    federation = of_labels([[0]] * 7)
    left_out = Counter[int]()
    for seed in range(200):
        ones, others = Pairing(1.0).pairs(Holdings.of(federation), moment(federation, seed=seed))
        together = [*ones.tolist(), *others.tolist()]
        assert len(together) == len(set(together)) == 6
        left_out[21 - sum(together)] += 1
    assert set(left_out) == set(range(7))


def test_each_way_to_pair_is_as_likely() -> None:
    federation = of_labels([[0]] * 4)
    partner_of_0 = Counter[int]()
    for seed in range(900):
        ones, others = Pairing(1.0).pairs(Holdings.of(federation), moment(federation, seed=seed))
        pairs = dict(zip(ones.tolist(), others.tolist(), strict=True))
        pairs |= {other: one for one, other in pairs.items()}
        partner_of_0[pairs[0]] += 1
    # 300 times each in the mean, with a standard deviation of about 14.
    assert all(abs(partner_of_0[other] - 300) < 5 * 14.2 for other in (1, 2, 3))


def test_a_higher_probability_only_adds_pairs() -> None:
    federation = of_labels([[0]] * 100)
    holdings = Holdings.of(federation)
    found = [
        set(zip(*Pairing(probability).pairs(holdings, moment(federation)), strict=True))
        for probability in (0.0, 0.2, 0.6, 1.0)
    ]
    assert [len(pairs) for pairs in found][::3] == [0, 50]
    assert found[0] < found[1] < found[2] < found[3]


def test_as_many_pairs_swap_as_the_probability_says() -> None:
    story = timeline(of_labels([[0]] * 1000), swap_all=SwapAll())
    shifted = sum(len(story.at(number).shifted) for number in range(1, 41))
    # 40 times 500 pairs at 0.05: 1,000 pairs in the mean, with a standard deviation of 30.8.
    assert abs(shifted / 2 - 1000) < 5 * 30.8
