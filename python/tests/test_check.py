"""What `check` takes, gives and refuses."""

import asyncio
import doctest
import gzip
import itertools
import os
import pathlib
import queue
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import seriatim
from seriatim import UNKNOWN, Recorder, Spec, check

OVERTAKEN = [
    ("ann", "enqueue", 1, None, 0, 20),
    ("ann", "enqueue", 2, None, 30, 60),
    ("bob", "dequeue", None, 2, 40, 80),
]


def test_the_examples_of_the_module():
    assert doctest.testmod(seriatim).failed == 0


def test_a_violation_prints_its_drawing_and_shows_itself():
    verdict = check(OVERTAKEN, "queue")
    assert verdict.verdict == "violation" and not verdict
    assert "━ dequeue → 2 ━" in str(verdict)
    assert verdict.report["counterexample"]["operations"][2]["text"] == "dequeue() -> 2"
    assert verdict.html().rstrip().endswith("</html>")
    assert verdict._repr_html_().startswith("<iframe")
    assert repr(verdict) == "<seriatim.Verdict: violation>"


def test_rows_as_dicts_are_json_lines():
    names = ("process", "op", "arg", "result", "call", "return")
    rows = [{k: v for k, v in zip(names, row) if v is not None} for row in OVERTAKEN]
    assert not check(rows, "queue")
    rows[2]["failed"] = True
    assert check(rows, "queue")


def test_what_is_pending_may_have_happened_or_not():
    rows = [(0, "enqueue", 1, None, 0, None), (1, "dequeue", None, 1, 5, 6), (2, "dequeue", None, None, 7, 8)]
    assert check(rows, "queue")


def test_values_are_what_they_are_worth_and_nothing_else():
    def register(written, read):
        return bool(check([(0, "write", written, None, 0, 1), (0, "read", None, read, 2, 3)], "register"))

    same = [(1, 1.0), (10**30, 10**30), ("a", "a"), ([1, "b"], (1, "b")), ({"k": [None]}, {"k": [None]}), (True, True)]
    assert all(register(written, read) for written, read in same)
    other = [(1, "1"), (1, 2), (10**30, 10**30 + 1), (True, 1), ("a", ["a"])]
    assert not any(register(written, read) for written, read in other)
    cyclic = []
    cyclic.append(cyclic)
    for refused in (object(), {1, 2}, float("nan"), b"bytes", cyclic):
        with pytest.raises(TypeError):
            register(refused, 1)


@pytest.mark.parametrize(
    "history, spec, message",
    [
        ("nonsense\n", None, "<python>:1: "),
        (OVERTAKEN, "quue", "quue"),
        ([(0, "enqueue", 1, None, 5, 3)], "queue", "<python>:1: "),
        ([(0, "fly", 1, None, 5, 6)], "queue", "fly"),
        (OVERTAKEN, "no/such.seri", "no/such.seri: "),
    ],
)
def test_bad_input_is_a_value_error_with_the_commands_message(history, spec, message):
    with pytest.raises(ValueError, match=message):
        check(history, spec)


def test_other_bad_input():
    for history in ([(1, 2)], [1], 7):
        with pytest.raises(TypeError):
            check(history, "queue")
    with pytest.raises(TypeError):
        check(OVERTAKEN, 7)
    with pytest.raises(ValueError, match="memory"):
        check(OVERTAKEN, "queue", memory="much")
    with pytest.raises(ValueError, match="time"):
        check(OVERTAKEN, "queue", time=-1.0)
    with pytest.raises(ValueError, match="failures"):
        check(OVERTAKEN, "queue", failures="maybe")
    with pytest.raises(ValueError, match="^./-: cannot read"):
        check(pathlib.Path("-"), "queue")


TICKETS = "spec tickets {\n  var next: int = 0\n  method take() -> int {\n    next = next + 1\n    return next - 1\n  }\n}\n"


def test_a_specification_in_the_algorithm_language():
    assert check([(0, "take", None, 0, 1, 2)], seri=TICKETS)
    assert not check([(0, "take", None, 7, 1, 2)], seri=TICKETS)


class Tickets(Spec):
    initial = 0

    def step(self, state, op, arg, result):
        return state + 1 if result in (state, UNKNOWN) else None


def test_a_specification_in_python():
    rows = [(i % 8, "take", None, (i // 8) * 8 + 7 - i % 8, (i // 8) * 100 + i % 8, (i // 8) * 100 + 50) for i in range(80)]
    assert check(rows, Tickets())
    verdict = check([*rows, (0, "take", None, 3, 9000, 9001)], Tickets())
    assert verdict.verdict == "violation"
    assert "take() -> 3 is impossible in 80" in str(verdict)
    assert "take → 3" in str(verdict)
    assert check([(0, "take", None, None, 0, None), (1, "take", None, 1, 5, 6)], Tickets())


def test_parts_and_several_next_states():
    class Bag(Spec):
        """Takes any of what is in it."""

        initial = frozenset()

        def step(self, state, op, arg, result):
            if op == "put":
                return state | {arg}
            if result is UNKNOWN:
                return [state - {x} for x in state]
            return state - {result} if result in state else None

    rows = [(0, "put", 1, None, 0, 1), (0, "put", 2, None, 2, 3), (1, "take", None, None, 4, None), (2, "take", None, 2, 5, 6)]
    assert check(rows, Bag())
    assert not check([*rows, (3, "take", None, 2, 7, 8)], Bag())

    class Registers(Spec):
        initial = ()

        def key(self, op, arg):
            return arg[0]

        def step(self, state, op, arg, result):
            if op == "write":
                return (arg[1],)
            return state if state == (result,) else None

    rows = [(0, "write", ("x", 1), None, 0, 1), (0, "write", ("y", 2), None, 2, 3), (1, "read", ("x",), 1, 4, 5)]
    verdict = check(rows, Registers())
    assert verdict and len(verdict.report["parts"]) == 2


def test_a_specification_that_raises_or_lies_gives_no_verdict():
    class Raising(Spec):
        initial = 0

        def step(self, *_):
            raise KeyError("on purpose")

    with pytest.raises(KeyError, match="on purpose"):
        check(OVERTAKEN, Raising())

    class Lying(Spec):
        initial = 0
        asked = 0

        def step(self, state, op, arg, result):
            self.asked += 1
            return self.asked

    with pytest.raises(ValueError, match="Lying is no function"):
        check(OVERTAKEN, Lying())

    class Unhashable(Spec):
        initial = 0

        def step(self, *_):
            return {}

    with pytest.raises(TypeError, match="unhashable"):
        check(OVERTAKEN, Unhashable())

    class Stepless(Spec):
        initial = 0

    with pytest.raises(NotImplementedError):
        check(OVERTAKEN, Stepless())
    with pytest.raises(TypeError, match="rows or a Recorder"):
        check("text", Tickets())


class Slow(Spec):
    """The last nine arguments, in order: every order of the operations leads somewhere else."""

    initial = ()

    def step(self, state, op, arg, result):
        return (*state, arg)[-9:] if result is None else None


# Sixty operations at once, and one that never fits.
HOPELESS = [(i, "x", i, None, 0, 1000) for i in range(60)] + [(99, "x", 5, "no", 0, 1000)]


def test_the_unknown_is_no_truth():
    verdict = check(HOPELESS, Slow(), time=0.2)
    assert verdict.verdict == "unknown"
    with pytest.raises(ValueError, match="unknown"):
        bool(verdict)


def interrupted(history, spec):
    """How long a check goes on after Ctrl-C."""
    # Whoever starts the tests in the background has them ignore it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    pressed = []

    def press():
        time.sleep(0.3)
        pressed.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    presser = threading.Thread(target=press)
    presser.start()
    with pytest.raises(KeyboardInterrupt):
        check(history, spec, time=60.0)
    took = time.monotonic() - pressed[0]
    presser.join()
    signal.signal(signal.SIGINT, before)
    return took


def test_ctrl_c_ends_a_check():
    # Far less than the time limit; how much less depends on the machine.
    assert interrupted(HOPELESS, Slow()) < 30
    # The same by a built-in specification: which of these amounts add up to what was read?
    amounts = [(i * 37 + 11) % 50 + 1 for i in range(40)]
    adds = [(i, "add", amount, None, 0, 1000) for i, amount in enumerate(amounts)]
    reads = [(100 + k, "read", None, sum(amounts) // k, 0, 1000) for k in (2, 3)]
    assert interrupted([*adds, *reads, (199, "read", None, sum(amounts) - 1, 1001, 1002)], "counter") < 30


def test_the_recorder_with_threads():
    r, q = Recorder(), queue.SimpleQueue()

    def work(k):
        for i in range(100):
            with r.op("enqueue", 1000 * k + i):
                q.put(1000 * k + i)
            with r.op("dequeue") as op:
                op.result = q.get()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(r) == 800 and len({row[0] for row in r.rows()}) == 4
    assert check(r, "queue")


def test_the_recorder_with_tasks():
    class Careless:
        def __init__(self):
            self.items = []

        async def put(self, x):
            await asyncio.sleep(0)
            self.items.append(x)

        async def get(self):
            x = self.items[0] if self.items else None
            await asyncio.sleep(0)
            if self.items:
                self.items.pop(0)
            return x

    async def tasks(r):
        q = Careless()

        async def work(k):
            for i in range(3):
                with r.op("enqueue", 10 * k + i):
                    await q.put(10 * k + i)
                with r.op("dequeue") as op:
                    op.result = await q.get()

        await asyncio.gather(*(work(k) for k in range(3)))

    r = Recorder()
    asyncio.run(tasks(r))
    assert len({row[0] for row in r.rows()}) == 3
    assert check(r, "queue").verdict == "violation"


def test_a_cancelled_task_leaves_its_operation_pending():
    async def main(r):
        async def wait():
            with r.op("dequeue"):
                await asyncio.sleep(60)

        task = asyncio.create_task(wait())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        with r.op("enqueue", 1):
            pass

    r = Recorder()
    asyncio.run(main(r))
    assert [row[5] is None for row in r.rows()] == [True, False]
    assert check(r, "queue").report["operations"]["pending"] == 1


def test_an_exception_leaves_an_operation_pending_and_its_thread_goes_on():
    r = Recorder()
    with pytest.raises(ZeroDivisionError):
        with r.op("enqueue", 1):
            1 / 0
    with r.op("enqueue", 2):
        pass
    assert r.call("dequeue", lambda: 1) == 1
    with pytest.raises(ZeroDivisionError):
        r.call("enqueue", lambda x: x / 0, 3)
    assert check(r, "queue")
    assert len(r) == 4


def test_what_changes_later_was_recorded_as_it_was():
    r, value = Recorder(), [1]
    with r.op("write", value):
        pass
    value.append(2)
    with r.op("read") as op:
        op.result = [1]
    assert check(r, "register")


def test_a_specification_that_changes_its_states_gives_no_verdict():
    class Box:
        def __init__(self):
            self.count = 0

    class Hashed(Box):
        def __hash__(self):
            return self.count

        def __eq__(self, other):
            return self.count == other.count

    class InPlace(seriatim.Spec):
        def step(self, state, op, arg, result):
            state.count += 1
            return state

    rows = [(0, "take", None, k, 2 * k, 2 * k + 1) for k in range(3)]
    spec = InPlace()
    for hold in [lambda box: box, lambda box: (1, box), lambda box: frozenset([("a", (box,))])]:
        spec.initial = hold(Box())
        with pytest.raises(TypeError, match="Box has no __eq__"):
            seriatim.check(rows, spec)
    spec.initial = Hashed()
    with pytest.raises(ValueError, match="changes the state|is no function"):
        seriatim.check(rows, spec)


@pytest.mark.parametrize("place", ["step", "hash", "eq", "key", "initial", "repr"])
@pytest.mark.parametrize("kind", [KeyError, SystemExit, RecursionError, MemoryError])
def test_what_a_specification_raises_anywhere_is_raised(place, kind):
    armed = []

    def trip(here):
        if armed and here == place:
            raise kind("on purpose")

    class State:
        def __init__(self, count):
            self.count = count

        def __hash__(self):
            trip("hash")
            return 1

        def __eq__(self, other):
            trip("eq")
            return self.count == other.count

        def __repr__(self):
            trip("repr")
            return f"State {self.count}"

    class Tripping(seriatim.Spec):
        @property
        def initial(self):
            armed.append(True)
            trip("initial")
            return State(0)

        def key(self, op, arg):
            trip("key")
            return 0

        def step(self, state, op, arg, result):
            trip("step")
            return State(state.count + 1) if result == state.count else None

    rows = [(0, "take", None, k, 2 * at, 2 * at + 1) for at, k in enumerate((0, 2, 1))]
    if place == "repr":  # is only asked for when a violation is told
        assert seriatim.check(rows, Tripping()).verdict == "violation"
        return
    with pytest.raises(kind):
        seriatim.check(rows, Tripping())


def test_odd_answers_of_a_specification():
    class Odd(seriatim.Spec):
        initial = 0

        def __init__(self, answer):
            self.answer = answer

        def step(self, state, op, arg, result):
            return self.answer(state)

    def verdict(answer):
        return seriatim.check([(0, "f", None, 0, 0, 1), (0, "f", None, 0, 2, 3)], Odd(answer)).verdict

    assert verdict(lambda state: []) == "violation"
    assert verdict(lambda state: (state,)) == "linearizable"
    assert verdict(lambda state: list(range(300))) == "linearizable"
    assert verdict(lambda state: [state, True, 1.0]) == "linearizable"
    with pytest.raises(ValueError, match="no function"):  # what differs from itself
        verdict(lambda state: float("nan"))
    with pytest.raises(TypeError, match="unhashable"):
        verdict(lambda state: [[]])
    # One that asks about another history, one that runs on several threads, and one that recurses.
    assert verdict(lambda state: 1 if seriatim.check([], "queue") else None) == "linearizable"
    with pytest.raises(RecursionError):
        verdict(lambda state: verdict(lambda inner: verdict_forever(inner)))
    found = []
    workers = [threading.Thread(target=lambda: found.append(verdict(lambda state: state))) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == ["linearizable"] * 8


def verdict_forever(state):
    return verdict_forever(state)


@pytest.mark.parametrize("initial, after", [(None, lambda arg: arg), (0, lambda arg: [0, None])])
def test_none_is_no_state_whether_at_first_or_among_several(initial, after):
    class Register(seriatim.Spec):
        """As one would write it if None were a state: a read of None would seem to be impossible."""

        def step(self, state, op, arg, result):
            if op == "write":
                return after(arg)
            return state if result in (state, UNKNOWN) else None

    Register.initial = initial
    rows = [(0, "write", 1, None, 0, 1), (0, "read", None, 1, 2, 3)]
    with pytest.raises(TypeError, match="None is no state"):
        check(rows, Register())


def test_operations_that_are_equal_but_not_the_same_are_told_apart():
    class Kinds(seriatim.Spec):
        initial = ()

        def step(self, state, op, arg, result):
            return state if isinstance(arg[0], bool) else None

    row = lambda arg, call: (0, "f", arg, None, call, call + 1)
    assert seriatim.check([row((True,), 0), row((True,), 2)], Kinds())
    assert seriatim.check([row((True,), 0), row((1,), 2)], Kinds()).verdict == "violation"


@pytest.mark.parametrize("hold", [lambda value: value, lambda value: (0, (value,)), lambda value: frozenset([(value, 0)])])
def test_states_that_are_equal_but_not_the_same_are_told_apart(hold):
    class Shown(seriatim.Spec):
        initial = hold(0.0)

        def step(self, state, op, arg, result):
            return hold(arg) if op == "write" else state if repr(hold(result)) == repr(state) else None

    values = [0.0, False, 0, -0.0, 1, True, 1.0]
    for first, second in itertools.product(values, repeat=2):
        for read in (first, second):
            rows = [(0, "write", first, None, 0, 1), (0, "write", second, None, 2, 3), (0, "read", None, read, 4, 5)]
            expected = "linearizable" if repr(read) == repr(second) else "violation"
            assert seriatim.check(rows, Shown()).verdict == expected, rows


def test_a_recorder_is_used_by_what_the_collector_runs():
    recorder = seriatim.Recorder()

    class Talks:
        def __init__(self):
            self.me = self  # only the collector ends it

        def __del__(self):
            with recorder.op("gone"):
                pass

    for value in range(5_000):
        Talks()
        with recorder.op("write", value):
            pass
        if value % 1_000 == 0:
            assert len(recorder.rows()) >= value
    assert len(recorder) > 5_000


def test_times_that_make_no_sense():
    for time in (-1, float("nan"), float("inf"), 1e19, 1e300):
        with pytest.raises(ValueError, match="time"):
            seriatim.check("", "queue", time=time)


def run(program):
    """What a program of its own leaves behind."""
    ran = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=300)
    return ran.returncode, ran.stdout.strip(), ran.stderr.strip()


def test_a_specification_that_asks_about_itself_is_refused():
    class Endless(seriatim.Spec):
        initial = 0

        def step(self, state, op, arg, result):
            return state if seriatim.check(OVERTAKEN, self) else None

    with pytest.raises(ValueError, match="Endless is asked while it is asked"):
        seriatim.check(OVERTAKEN, Endless())
    assert seriatim.check([(0, "take", None, 0, 1, 2)], Tickets())


def test_python_ends_although_daemons_check():
    program = """
        import seriatim, threading, time

        class Slow(seriatim.Spec):
            initial = ()
            def step(self, state, op, arg, result):
                return (*state, arg)[-9:] if result is None else None

        hopeless = [(i, "x", i, None, 0, 1000) for i in range(60)] + [(99, "x", 5, "no", 0, 1000)]
        amounts = [(i * 37 + 11) % 50 + 1 for i in range(40)]
        sums = [(i, "add", amount, None, 0, 1000) for i, amount in enumerate(amounts)]
        sums += [(100 + k, "read", None, sum(amounts) // k, 0, 1000) for k in (2, 3)]
        sums += [(199, "read", None, sum(amounts) - 1, 1001, 1002)]
        for history, spec in ((hopeless, Slow()), (sums, "counter")):
            threading.Thread(target=seriatim.check, args=(history, spec), daemon=True).start()
        time.sleep(0.3)
        print("done")
    """
    assert run(program)[:2] == (0, "done")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_process_records_and_checks():
    program = """
        import os, seriatim, sys, threading, time

        recorder, stop = seriatim.Recorder(), threading.Event()

        def record():
            while not stop.is_set():
                with recorder.op("write", [1]):
                    pass
                seriatim.check([(0, "write", 1, None, 0, 1)], "register")

        threads = [threading.Thread(target=record) for _ in range(3)]
        for thread in threads: thread.start()
        children = []
        for _ in range(20):
            child = os.fork()
            if child == 0:
                with recorder.op("write", [2]):
                    pass
                assert seriatim.check([(0, "write", 1, None, 0, 1)], "register")
                stop.set()
                sys.exit(7)
            children.append(os.waitpid(child, 0)[1])
        stop.set()
        for thread in threads: thread.join()
        print({os.waitstatus_to_exitcode(status) for status in children})
    """
    assert run(program)[:2] == (0, "{7}")


def test_compressed_bytes_are_unpacked_and_damaged_ones_refused():
    log = b'{"process":0,"op":"enqueue","arg":1,"call":0,"return":1}\n'
    assert check(gzip.compress(log), "queue")
    with pytest.raises(ValueError, match="<python>:1: cannot read: "):
        check(gzip.compress(log)[:-9], "queue")


def test_numbers_are_what_they_are_and_not_how_they_show_themselves():
    class Shown(float):
        def __repr__(self):
            return "7"

    rows = [(0, "write", Shown(1.5), None, 0, 1), (0, "read", None, 1.5, 2, 3)]
    assert check(rows, "register")
    # In JSON the key 1 would be the key "1".
    rows = [{"process": 0, "op": "write", "arg": {1: 2}, "call": 0, "return": 1}]
    with pytest.raises(TypeError, match="a key of a dict"):
        check(rows, "register")
    for wrong in ({"threads": -1}, {"memory": -1}, {"threads": 1 << 70}, {"memory": True}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            check(OVERTAKEN, "queue", **wrong)


def test_a_start_that_is_unknown():
    rows = [(0, "read", None, 5, 0, 1), (0, "read", None, 5, 2, 3)]
    assert check(rows, "register(init=unknown)")
    assert not check([*rows, (0, "read", None, 6, 4, 5)], "register(init=unknown)")
