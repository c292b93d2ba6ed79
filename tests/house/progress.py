"""Plugin of pytest for ``make test``: print progress and a result in words.

``tests/house/tiers.py`` loads it. Names of tests are sentences, so a line of progress has
the name of the test that started last. The last line of a run states how many tests
passed, failed and were skipped, and what would lift each skip.
"""

from __future__ import annotations

import faulthandler
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

import pytest

#: Seconds between two lines of progress, on a terminal and in a log.
TERMINAL, LOG = 0.2, 10.0
#: Widest line on a terminal.
WIDTH = 100


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--closing", default="", help="a sentence to add to the last line")


def pytest_configure(config: pytest.Config) -> None:
    # tests/house/tiers.py sends this signal to make every process print its stacks.
    if hasattr(signal, "SIGUSR1"):
        faulthandler.register(signal.SIGUSR1, file=2, all_threads=True)
    if not hasattr(config, "workerinput"):
        progress = Progress(sys.__stdout__ or sys.stdout, config.getoption("--closing"))
        config.pluginmanager.register(progress, "inweights-progress")


def in_words(node: str) -> str:
    """Return a description of a test: the folder of its file, and its name as a sentence.

    Example:
        >>> in_words("tests/experiments/test_engine.py::test_groups_are_split_by_memory[2-True]")
        'experiments: groups are split by memory'
        >>> in_words("src/inweights/seeds.py::inweights.seeds.Streams")
        'examples of inweights.seeds.Streams'
    """
    path, _, name = node.partition("::")
    if not path.startswith("tests/"):
        return f"examples of {name}"
    name = re.sub(r"\[.*", "", name.rpartition("::")[2])
    folder = path.removeprefix("tests/").rpartition("/")[0] or "the whole"
    return f"{folder}: {name.removeprefix('test_').replace('_', ' ')}"


def clock(seconds: float) -> str:
    """Return a duration as minutes and seconds.

    Example:
        >>> clock(125.4)
        '2:05'
    """
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02d}"


class Progress:
    """The results so far, and the lines that report them.

    Attributes:
        out: Stream to which lines are written.
        closing: A sentence to add to the last line.
        counts: Numbers of tests by outcome.
        skipped: Numbers of skipped tests by reason.
        unread: Files that could not be collected.
        started: Time at which the run began; ``began`` is the time of its first test.
    """

    def __init__(self, out: TextIO, closing: str = "") -> None:
        self.out, self.closing = out, closing
        self.total, self.counts, self.skipped = 0, Counter[str](), Counter[str]()
        self.unread: set[str] = set()
        self.started = self.began = time.monotonic()
        self._shown, self._width, self._now = 0.0, 0, ""

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        self.collected(len(ids))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.collected(len(session.items))

    def collected(self, tests: int) -> None:
        """Store the number of tests, which each of several processes reports."""
        if tests and not self.total:
            self.total, self.began = tests, time.monotonic()
            self._line(f"{tests:,} tests")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Count a file that cannot be read once, even if several processes report it."""
        if report.failed and report.nodeid not in self.unread:
            self.unread.add(report.nodeid)
            self.counts["error"] += 1
            self._line(f"ERROR {report.nodeid} cannot be collected")

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._now = in_words(nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, str] | None:
        """Return categories as pytest does, without its letters."""
        if not isinstance(report, pytest.TestReport):
            return None
        what = outcome(report)
        return what, "", what.upper() if what in ("failed", "error") else ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        what = outcome(report)
        if not what:
            return
        self.counts[what] += 1
        if what == "skipped":
            self.skipped[why_skipped(report)] += 1
        elif what in ("failed", "error"):
            self._line(f"{what.upper()} {report.nodeid}")
        self._show()

    def _show(self) -> None:
        """Print a line of progress if the last one is old enough."""
        now, terminal = time.monotonic(), self.out.isatty()
        if now - self._shown < (TERMINAL if terminal else LOG) or not self.total:
            return
        self._shown = now
        done, passed = self.counts.total(), now - self.began
        left = passed / done * max(0, self.total - done)
        text = (
            f"{done / self.total:4.0%} {done:,} of {self.total:,} tests, {clock(passed)}, "
            f"about {clock(left)} left; {self._now}"
        )
        self._line(text, stays=not terminal)

    def _line(self, text: str, stays: bool = True) -> None:
        """Print a line; on a terminal, the next overwrites it unless ``stays`` is true."""
        text = text if stays else text[:WIDTH]
        if not self.out.isatty():
            self.out.write(f"{text}\n")
        else:
            self.out.write(f"\r{text:{self._width}}{chr(10) if stays else ''}")
            self._width = 0 if stays else len(text)
        self.out.flush()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        if self._width:  # clears the last line of progress
            self._line("")

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        if self.counts:
            seconds = time.monotonic() - self.started
            self._line(last_line(self.counts, self.skipped, seconds, self.closing))


def outcome(report: pytest.TestReport) -> str:
    """Return passed, failed, skipped or error; empty if the report does not count."""
    if report.when == "call":
        return report.outcome
    if report.failed:
        return "error"
    return "skipped" if report.skipped else ""


def why_skipped(report: pytest.TestReport) -> str:
    """Return what would lift the skip of a test."""
    reason = (
        report.longrepr[2]
        if isinstance(report.longrepr, tuple)
        else str(report.longrepr)
    )
    reason = reason.removeprefix("Skipped: ")
    missing = re.match(r"could not import '([\w.]+)'", reason)
    return (
        f"pip install {missing[1].partition('.')[0]} lifts this" if missing else reason
    )


def last_line(
    counts: Counter[str], skipped: Counter[str], seconds: float, closing: str = ""
) -> str:
    """Return the result of a run in words.

    Args:
        counts: Numbers of tests by outcome: passed, failed, error, skipped.
        skipped: Numbers of skipped tests by reason.
        seconds: How long the run took.
        closing: A sentence to add at the end.

    Example:
        >>> last_line(Counter(passed=12, skipped=2), Counter({"install chromium": 2}), 65.0)
        '12 tests passed in 1:05, none failed. Skipped: 2 (install chromium).'
    """
    bad = counts["failed"] + counts["error"]
    text = f"{counts['passed']:,} tests passed in {clock(seconds)}, {bad or 'none'} failed."
    if skipped:
        text += f" Skipped: {_listed(skipped.most_common())}."
    return f"{text} {closing}".strip()


def _listed(reasons: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{count} ({reason})" for reason, count in reasons)
