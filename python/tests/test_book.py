"""The examples of the book run."""

import re
from pathlib import Path

import pytest

PAGES = [Path(__file__).parents[2] / "docs/python.md", Path(__file__).parents[1] / "README.md"]
EXAMPLES = [(page.name, code) for page in PAGES for code in re.findall(r"```python\n(.*?)```", page.read_text(), re.S)]


def test_there_are_examples():
    assert len(EXAMPLES) == 5


@pytest.mark.parametrize("page, code", EXAMPLES, ids=[page for page, _ in EXAMPLES])
def test_an_example_runs(page, code, linearizable):
    names = {}
    exec(compile(code, page, "exec"), names)
    # A list, because a warning of the example adds a name to the dictionary.
    for name, value in list(names.items()):
        if name.startswith("test_"):
            value(linearizable)
