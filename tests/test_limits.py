"""Computations that need too much memory are refused, with the estimate and the limit."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from inweights.cli import main
from inweights.errors import ConfigError, DataError
from inweights.experiments.engine.attempts.blocks import capacity
from inweights.experiments.engine.tasks import Run
from inweights.experiments.grammar.trial import Trial
from inweights.models import GPTConfig
from inweights.support import limits
from inweights.training import Curriculum
from inweights.worlds import (
    AnalogicalTwoHop,
    Analogy,
    Graph,
    Hops,
    Implication,
    InContextStar,
    PathStar,
    RandomFacts,
    Reversal,
    TwoHop,
    read_knowledge,
)
from inweights.worlds.labels import Labels
from inweights.worlds.readers.tables.parquet import read_parquet

HUGE = 10**9
WORLDS = [
    TwoHop(n=HUGE),
    TwoHop(n=10**5, complexity=10**3),
    Analogy(n=HUGE),
    AnalogicalTwoHop(n=HUGE),
    Hops(n=HUGE),
    Hops(hops=HUGE),
    RandomFacts(subjects=HUGE),
    Reversal(n=HUGE),
    Implication(groups=HUGE),
    Implication(members=HUGE),
    PathStar(arms=HUGE),
    PathStar(nodes=HUGE),
    PathStar(branches=1000, nodes=5),
    InContextStar(trained=HUGE),
    InContextStar(labels=HUGE),
    Graph(shape="cycle", n=HUGE),
    Graph(shape="grid", rows=10**5, columns=10**5),
    Graph(arms=HUGE),
    Graph(nodes=HUGE),
    Graph(shape="tree-star", branches=10, nodes=12),
    Labels(labels=HUGE),
]
COMMANDS = [
    ("world", "two-hop", "--set", f"n={HUGE}"),
    ("world", "two-hop", "--set", f"n=1{'0' * 400}"),
    ("world", "path-star", "--set", "branches=2", "--set", f"nodes={HUGE}"),
    ("world", "graph", "--set", "shape=tree-star", "--set", f"nodes={HUGE}"),
    ("run", "identity-bridge/fig2", "--seeds", f"1{'0' * 18}"),
    ("run", "identity-bridge/fig2", "--scale", "smoke", "--set", f"n={HUGE}"),
    ("run", "demo/two-hop", "--config", "PLACE"),
    ("world", "PLACE"),
    ("predict", "PLACE"),
    ("audit", "PLACE"),
    ("augment", "PLACE", "--out", "new"),
    ("augment", "facts.csv", "--out", "new", "--wording", "PLACE"),
    ("atlas", "PLACE"),
    ("world", "graph", "--set", "shape=file", "--set", "file=PLACE"),
    ("world", "triples", "--set", "path=PLACE"),
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INWEIGHTS_RUNS", "runs")
    monkeypatch.setenv(limits.MAX_MEMORY, "16GB")
    Path("facts.csv").write_text("ann,mother,beth\nbeth,born,rome\n", encoding="utf-8")
    Path("folder").mkdir()
    os.mkfifo("pipe")
    return tmp_path


def refused(capsys, *words: str) -> str:
    assert main(words) == 2
    text = capsys.readouterr().err.strip()
    assert text.startswith("inweights: ")
    assert "\n" not in text
    return text


@pytest.mark.parametrize("config", WORLDS, ids=str)
def test_a_world_that_does_not_fit(config) -> None:
    with pytest.raises(ConfigError, match=r"takes about .* but the limit is 16 GB"):
        config.build()


def commands_and_places() -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield each command with each kind of path; commands without a file once."""
    for words in COMMANDS:
        names_a_file = any("PLACE" in word for word in words)
        for place in ("/dev/zero", "pipe", "folder") if names_a_file else ("pipe",):
            yield words, place


@pytest.mark.parametrize(("words", "place"), list(commands_and_places()), ids=str)
def test_commands(capsys, words, place) -> None:
    refused(capsys, *(word.replace("PLACE", place) for word in words))


@pytest.mark.parametrize("place", ["/proc/self/status", "/proc/kmsg"])
def test_what_has_no_size_may_have_no_end(capsys, place) -> None:
    """Files of the kernel may have no end; the second one blocks its readers."""
    if not os.access(place, os.R_OK):
        pytest.skip("there is none, or it is root's")
    assert "this system file reports the size 0" in refused(capsys, "audit", place)
    assert "this system file reports the size 0" in refused(capsys, "atlas", place)


def test_the_limit_can_be_given(capsys, monkeypatch) -> None:
    many = ("world", "two-hop", "--set", "n=3000")
    assert "the limit is 1 MB" in refused(capsys, *many, "--max-memory", "1MB")
    assert "the form 8GB" in refused(capsys, *many, "--max-memory=much")
    assert "the form 8GB" in refused(capsys, *many, "--max-memory")
    assert main([*many, "--max-memory=100MB"]) == 0
    assert os.environ[limits.MAX_MEMORY] == "16GB"
    monkeypatch.delenv(limits.MAX_MEMORY)
    assert main([*many, "--max-memory=100MB"]) == 0
    assert limits.MAX_MEMORY not in os.environ
    assert 10**8 < limits.memory_limit() < 10**14


def test_an_estimate_is_near_what_is_taken() -> None:
    """The estimate covers names and arrays; creating them takes about as much again."""
    import tracemalloc

    tracemalloc.start()
    world = TwoHop(n=20_000).build()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    with pytest.raises(ConfigError), limits.at_most(str(peak // 2)):
        TwoHop(n=20_000).build()
    with limits.at_most(str(3 * peak)):
        assert len(TwoHop(n=20_000).build().facts) == len(world.facts)


def test_a_file_too_large_for_the_memory() -> None:
    Path("long.csv").write_text("a,b,c\n" * 20_000, encoding="utf-8")
    for kind in ("csv", "jsonl", "json"):
        os.replace(next(Path().glob("long.*")), f"long.{kind}")
        with limits.at_most("1MB"), pytest.raises(DataError, match="reading long"):
            read_knowledge(f"long.{kind}")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_cell_of_megabytes(kind) -> None:
    name = "x" * 20_000_000
    row = (
        f"ann,mother,{name}\n"
        if kind == "csv"
        else json.dumps({"s": "a", "r": "b", "o": name})
    )
    Path(f"cell.{kind}").write_text(row, encoding="utf-8")
    with pytest.raises(
        DataError, match=r"line 1: the name 'x+…' has 20,000,000 characters"
    ) as error:
        read_knowledge(f"cell.{kind}")
    assert len(str(error.value)) < 300


def test_parquet_is_counted_before_it_is_read(folder) -> None:
    place = folder / "bomb.parquet"
    names = ("subject", "relation", "object")
    same = pl.Series(["x"]).new_from_index(0, limits.MAX_ROWS + 1)
    pl.DataFrame(dict.fromkeys(names, same)).write_parquet(place)
    assert place.stat().st_size < 100_000
    with pytest.raises(DataError, match=r"has 3,000,001 rows"):
        read_knowledge(place)
    long = pl.Series(["x" * 100_000]).new_from_index(0, 200)
    pl.DataFrame(dict.fromkeys(names, long)).write_parquet(place)
    assert place.stat().st_size < 100_000
    with limits.at_most("100MB"), pytest.raises(DataError, match="takes about 180 MB"):
        read_knowledge(place)
    lists = pl.Series([[1] * 10_000]).new_from_index(0, 200)
    pl.DataFrame({"prompt": lists}).write_parquet(place)
    with limits.at_most("10MB"), pytest.raises(DataError, match="takes about 48 MB"):
        read_parquet(place)
    texts = pl.Series([["x" * 100] * 100]).new_from_index(0, 200)
    pl.DataFrame({"candidates": texts}).write_parquet(place)
    with limits.at_most("5MB"), pytest.raises(DataError, match=r"takes about 6\.49 MB"):
        read_parquet(place)
    with limits.at_most("7MB"):
        assert read_parquet(place)["candidates"].list.len().sum() == 20_000


@pytest.mark.slow
def test_a_hub_that_all_facts_pass_through(capsys) -> None:
    rows = [f"a{i},to,hub\nhub,from{i},c{i}\n" for i in range(2000)]
    Path("hub.csv").write_text("".join(rows), encoding="utf-8")
    assert (
        main(
            [
                "world",
                "triples",
                "--set",
                "path=hub.csv",
                "--max-memory",
                "1GB",
                "--json",
            ]
        )
        == 0
    )
    # Of 4,000,000 rows.
    assert json.loads(capsys.readouterr().out)["queries"] == {"composition": 20_000}


def test_a_model_that_does_not_fit_is_counted_and_not_made() -> None:
    trial = Trial(
        labels={},
        world=TwoHop(n=3),
        model=GPTConfig(width=8192, layers=48, heads=8),
        learner=Curriculum(),
    )
    with pytest.raises(
        ConfigError, match=r"training a model of 38,\d+,\d+,\d+ parameters takes"
    ):
        capacity(Run("key", trial, 0))
