"""The benchmarks run, on federations small enough not to measure anything."""

import re

import numpy as np
import scale


def test_federations_of_all_sizes_take_turns_and_every_part_is_timed() -> None:
    watches = scale.compare([(60, 5), (600, 5)], rounds=4)
    for watch in watches:
        assert all(len(seconds) == 4 for seconds in watch.seconds.values())
        assert watch.seconds.keys() == {*scale.PARTS, "all", "round", "rest"}
        assert 0 < watch.milliseconds("training") < watch.milliseconds("round")


def test_the_run_of_many_clients_says_what_came_of_it() -> None:
    told = scale.million(clients=200, cohort=40, rounds=5)
    assert re.search(r"200 clients, 40 a round, 5 rounds: \d+\.\d s", told)
    assert re.search(r"200 were placed, .* accuracy \d+\.\d% over 200 that have a group", told)


def test_a_check_of_everybody_and_the_bytes_of_clients_are_measured() -> None:
    assert scale.checked(clients=300, rounds=2) > 0
    assert scale.memory(400, cohort=5, rounds=2) > 400 * 8


def test_clients_made_on_demand_have_examples_of_two_classes() -> None:
    many = scale.federation(50)
    for client, own in enumerate(many.train):
        assert set(many.y[own].tolist()) == {client % 10, (client + 1) % 10}
    assert len(np.unique(many.train.indices)) > 450
