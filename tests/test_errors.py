"""How mistakes are reported."""

import pytest

from flexcfl.errors import SettingsError, nearest, unknown


@pytest.mark.parametrize("name", ["mnist", "MNIST", "Minst", "mnst"])
def test_the_nearest_name_whatever_its_letters(name: str) -> None:
    assert nearest(name, ["digits", "mnist"]) == "mnist"


def test_a_name_comes_back_as_it_is_written() -> None:
    assert nearest("fedavg", ["FedAvg"]) == "FedAvg"


def test_without_a_near_name_there_is_no_hint() -> None:
    assert nearest("xyz", ["digits", "mnist"]) is None
    assert unknown("dataset", "xyz", ["mnist", "digits"]) == (
        "There is no dataset 'xyz'. Known: digits, mnist."
    )


def test_what_is_called_otherwise_elsewhere_is_known_and_other_things_are_no_slip() -> None:
    ours = ["rate", "batch", "folder", "fashion-mnist"]
    assert nearest("LR", ours) == "rate"
    assert nearest("Batch-Size", ours) == "batch"
    assert nearest("fmnist", ours) == "fashion-mnist"
    assert nearest("lr", ["folder"]) is None  # though letters are the same
    assert nearest("optimizer", ["timer"]) is None


def test_what_would_move_a_terminal_is_escaped() -> None:
    assert str(SettingsError("two\nlines \x1b[31mred, Žluť.")) == r"two\nlines \x1b[31mred, Žluť."
