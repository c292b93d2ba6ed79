"""Every Python program in the documentation runs and prints what its page shows."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE
from types import ModuleType

import pytest
from tests.docs import printed
from tests.docs.printed import blocks
from tests.forks import Forks
from tests.shell import Shell

#: The studies run here are too small for a model to learn its facts.
pytestmark = pytest.mark.filterwarnings("ignore::inweights.errors.CautionWarning")

ROOT = Path(__file__).parents[2]
WRITTEN = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
PAGES = sorted(page for page in WRITTEN if blocks(page.read_text("utf-8")))
#: The programs of the tutorial run between its commands, in a test of their own.
TUTORIAL = ROOT / "docs" / "tutorial.md"
#: The code of notebooks runs here, and again with its outputs when the site is built.
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.md"))
#: Whether the outputs of programs are written to the pages.
WRITING = bool(os.environ.get("INWEIGHTS_WRITE"))
#: Packages that a page needs and that no extra of the library installs.
NEEDS = {"there-and-back": ("transformer_lens", "nnsight")}
#: Pages whose programs take about a second of processor time or more.
LONG = (
    "atlas",
    "extend-recipe",
    "guide-models",
    "league",
    "looking",
    "own-facts-in-experiments",
    "own-model",
    "own-rows",
    "own-training",
    "predict",
    "sweep",
    "trained-model",
)


def test_pages_are_found() -> None:
    names = {page.stem for page in PAGES}
    extending = {f"extend-{noun}" for noun in ("world", "probe", "recipe")}
    assert {"README", *extending} <= names


def test_blocks_are_found_with_their_lines() -> None:
    text = (
        "# Page\n\n```python\na = 1\n```\n\n```sh\nls\n```\n\n```python\nb = 2\n```\n"
    )
    assert [block[:3] for block in blocks(text)] == [
        (3, "a = 1\n", ""),
        (11, "b = 2\n", ""),
    ]


def test_what_is_printed_is_written_below_its_program() -> None:
    page = "A\n\n```python\nprint(1)\n```\n\nB\n\n```python\npass\n```\n"
    whole = printed.with_outputs(page, ["1\n", ""])
    assert whole == page.replace("\nB", "\n```text\n1\n```\n\nB")
    assert printed.with_outputs(whole, ["1\n", ""]) == whole
    assert blocks(whole)[0].printed == "1\n"


@pytest.mark.parametrize(
    ("one", "other", "agree"),
    [
        ("a 0.5 b", "a 0.52 b", True),
        ("a 0.5 b", "a 0.7 b", False),
        ("a=0.5", "b=0.5", False),
        ("a", "a a", False),
        ("1000", "1050", True),
        ("1000", "1200", False),
        ("│ 1 ┆ ab │\n└──┘", "│ 1  ┆  ab │\n└─────┘", True),
    ],
)
def test_numbers_may_differ_a_little(one: str, other: str, agree: bool) -> None:
    assert printed.same(one, other) is agree


@pytest.mark.usefixtures("registries")
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page, marks=[pytest.mark.slow] * (page in NOTEBOOKS or page.stem in LONG)
        )
        for page in (*PAGES, *NOTEBOOKS)
        if page != TUTORIAL
    ],
    ids=lambda page: page.stem,
)
def test_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NEEDS.get(page.stem, ()):
        pytest.importorskip(name, reason=f"pip install {name} lifts this")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INWEIGHTS_RUNS", str(tmp_path / "runs"))
    # The page's code runs in a named module, so that its classes can be inspected.
    module = ModuleType("page_" + page.stem.replace("-", "_"))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    outputs = []
    for block in blocks(page.read_text("utf-8")):
        with contextlib.redirect_stdout(io.StringIO()) as output:
            # The empty lines make a traceback name the line of the page.
            code = compile(
                "\n" * block.above + block.code, str(page), "exec", dont_inherit=True
            )
            exec(code, module.__dict__)
        outputs.append(output.getvalue())
        if not (WRITING or page in NOTEBOOKS):  # the site shows what a notebook printed
            assert printed.same(block.printed, outputs[-1]), outputs[-1]
    if WRITING and page not in NOTEBOOKS:
        printed.write(page, outputs)


LANDING = re.findall(
    r"^```sh\n(printf .*?)^```$",
    (ROOT / "docs" / "index.md").read_text("utf-8"),
    re.MULTILINE | re.DOTALL,
)


@pytest.mark.slow
@pytest.mark.parametrize("place", range(3))
def test_a_newcomer_arrives_in_three_commands(
    place: int, tmp_path: Path, forks: Forks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commands of the landing page run when they are pasted into a shell."""
    monkeypatch.delenv("INWEIGHTS_RUNS", raising=False)
    commands = LANDING[place].strip().splitlines()
    assert len(commands) <= 3
    shell = Shell(forks, tmp_path)
    for command in commands:
        assert shell.run(command) or command.startswith("printf")


@pytest.mark.slow
def test_the_tutorial_runs_from_an_empty_folder(
    tmp_path: Path, forks: Forks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its programs and commands run in order; the slow demonstration is left out."""
    text = TUTORIAL.read_text("utf-8")
    programs = iter(blocks(text))
    outputs = []
    found = re.findall(r"^```(python|sh)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    monkeypatch.setenv("INWEIGHTS_RUNS", str(tmp_path))
    shell = Shell(forks, tmp_path, "sh")
    commands = [sys.executable, "-c", SESSION]
    with (
        (tmp_path / "errors").open("w+") as errors,
        subprocess.Popen(
            commands, cwd=tmp_path, stdin=PIPE, stdout=PIPE, stderr=errors, text=True
        ) as session,
    ):
        assert session.stdin
        assert session.stdout
        for kind, code in found:
            if kind == "python":  # each block continues the session of the last one
                session.stdin.write(json.dumps(code) + "\n")
                session.stdin.flush()
                ended = session.stdout.readline()
                assert ended, (code, (tmp_path / "errors").read_text())
                outputs.append(json.loads(ended))
                said = next(programs).printed
                assert WRITING or printed.same(said, outputs[-1]), outputs[-1]
                continue
            shell.run(
                "\n".join(line for line in code.splitlines() if "demo" not in line)
            )
        session.stdin.close()
        assert session.wait() == 0
    if WRITING:
        printed.write(TUTORIAL, outputs)


#: Executes the programs on its standard input, one JSON string on each line, in one
#: session, and writes the output of each as a line of JSON.
SESSION = """
import contextlib, io, json, sys
names = {"__name__": "__main__"}
for line in sys.stdin:
    with contextlib.redirect_stdout(io.StringIO()) as output:
        exec(compile(json.loads(line), "tutorial", "exec"), names)
    print(json.dumps(output.getvalue()), flush=True)
"""
