"""A fixture that drives an object from several threads and fails with the drawn counterexample.

    def test_queue(linearizable):
        linearizable(make=queue.SimpleQueue,
                     ops={"enqueue": lambda q, value: q.put(value), "dequeue": lambda q: q.get_nowait()},
                     nil=queue.Empty, spec="queue")
"""

from __future__ import annotations

import inspect
import os
import random
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import seriatim


# A call of a thread: the operation, its arguments, and when the thread lets others run.
_Call = tuple[str, tuple[Any, ...], str]


@pytest.fixture
def linearizable(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., int]:
    """Drives an object from several threads and fails unless every run is linearizable; see `drive`."""

    def driven(**how: Any) -> int:
        try:
            return drive(**how)
        except NotLinearizable as failure:
            page = tmp_path / "seriatim.html"
            page.write_text(failure.verdict.html())
            pytest.fail(f"{failure}\npage: {page}", pytrace=False)

    return driven


class NotLinearizable(AssertionError):
    """A run that is not linearizable, or not known to be."""

    def __init__(self, verdict: seriatim.Verdict, seed: int, run: int) -> None:
        super().__init__(f"{verdict}\nrun {run} of SERIATIM_SEED={seed}")
        self.verdict = verdict


def drive(
    *,
    make: Callable[[], Any],
    ops: Mapping[str, Callable[..., Any]],
    spec: str | seriatim.Spec,
    args: Mapping[str, Callable[[random.Random], Any]] | None = None,
    nil: type[BaseException] | tuple[type[BaseException], ...] = (),
    threads: int = 3,
    calls: int = 20,
    runs: int = 200,
    seconds: float = 2.0,
    patience: float = 10.0,
) -> int:
    """Makes a new object for each run, lets threads call it at random, and checks what they saw. Gives the number of runs.

    An operation is a function of the object; one that takes a second parameter gets 1, 2, 3, … in each run, or what
    `args` draws for its name. An exception of `nil` means that it returned None (the queue was empty); any other ends
    the test. It goes on for at most so many `runs` and `seconds`; a run that takes longer than `patience` hangs.
    SERIATIM_SEED repeats the random choices; what the threads do with them is up to the machine.
    """
    seed = int(os.environ.get("SERIATIM_SEED", 0)) or random.SystemRandom().randrange(1, 1 << 32)
    chance = random.Random(seed)
    end, overlaps = time.monotonic() + seconds, 0
    run = 0
    with _switching_often():
        for run in range(1, runs + 1):
            recorder = _run(make(), ops, args or {}, nil, chance, threads, calls, patience)
            verdict = seriatim.check(recorder, spec)
            if verdict.verdict != "linearizable":
                raise NotLinearizable(verdict, seed, run)
            overlaps += _overlaps(recorder.rows())
            if time.monotonic() > end:
                break
    if not overlaps:
        warnings.warn(f"no two calls overlapped in {run} runs: nothing concurrent was tested", stacklevel=3)
    return run


def _run(
    target: Any,
    ops: Mapping[str, Callable[..., Any]],
    args: Mapping[str, Callable[[random.Random], Any]],
    nil: Any,
    chance: random.Random,
    threads: int,
    calls: int,
    patience: float,
) -> seriatim.Recorder:
    recorder, errors = seriatim.Recorder(), []
    gate = threading.Barrier(threads)
    plans = _plans(ops, args, chance, threads, calls)

    def work(plan: list[_Call]) -> None:
        try:
            gate.wait(patience)
            for name, arguments, gives_way in plan:
                with recorder.op(name, *arguments) as op:
                    # Within the operation, so that short calls overlap although one thread runs at a time.
                    if gives_way == "within":
                        time.sleep(0)
                    try:
                        op.result = ops[name](target, *arguments)
                    except nil:
                        op.result = None
                if gives_way == "between":
                    time.sleep(0)
        except BaseException as error:  # told to whoever waits
            errors.append(error)

    workers = [threading.Thread(target=work, args=(plan,), daemon=True) for plan in plans]
    for worker in workers:
        worker.start()
    end = time.monotonic() + patience
    for worker in workers:
        worker.join(max(0.0, end - time.monotonic()))
    if errors:
        raise errors[0]
    if any(worker.is_alive() for worker in workers):
        waiting = [f"{op}({'' if arg is None else arg})" for _, op, arg, _, _, ret in recorder.rows() if ret is None]
        raise TimeoutError(f"after {patience} s these calls still wait: {', '.join(waiting)}")
    return recorder


def _plans(
    ops: Mapping[str, Callable[..., Any]],
    args: Mapping[str, Callable[[random.Random], Any]],
    chance: random.Random,
    threads: int,
    calls: int,
) -> list[list[_Call]]:
    names, distinct = list(ops), iter(range(1, threads * calls + 1))

    def arguments(name: str) -> tuple[Any, ...]:
        if name in args:
            return (args[name](chance),)
        return (next(distinct),) if _takes_argument(name, ops[name]) else ()

    def call() -> _Call:
        name = chance.choice(names)
        return name, arguments(name), chance.choice(("never", "within", "between"))

    return [[call() for _ in range(calls)] for _ in range(threads)]


def _takes_argument(name: str, function: Callable[..., Any]) -> bool:
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # some methods that are written in C
        raise TypeError(f"ops: the parameters of {name} are not known; wrap it: lambda target, value: target.…") from None
    required = [p for p in parameters if p.kind in positional and p.default is inspect.Parameter.empty]
    return len(required) > 1


def _overlaps(rows: list[Any]) -> int:
    """How many operations were called while the one before them was open."""
    rows = sorted(rows, key=lambda row: row[4])
    return sum(second[4] < first[5] for first, second in zip(rows, rows[1:]))


@contextmanager
def _switching_often() -> Iterator[None]:
    """Lets threads take turns as often as they can."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(usual)
