"""Commands and readers survive mutated input; ``make fuzz`` runs many more cases."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fuzz.campaign import wrong
from tests.fuzz.mutate import mutated_bytes, mutated_command, mutated_value
from tests.fuzz.worker import Case

from inweights.config import apply_overrides
from inweights.errors import InweightsError
from inweights.support.limits import parse_bytes
from inweights.worlds import TwoHop, read_knowledge
from inweights.worlds.readers.graphs.edge_lists import read_edges

T = TypeVar("T")
linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
#: Text that resembles valid files, so that readers often get past the first line.
NEAR = st.lists(
    st.sampled_from(
        [
            "a",
            "b",
            "subject",
            "relation",
            "object",
            "stage",
            ",",
            ";",
            "\t",
            "=",
            '"',
            "\n",
            "\r",
            "#",
            " ",
            "1",
            "-1",
            "é",
            "\u2028",
            "\ufeff",
            "\x00",
            '{"s":"a","r":"b","o":"c"}',
            "[",
            "{",
        ]
    ),
    max_size=30,
).map("".join)


def read_or_refused(read: Callable[[], T]) -> T | None:
    """Return what is read, or None if it is refused by an error with a message."""
    try:
        return read()
    except InweightsError as error:
        if not str(error):
            raise
        return None


@linux
@pytest.mark.slow
def test_mutated_commands_and_files() -> None:
    words = ["--commands", "15", "--files", "15", "--seed", "1", "--jobs", "1"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.campaign", *words],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 wrong of command" in done.stdout


@given(NEAR, st.sampled_from(["csv", "tsv", "jsonl", "json", "ttl", "nt"]))
def test_facts_are_read_or_refused(tmp_path_factory, text, kind) -> None:
    path = tmp_path_factory.mktemp("facts") / f"f.{kind}"
    path.write_text(text, encoding="utf-8", newline="")
    facts = read_or_refused(lambda: read_knowledge(path))
    if facts is not None:
        assert len(facts) == len(facts.lines) > 0
        assert all(name.strip() == name for name in facts.entities)


@given(NEAR, st.sampled_from(["csv", "txt", "graphml"]))
def test_edges_are_read_or_refused(tmp_path_factory, text, kind) -> None:
    path = tmp_path_factory.mktemp("edges") / f"e.{kind}"
    path.write_text(text, encoding="utf-8", newline="")
    edges = read_or_refused(lambda: read_edges(path))
    if edges is not None:
        assert edges.links
        assert {label for link in edges.links for label in link} <= set(edges.nodes)


@pytest.mark.slow
@given(
    st.sampled_from(["n", "complexity", "identity", "maps", "m", "n.n"]),
    st.text(max_size=12),
)
def test_a_setting_fits_or_is_refused(key, text) -> None:
    config = read_or_refused(lambda: apply_overrides(TwoHop(), [f"{key}={text}"]))
    assert config is None or config.n >= 2


@given(st.text(max_size=12))
def test_a_size_is_positive_or_refused(text) -> None:
    size = read_or_refused(lambda: parse_bytes(text))
    assert size is None or size > 0


@given(st.binary(max_size=60), st.integers(0, 9))
def test_mutations_are_a_function_of_their_draw(data, seed) -> None:
    one, other = (mutated_bytes(random.Random(seed), data) for _ in range(2))
    assert one == other
    words = ["world", "two-hop", "--set", "n=3"]
    first, second = (
        mutated_command(random.Random(seed), words, ["a"]) for _ in range(2)
    )
    assert first == second
    assert words == ["world", "two-hop", "--set", "n=3"]
    assert mutated_value(random.Random(seed), {"a": [1]}) != {"b": 1}


RIGHT = {"code": 0, "error": "", "seconds": 0.1, "megabytes": 1, "err": "", "out": ""}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({}, ""),
        ({"code": 2, "err": "inweights: no\n"}, ""),
        ({"code": 2}, "0 lines"),
        ({"code": 2, "err": "inweights: a\ninweights: b\n"}, "2 lines"),
        ({"code": 1, "err": "inweights: a\n"}, "code 1"),
        ({"code": 3}, "code 3"),
        ({"seconds": 9}, "takes 9"),
        ({"megabytes": 2000}, "takes 2000"),
        ({"err": "Traceback (most"}, "traceback"),
        ({"error": "x\nKeyError: 1"}, "KeyError"),
        ({"out": '{"claims": 2}'}, "not noticed"),
    ],
)
def test_what_is_wrong_is_seen(answer, why) -> None:
    found = wrong(
        Case(["show"], expected='{"claims": 1}' if "out" in answer else ""),
        RIGHT | answer,
    )
    assert why in found
    assert bool(found) == bool(why)
