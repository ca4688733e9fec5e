"""Independent pieces of work on all cores."""

import threading
from collections.abc import Iterator

import pytest
import torch

from flexcfl.engine.workers import Tools, spread


@pytest.fixture(autouse=True)
def _three_cores() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    assert torch.get_num_threads() == 3
    torch.set_num_threads(before)


def test_results_come_in_the_order_of_the_tasks() -> None:
    assert spread(lambda _, task: task * task, range(50), Tools(object)) == [
        n * n for n in range(50)
    ]
    assert spread(lambda _, task: task, [], Tools(object)) == []


def test_a_tool_serves_one_thread_at_a_time() -> None:
    made: list[threading.Lock] = []

    def tool() -> threading.Lock:
        made.append(threading.Lock())
        return made[-1]

    def work(own: threading.Lock, task: int) -> int:
        assert own.acquire(blocking=False)
        torch.ones(200, 200) @ torch.ones(200, 200)
        own.release()
        return task

    assert spread(work, range(40), Tools(tool)) == list(range(40))
    assert 1 <= len(made) <= 3


def test_tools_are_kept() -> None:
    tools = Tools(object)
    first = {id(tool) for tool in spread(lambda tool, _: tool, range(30), tools)}
    again = {id(tool) for tool in spread(lambda tool, _: tool, [0], tools)}
    assert again <= first


def test_operators_have_one_core_each() -> None:
    assert spread(lambda *_: torch.get_num_threads(), range(9), Tools(object)) == [1] * 9


@pytest.mark.parametrize("tasks", [1, 5])
def test_what_goes_wrong_is_told_as_it_is(tasks: int) -> None:
    def broken(*_: object) -> None:
        raise LookupError("broken")

    with pytest.raises(LookupError, match="broken"):
        spread(lambda *_: None, range(tasks), Tools(broken))
    with pytest.raises(LookupError, match="broken"):
        spread(broken, range(tasks), Tools(object))


def test_whoever_interrupts_need_not_wait() -> None:
    leave = threading.Event()

    def work(_: object, task: int) -> None:
        if task == 0:
            raise KeyboardInterrupt
        assert leave.wait(10)

    with pytest.raises(KeyboardInterrupt):
        spread(work, range(9), Tools(object))
    leave.set()


def test_overlapping_uses_leave_torch_as_it_was() -> None:
    entered, leave = threading.Event(), threading.Event()

    def hold(*_: object) -> None:
        entered.set()
        assert leave.wait(10)

    long = threading.Thread(target=lambda: spread(hold, [0], Tools(object)))
    long.start()
    assert entered.wait(10)
    assert spread(lambda *_: torch.get_num_threads(), range(4), Tools(object)) == [1] * 4
    leave.set()
    long.join()
