"""Every history of the repository has the verdict and the report of the command."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import seriatim

ROOT = Path(__file__).parents[2]
COMMAND = os.environ.get("SERIATIM", str(ROOT / "target/debug/seriatim"))


def histories():
    lines = (ROOT / "testdata/manifest.tsv").read_text().splitlines()[1:]
    for file, spec, verdict, *_ in (line.split("\t") for line in lines):
        yield ROOT / "testdata" / file, spec, verdict
    for path in sorted((ROOT / "examples/histories").iterdir()):
        if path.suffix != ".md":
            yield path, None, None


HISTORIES = list(histories())


def test_there_are_histories():
    assert len(HISTORIES) > 100


def comparable(report):
    del report["statistics"]["elapsed_seconds"]
    return {name: value for name, value in report.items() if name != "source"}


@pytest.mark.parametrize("path, spec, verdict", HISTORIES, ids=[path.name for path, _, _ in HISTORIES])
def test_a_history_has_the_report_of_the_command(path, spec, verdict):
    words = [COMMAND, "check", "--json", "--threads", "1", *(["--spec", spec] if spec else []), path]
    told = comparable(json.loads(subprocess.run(words, capture_output=True, check=False).stdout))
    for history in (path, path.read_bytes()):
        found = seriatim.check(history, spec, threads=1)
        assert verdict in (None, found.verdict)
        assert comparable(found.report) == told


def test_the_command_is_in_the_wheel():
    def run(*words):
        ran = subprocess.run([sys.executable, "-m", "seriatim", *words], capture_output=True, text=True, check=False)
        return ran.returncode, ran.stdout

    example = str(ROOT / "examples/histories/queue-overtaken.jsonl")
    assert run("check", "-q", example) == (1, f"{example}: violation (5 operations)\n")
    code, algorithms = run("algorithms")
    files = list((ROOT / "algorithms").rglob("*.seri"))
    assert code == 0 and len(algorithms.splitlines()) >= len(files) > 100
    assert run("check", "/no/such/file")[0] == 2
