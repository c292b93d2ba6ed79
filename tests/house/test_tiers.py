"""The test runner ends hanging tests with all their processes, and reports results."""

from __future__ import annotations

import io
import os
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.house.marked import files_of_slow_tests
from tests.house.order import LONGEST
from tests.house.progress import Progress, last_line, outcome, why_skipped
from tests.house.tiers import ROOT, TIERS, guarded, quick_files
from tests.waiting import wait_until

pytestmark = pytest.mark.skipif(
    not Path("/proc/self").exists(), reason="needs Linux's /proc"
)

#: A program that starts a process in a new session, writes its ID to a file, and hangs.
HANGS = """
import pathlib, subprocess, sys, time
command = [sys.executable, "-c", "import time; time.sleep(3600)"]
child = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL)
pathlib.Path(sys.argv[1]).write_text(str(child.pid))
time.sleep(3600)
"""


def test_what_is_silent_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    out, number = io.BytesIO(), tmp_path / "number"
    assert (
        guarded([sys.executable, "-c", HANGS, str(number)], silence=2.0, out=out) == 124
    )
    assert b"the tests were ended, as they hung" in out.getvalue()
    if number.exists():  # a slow machine may not have written it in two seconds
        wait_until(lambda: not _runs(number.read_text()))


def _runs(number: str) -> bool:
    try:
        status = Path(f"/proc/{number}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize("code", [0, 3])
def test_what_prints_is_passed_on_and_its_exit_code_too(code: int) -> None:
    out = io.BytesIO()
    program = f"print('seen'); raise SystemExit({code})"
    assert guarded([sys.executable, "-c", program], out=out) == code
    assert out.getvalue() == b"seen\n"


def test_temporary_files_are_in_memory_where_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TMPDIR", raising=False)
    with quick_files(tmp_path, needed=1):
        assert Path(os.environ["TMPDIR"]).parent == tmp_path
        (Path(os.environ["TMPDIR"]) / "left").write_text("")
    assert "TMPDIR" not in os.environ
    assert not list(tmp_path.iterdir())
    with (
        quick_files(tmp_path, needed=1 << 60),
        quick_files(tmp_path / "none", needed=1),
    ):
        assert "TMPDIR" not in os.environ
    monkeypatch.setenv("TMPDIR", "chosen")
    with quick_files(tmp_path, needed=1):
        assert os.environ["TMPDIR"] == "chosen"


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("case", range(3))
def test_only_the_first_cases_are_in_the_fast_tier(
    case: int, request: pytest.FixtureRequest
) -> None:
    alone = len(request.session.items) == 1  # a case that runs alone is the first
    assert (request.node.get_closest_marker("slow") is None) == (case < 2 or alone)


def test_the_two_tiers_are_all_tests_of_this_machine() -> None:
    """Each test is in exactly one tier, unless it needs a GPU or the network."""
    assert TIERS["fast"].marked == f"not {TIERS['slow'].marked}"


def test_files_of_slow_tests_are_found_by_what_they_say_and_import() -> None:
    found = files_of_slow_tests()
    assert "tests/docs/test_site.py" in found
    # It imports a class with slow tests from another module.
    assert "tests/models/test_tiny.py" in found
    assert "tests/test_seeds.py" not in found


def test_the_longest_tests_have_the_names_that_they_are_ordered_by() -> None:
    texts = "".join(
        (ROOT / file).read_text(encoding="utf-8") for file in files_of_slow_tests()
    )
    names = [
        part.strip(":").partition("[")[0] for part in LONGEST if part.startswith("::")
    ]
    assert [
        name for name in names if not re.search(rf"(def|class) {name}", texts)
    ] == []


def test_the_last_line_says_what_would_lift_each_skip() -> None:
    counts = Counter(passed=1200, failed=1, error=1, skipped=3)
    skipped = Counter({"install chromium to run": 2, "needs git": 1})
    assert last_line(counts, skipped, 61.0, "More follows.") == (
        "1,200 tests passed in 1:01, 2 failed. "
        "Skipped: 2 (install chromium to run), 1 (needs git). More follows."
    )


def _report(when: str, result: str, longrepr: object = None) -> pytest.TestReport:
    about: dict[str, Any] = {"outcome": result, "longrepr": longrepr, "when": when}
    return pytest.TestReport("a::b", ("a", 1, "b"), {}, **about)


def test_a_test_counts_once() -> None:
    passes = [_report(when, "passed") for when in ("setup", "call", "teardown")]
    assert [outcome(report) for report in passes] == ["", "passed", ""]
    assert outcome(_report("setup", "failed")) == "error"
    assert outcome(_report("call", "failed")) == "failed"


@pytest.mark.parametrize(
    ("reason", "lifted"),
    [
        ("Skipped: needs git", "needs git"),
        (
            "Skipped: could not import 'yaml.x': No module named 'yaml'",
            "pip install yaml lifts this",
        ),
    ],
)
def test_a_skip_says_what_lifts_it(reason: str, lifted: str) -> None:
    report = _report("setup", "skipped", ("file.py", 1, reason))
    assert outcome(report) == "skipped"
    assert why_skipped(report) == lifted


def test_a_file_that_cannot_be_collected_counts_once() -> None:
    progress = Progress(io.StringIO())
    report = pytest.CollectReport("tests/test_x.py", "failed", "SyntaxError", None)
    for _ in range(2):  # two processes report the same file
        progress.pytest_collectreport(report)
    assert progress.counts == {"error": 1}
