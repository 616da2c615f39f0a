"""The fixture finds what it should, and says so when it tests nothing."""

import queue
import time

import pytest

from seriatim.pytest_plugin import NotLinearizable, drive

QUEUE = {"enqueue": lambda q, value: q.put(value), "dequeue": lambda q: q.get_nowait()}


def test_a_queue_is_a_queue(linearizable):
    assert linearizable(make=queue.SimpleQueue, ops=QUEUE, nil=queue.Empty, spec="queue", runs=20) > 0


def test_a_stack_is_no_queue():
    with pytest.raises(NotLinearizable, match="VIOLATION"):
        drive(make=queue.LifoQueue, ops=QUEUE, nil=queue.Empty, spec="queue")


class Counter:
    def __init__(self):
        self.count = 0

    def increment(self):
        before = self.count
        time.sleep(0.001)  # long enough for another thread to come in between
        self.count = before + 1
        return before


def test_a_counter_that_forgets_is_found():
    with pytest.raises(NotLinearizable, match="SERIATIM_SEED="):
        drive(make=Counter, ops={"fetch_add": lambda c, _: c.increment()}, args={"fetch_add": lambda _: 1}, spec="fetch-and-add")


def test_exceptions_and_hangs_are_told():
    with pytest.raises(queue.Empty):
        drive(make=queue.SimpleQueue, ops={"dequeue": lambda q: q.get_nowait()}, spec="queue")
    with pytest.raises(TimeoutError, match=r"still wait: dequeue\(\)"):
        drive(make=queue.SimpleQueue, ops={"dequeue": lambda q: q.get()}, spec="queue", patience=0.2)


def test_parameters_that_nobody_knows_are_asked_for():
    with pytest.raises(TypeError, match="parameters of enqueue are not known; wrap it: lambda"):
        drive(make=list, ops={"enqueue": max}, spec="queue")


def test_nothing_concurrent_is_a_warning():
    with pytest.warns(UserWarning, match="nothing concurrent was tested"):
        drive(make=queue.SimpleQueue, ops=QUEUE, nil=queue.Empty, spec="queue", threads=1, runs=2)


def test_a_failure_shows_the_drawing_and_the_page(pytester):
    pytester.makepyfile(
        """
        import queue

        def test_wrong(linearizable):
            linearizable(make=queue.LifoQueue, spec="queue", nil=queue.Empty,
                         ops={"enqueue": lambda q, value: q.put(value), "dequeue": lambda q: q.get_nowait()})
        """
    )
    ran = pytester.runpytest_subprocess()
    ran.assert_outcomes(failed=1)
    ran.stdout.fnmatch_lines(["*VIOLATION*is not linearizable as a queue*", "*page: *seriatim.html"])
