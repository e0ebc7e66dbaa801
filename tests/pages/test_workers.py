"""Child processes that look at tasks for their parent."""

from __future__ import annotations

import os
import signal

from target_health.pages.workers import Workers


def made(base: int) -> tuple[int]:
    return (base,)


def added(task: int, base: int) -> tuple[int, int]:
    if task == 13:
        os.kill(os.getpid(), signal.SIGKILL)
    print("said on standard output")
    return task + base, os.getpid()


def test_in_order_and_elsewhere() -> None:
    workers = Workers(added, made, (100,), count=2)
    try:
        batches = [[n, n + 1] for n in range(20, 60, 2)]
        results = [result for batch in workers.map(batches) for result in batch]
        assert [value for value, _ in results] == [n + 100 for n in range(20, 60)]
        assert os.getpid() not in {pid for _, pid in results}
        assert [value for value, _ in next(workers.map([[1]]))] == [101]
    finally:
        workers.close()


def test_a_task_that_kills_its_process_costs_itself() -> None:
    workers = Workers(added, made, (0,), count=1)
    try:
        [results] = workers.map([[11, 12, 13, 14]])
        assert [result and result[0] for result in results] == [11, 12, None, 14]
    finally:
        workers.close()


def test_few_batches_are_taken_ahead() -> None:
    taken: list[int] = []

    def batches() -> object:
        for number in range(100):
            taken.append(number)
            yield [number + 20]

    workers = Workers(added, made, (0,), count=1)
    try:
        results = workers.map(batches())  # type: ignore[arg-type]
        next(results)
        assert len(taken) < 10
    finally:
        workers.close()


def test_children_end_with_their_parent() -> None:
    workers = Workers(added, made, (0,), count=1)
    [[(_, pid)]] = workers.map([[1]])
    workers.close()
    assert not os.path.exists(f"/proc/{pid}")


def failing(task: int) -> int:
    return 1 // task


def test_a_task_that_fails_costs_itself() -> None:
    workers = Workers(failing, tuple, (), count=1)
    try:
        assert list(workers.map([[1, 0, 1]])) == [[1, None, 1]]
    finally:
        workers.close()
