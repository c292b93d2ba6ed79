"""The ledger of every earlier commit is a prefix of each later one."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from inweights.actions.ledger.lines import LEDGER

ROOT = Path(__file__).parents[2]
FILE = f"results/{LEDGER}"
#: Before this date, some lines were rewritten with different hashes and chained again at
#: merges, but no judged line was lost (docs/verdicts.md).
SINCE = "2026-11-26T00:00:00"


def git(*words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(ROOT), *words], capture_output=True, check=True
    )
    return done.stdout.decode()


def commits() -> list[str]:
    """Return the commits that changed the ledger since that day, the oldest first."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("needs git and the repository's history; install git and clone it")
    if git("rev-parse", "--is-shallow-repository").strip() == "true":
        pytest.skip("needs the whole history; 'git fetch --unshallow' gets it")
    return git(
        "log", "--reverse", "--format=%H", f"--since={SINCE}", "--", FILE
    ).split()


def is_continued(earlier: str, later: str) -> bool:
    """Return whether the later ledger only adds lines to the earlier one."""
    return later.startswith(earlier)


def test_a_ledger_that_lost_or_changed_a_line_is_no_continuation() -> None:
    assert is_continued("a\nb\n", "a\nb\nc\n")
    assert not is_continued("a\nb\n", "a\nc\n")
    assert not is_continued("a\nb\n", "b\n")


def test_every_earlier_ledger_is_the_beginning_of_this_one() -> None:
    now = (ROOT / FILE).read_text("utf-8")
    for commit in commits():
        earlier = git("show", f"{commit}:{FILE}")
        assert is_continued(earlier, now), (
            f"lines of the ledger of {commit} are changed or missing"
        )
