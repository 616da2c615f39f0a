"""Is a concurrent object linearizable?

An object is linearizable when its operations, however they overlap in time, could have happened one after another in
an order that respects real time.

>>> history = [("ann", "enqueue", 1, None, 0, 20),
...            ("ann", "enqueue", 2, None, 30, 60),
...            ("bob", "dequeue", None, 2, 40, 80)]
>>> verdict = check(history, "queue")
>>> verdict.verdict
'violation'
>>> verdict.report["counterexample"]["operations"][-1]["text"]
'dequeue() -> 2'

`print(verdict)` draws it.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Union

from . import _seriatim
from ._seriatim import Recorder, __version__

__all__ = ["UNKNOWN", "Recorder", "Spec", "Verdict", "check", "__version__"]


class _Unknown:
    """What an operation returned that never returned."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = _Unknown()
"""The result of an operation that never returned: every result is possible."""


class Spec:
    """A sequential object of your own.

    >>> class Tickets(Spec):
    ...     initial = 0
    ...     def step(self, state, op, arg, result):
    ...         return state + 1 if result in (state, UNKNOWN) else None
    >>> bool(check([(0, "take", None, 0, 1, 2), (0, "take", None, 1, 3, 4)], Tickets()))
    True
    """

    initial: Hashable = None
    """The state before the first operation; it has to be given, since None is no state."""

    key: Any = None
    """A method `key(op, arg)`, for objects that consist of independent parts: the part that an operation acts on."""

    def step(self, state: Any, op: str, arg: Any, result: Any) -> Any:
        """The state after `op(arg)` returned `result` in `state`; None if it cannot; a list if there are several.

        The result is `UNKNOWN` if nobody knows it. A step must depend on its arguments alone and leave the state as it
        is. States are hashable, and None is no state.
        """
        raise NotImplementedError


class Verdict:
    """What was found out about a history.

    As a truth value it is whether the history is linearizable; where that is unknown there is none, and it raises a
    ValueError. As text it is the report, in which a violation is drawn; in a notebook it shows itself as a page.
    """

    def __init__(self, answer: _seriatim.Answer) -> None:
        self._answer = answer
        self._report: dict[str, Any] | None = None

    @property
    def verdict(self) -> str:
        """"linearizable", "violation" or "unknown"."""
        return self._answer.verdict

    @property
    def report(self) -> dict[str, Any]:
        """The JSON report."""
        if self._report is None:
            self._report = json.loads(self._answer.json())
        return self._report

    def __bool__(self) -> bool:
        if self.verdict == "unknown":
            raise ValueError(f"whether the history is linearizable is unknown: {self.report['unknown']['limit']}")
        return self.verdict == "linearizable"

    def __str__(self) -> str:
        return self._answer.text(100)

    def __repr__(self) -> str:
        return f"<seriatim.Verdict: {self.verdict}>"

    def html(self) -> str:
        """The report as a page that any browser opens."""
        return self._answer.html().decode()

    def _repr_html_(self) -> str:
        page = self._answer.html()
        if len(page) > _LARGEST_SHOWN:
            return f"<pre>{_escaped(str(self))}</pre>"
        source = base64.b64encode(page).decode()
        return (
            '<iframe sandbox="allow-scripts" style="width:100%;height:480px;border:0" '
            f'src="data:text/html;base64,{source}"></iframe>'
        )


# A notebook keeps what it shows.
_LARGEST_SHOWN = 1 << 20


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


History = Union["os.PathLike[str]", str, bytes, Recorder, Iterable[tuple[Any, ...]], Iterable[Mapping[str, Any]]]


def check(
    history: History,
    spec: str | Spec | None = None,
    *,
    seri: str | None = None,
    time: float | None = None,
    memory: int | str | None = None,
    threads: int | None = None,
    failures: str = "drop",
    independent: bool = False,
) -> Verdict:
    """Decides whether a history is linearizable.

    The history is a path (`pathlib.Path`), the text of a log as str or bytes, a Recorder, rows
    `(process, op, arg, result, call, return)`, or dicts as in JSON Lines. In a row an `arg` that is None is none, and a
    `return` that is None says that the operation never returned.

    The specification is a name ("queue", "cas-register(init=0)"), a Spec of your own, or with `seri` a text in the
    algorithm language; without one the history's own counts, or what all that can read it agree on.

    `time` is in seconds, `memory` in bytes or as "1G"; what they leave undecided is unknown. `failures="observe"` says
    that a failed operation saw that its condition did not hold.

    Raises ValueError for input that makes no sense, with the message of the command, and whatever a Spec raises.
    """
    if failures not in ("drop", "observe"):
        raise ValueError(f"failures: expected 'drop' or 'observe', found {failures!r}")
    asked = {
        "spec": None,
        "seri": seri,
        "source": "<python>",
        "time": time,
        "memory": _bytes(memory),
        "threads": _natural("threads", threads, "a number of threads"),
        "observe": failures == "observe",
        "independent": independent,
    }
    if isinstance(history, Recorder):
        history = history.rows()
    if isinstance(spec, Spec):
        if isinstance(history, (str, bytes, os.PathLike)):
            raise TypeError("a Spec of your own is asked about rows or a Recorder")
        return Verdict(_seriatim.check_spec(history, spec, UNKNOWN, asked))
    if spec is not None and not isinstance(spec, str):
        raise TypeError(f"spec: expected a name or a Spec, found {spec!r}")
    asked["spec"] = spec
    if isinstance(history, os.PathLike):
        # A lone - would be the standard input, which is nobody's history here.
        path = os.fspath(history)
        return Verdict(_seriatim.check_file("./-" if path == "-" else path, asked))
    if isinstance(history, str):
        history = history.encode()
    if isinstance(history, bytes):
        return Verdict(_seriatim.check_text(history, asked))
    rows: list[Any] = list(history)
    if rows and isinstance(rows[0], Mapping):
        lines = "".join(json.dumps(_told(row), allow_nan=False) + "\n" for row in rows)
        return Verdict(_seriatim.check_text(lines.encode(), asked))
    return Verdict(_seriatim.check_rows(rows, asked))


def _told(value: Any) -> Any:
    """What JSON says of a value and nothing else: there the key 1 would be the key "1"."""
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"a key of a dict is a str in JSON Lines, found {key!r}; rows take any key")
        return {key: _told(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_told(inner) for inner in value]
    return value


def _bytes(amount: int | str | None) -> int | None:
    if isinstance(amount, str):
        found = re.fullmatch(r"(\d+)([KMGT]?)B?", amount.strip())
        amount = int(found[1]) << 10 * " KMGT".index(found[2] or " ") if found else amount
    return _natural("memory", amount, "an amount such as 500M or 8G")


def _natural(name: str, number: Any, expected: str) -> int | None:
    """A number that an option may be; a machine word has room for no more."""
    if number is None or (isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 1 << 63):
        return number
    raise ValueError(f"{name}: expected {expected}, found {number!r}")
