"""Independent pieces of work on all cores."""

import threading
import time
from collections.abc import Iterator

import pytest
import torch

from flexcfl.engine.workers import ResourcePool, busy, run_in_threads
from tests.waiting import PATIENCE


@pytest.fixture(autouse=True)
def _three_cores() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    assert torch.get_num_threads() == 3
    torch.set_num_threads(before)


def test_results_come_in_the_order_of_the_tasks() -> None:
    assert run_in_threads(lambda _, task: task * task, range(50), ResourcePool(object)) == [
        n * n for n in range(50)
    ]
    assert run_in_threads(lambda _, task: task, [], ResourcePool(object)) == []


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

    assert run_in_threads(work, range(40), ResourcePool(tool)) == list(range(40))
    assert 1 <= len(made) <= 3


def test_tools_are_kept() -> None:
    tools = ResourcePool(object)
    first = {id(tool) for tool in run_in_threads(lambda tool, _: tool, range(30), tools)}
    again = {id(tool) for tool in run_in_threads(lambda tool, _: tool, [0], tools)}
    assert again <= first


def test_operators_have_one_core_each() -> None:
    assert (
        run_in_threads(lambda *_: torch.get_num_threads(), range(9), ResourcePool(object))
        == [1] * 9
    )


@pytest.mark.parametrize("tasks", [1, 5])
def test_an_error_is_raised_unchanged(tasks: int) -> None:
    def broken(*_: object) -> None:
        raise LookupError("broken")

    with pytest.raises(LookupError, match="broken"):
        run_in_threads(lambda *_: None, range(tasks), ResourcePool(broken))
    with pytest.raises(LookupError, match="broken"):
        run_in_threads(broken, range(tasks), ResourcePool(object))


def test_an_interrupt_need_not_wait() -> None:
    leave, left = threading.Event(), list[bool]()

    def work(_: object, task: int) -> None:
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        left.append(leave.wait(PATIENCE))

    with pytest.raises(KeyboardInterrupt):
        run_in_threads(work, range(9), ResourcePool(object))
    assert not left
    leave.set()


def test_overlapping_uses_leave_torch_as_it_was() -> None:
    entered, leave = threading.Event(), threading.Event()

    def hold(*_: object) -> None:
        entered.set()
        assert leave.wait(PATIENCE)

    long = threading.Thread(target=lambda: run_in_threads(hold, [0], ResourcePool(object)))
    long.start()
    assert entered.wait(PATIENCE)
    assert (
        run_in_threads(lambda *_: torch.get_num_threads(), range(4), ResourcePool(object))
        == [1] * 4
    )
    leave.set()
    long.join()


def test_whether_anybody_is_at_work_is_known() -> None:
    assert not busy()
    assert all(run_in_threads(lambda *_: busy(), range(6), ResourcePool(object)))
    assert not busy()
    with pytest.raises(LookupError):
        run_in_threads(lambda *_: dict[str, int]()["nothing"], range(6), ResourcePool(object))
    assert not busy()


def test_an_error_is_raised_when_all_workers_have_stopped() -> None:
    ended: list[int] = []

    def work(_: object, task: int) -> None:
        if task == 0:
            raise LookupError("broken")
        time.sleep(0.05)
        ended.append(task)

    with pytest.raises(LookupError, match="broken"):
        run_in_threads(work, range(3), ResourcePool(object))
    assert not busy()
    assert len(ended) <= 2
