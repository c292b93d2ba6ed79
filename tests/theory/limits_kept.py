"""A program that measures by how much commands exceed the limit ``--seconds``.

``python tests/theory/limits_kept.py [calls] [SECONDS…] [NAME…]`` runs the commands with this
option (or the named ones) on facts of many shapes with each limit. It prints their times,
also as multiples of the limit. Times are processor times, so that other work on the machine
does not count: the commands' clock ``time.perf_counter`` is replaced by
``time.process_time``. With ``calls`` it is replaced by a count of function calls, which is
the same on every machine. The limit does not apply to reading the file before the
prediction, nor to the other computations of an audit.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tests.forks import forked

#: Largest permitted time: this multiple of the limit, plus this number of seconds for
#: short limits.
TIMES, LEAST = 1.5, 0.5
#: Number of calls and returns that correspond to a second.
A_SECOND = 1_000_000


def hub(count: int) -> Iterator[tuple[str, str, str]]:
    """Return facts that all share one entity, so that each pair of facts forms a chain."""
    for i in range(count):
        yield f"a{i}", "to", "hub"
        yield "hub", f"from{i}", f"c{i}"


def drawn(facts: int, entities: int, relations: int) -> Iterator[tuple[str, str, str]]:
    """Return random facts, many of which contradict each other."""
    rng = random.Random(facts)
    for _ in range(facts):
        head, tail = rng.randrange(entities), rng.randrange(entities)
        yield f"e{head}", f"r{rng.randrange(relations)}", f"e{tail}"


def chains(count: int) -> Iterator[tuple[str, str, str]]:
    for i in range(count):
        yield f"a{i}", "mother", f"b{i}"
        yield f"b{i}", "born", f"c{i % 50}"


FILES = {
    "hub": list(hub(1500)),
    "chains": list(chains(2000)),
    "drawn": list(drawn(3000, 1500, 4)),
    "dense": list(drawn(4000, 60, 30)),
}
COMMANDS = {
    **{f"predict {name}": ("predict", f"{name}.csv") for name in FILES},
    **{f"audit {name}": ("audit", f"{name}.csv") for name in FILES},
    "predict with decay": ("predict", "chains.csv", "--decay", "1e-4"),
    "predict with one answer": ("predict", "chains.csv", "--answers", "one"),
    "predict with intervals": ("predict", "chains.csv", "--intervals"),
    "predict a hub with intervals": ("predict", "hub.csv", "--intervals"),
    "predict two-hop": (
        "predict",
        "two-hop",
        "--set",
        "n=400",
        "--set",
        "complexity=3",
    ),
    "predict a graph": ("predict", "graph", "--set", "shape=cycle", "--set", "n=200"),
    "predict reversals": ("predict", "reversal", "--set", "n=300"),
}
#: Functions whose first call starts the measured time and whose return ends it. For
#: commands without an entry, the command itself does both.
STARTS = {
    "inweights.theory.prediction.predict": "parts_within",
    "inweights.audit.prediction.forecast": "facts_within",
}
ENDS = {"inweights.audit.audit": "forecast_of"}


def calls() -> Callable[[], float]:
    """Return a clock that counts calls, by which a program takes equally long on any machine."""
    made = [0]

    def count(*_: object) -> None:
        made[0] += 1

    sys.setprofile(count)
    return lambda: made[0] / A_SECOND


def note(
    clock: Callable[[], float], spans: list[tuple[float, float]], place: str, name: str
) -> None:
    """Make a function record when it is called and when it returns."""
    module = importlib.import_module(place)
    real = getattr(module, name)

    def noted(*args: object, **options: object) -> object:
        start = clock()
        try:
            return real(*args, **options)
        finally:
            spans.append((start, clock()))

    setattr(module, name, noted)


def measure(
    words: tuple[str, ...], seconds: float, told: Path, *, counted: bool
) -> None:
    """Record the time to which the limit applies, and the time of the whole command."""
    from inweights.cli import main

    began, ended = list[tuple[float, float]](), list[tuple[float, float]]()
    clock = calls() if counted else time.process_time
    time.perf_counter = clock
    for spans, places in ((began, STARTS), (ended, ENDS)):
        for place, name in places.items():
            note(clock, spans, place, name)
    start = clock()
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        assert main([*words, "--seconds", str(seconds)]) == 0
    now = clock()
    sys.setprofile(None)
    first = min((one for one, _ in began), default=start)
    last = max((one for _, one in ended), default=now)
    told.write_text(f"{last - first} {now - start}", encoding="ascii")


def main(*given: str) -> None:
    worst, named = 0.0, [one for one in given if one in COMMANDS]
    counted = "calls" in given
    limits = [float(one) for one in given if one not in (*named, "calls")] or [
        1.0,
        5.0,
        20.0,
    ]
    with tempfile.TemporaryDirectory() as home:
        os.chdir(home)
        told = Path("times")
        for name, facts in FILES.items():
            rows = "".join(",".join(fact) + "\n" for fact in facts)
            Path(f"{name}.csv").write_text(rows, encoding="utf-8")
        for name, words in COMMANDS.items():
            for limit in limits if name in (named or COMMANDS) else ():
                assert (
                    forked(partial(measure, words, limit, told, counted=counted)) == 0
                ), name
                under, whole = map(float, told.read_text(encoding="ascii").split())
                times = under / limit if under > limit + LEAST else 1.0
                worst = max(worst, times)
                sys.stdout.write(
                    f"{limit:5.1f} s  {under:6.2f} s  {under / limit:5.2f} times  "
                    f"(all of it {whole:6.2f} s)  {name}\n"
                )
                sys.stdout.flush()
    sys.stdout.write(f"{worst:.2f} times at most\n")
    assert worst <= TIMES


if __name__ == "__main__":
    main(*sys.argv[1:])
