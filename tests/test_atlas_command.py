"""``inweights atlas``: users' graphs, from the command line to the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.console.calls import call

from inweights.cli.commands.graphs import Paths, _path_star, _settings
from inweights.config import apply_overrides
from inweights.errors import ConfigError
from inweights.recipes import get_recipe
from inweights.recipes.beyond.real_graphs import Settings
from inweights.worlds import Graph

ODD = ['quo"te', "Åsa, B", "back\\slash", "]}=", "日本"]


@pytest.fixture
def runs(tmp_path, monkeypatch):
    monkeypatch.setenv("INWEIGHTS_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


@pytest.mark.slow
def test_a_file_becomes_a_page(runs, capsys, tmp_path: Path) -> None:
    file = tmp_path / "who knows whom.csv"
    file.write_text('source,target\n"Åsa, B",C\nC,D\nD,D\nE,D\n', encoding="utf-8")
    code, out, _ = call(
        capsys, "atlas", str(file), "cycle", "--scale", "smoke", "--json"
    )
    assert code == 0
    folder = Path(json.loads(out)["folder"])
    table = pl.read_parquet(folder / "tables" / "graphs.parquet")
    assert table["graph"].to_list() == ["who knows whom", "cycle"]
    assert table["nodes"][0].to_list() == ["Åsa, B", "C", "D", "E"]
    assert table["links"][0].to_list() == [[0, 1], [1, 2], [2, 3]]
    assert "who knows whom" in (folder / "page.html").read_text(encoding="utf-8")
    # The edges identify the run: the same file is read from the store, and other content is
    # a different run.
    again = json.loads(
        call(capsys, "atlas", str(file), "cycle", "--scale", "smoke", "--json")[1]
    )
    assert again["cached"]
    file.write_text("a,b\nb,c\n", encoding="utf-8")
    other = json.loads(
        call(capsys, "atlas", str(file), "cycle", "--scale", "smoke", "--json")[1]
    )
    assert other["folder"] != str(folder)


@pytest.fixture
def star_files(tmp_path: Path) -> tuple[Path, Path]:
    """Write six paths of 14 nodes, four for training and two held out."""
    lines = [["r", *(f"{arm}-{step}" for step in range(1, 14))] for arm in range(6)]
    text = [f"{line[-1]}={','.join(line)}\n" for line in lines]
    files = tmp_path / "paths.txt", tmp_path / "asked.txt"
    for file, part in zip(files, (text[:4], text[4:]), strict=True):
        file.write_text("".join(part), encoding="utf-8")
    return files


def test_a_path_star_of_ones_own_is_figure_3s_graph(capsys, star_files) -> None:
    recipe = get_recipe("geometric-memory/fig3")
    told, asked = star_files
    given = Paths(paths=told, held_out=asked)
    settings, _, _ = recipe.resolve("smoke", 1, _path_star(given, [], "smoke"))
    trials: Any = recipe.plan(settings).trials
    assert {trial.labels["condition"] for trial in trials} >= {
        "interleaved",
        "permuted",
    }
    for trial in trials:
        world = trial.world.build(0)
        assert world.vocabulary["node"].size == 6 * 13 + 1
        assert len(world.queries) == 2
        assert trial.model.context >= 1 + 1 + trial.world.pauses + 14
    for words, says in (
        (["--held-out", str(star_files[1])], "--held-out requires --paths"),
        (
            ["a.csv", "b.csv", "--paths", str(star_files[0])],
            "edges of exactly one file, got 2",
        ),
        (["--paths", "nowhere.txt"], "nowhere.txt"),
    ):
        code, _, err = call(capsys, "atlas", *words)
        assert (code, len(err.strip().splitlines())) == (2, 1)
        assert says in err


@pytest.mark.slow
def test_a_path_star_of_ones_own_becomes_a_page(runs, capsys, star_files) -> None:
    paths, asked = map(str, star_files)
    words = [
        "--paths",
        paths,
        "--held-out",
        asked,
        "--scale",
        "smoke",
        "--seeds",
        "1",
        "--json",
    ]
    code, out, _ = call(capsys, "atlas", *words)
    assert code == 0
    folder = Path(json.loads(out)["folder"])
    final = pl.read_parquet(folder / "tables" / "final.parquet")
    assert set(final["graph"]) == {"(6, 14)"}
    assert (folder / "page.html").is_file()


def replaced(changes: tuple[str, ...]) -> Settings:
    return apply_overrides(Settings(), changes)


def test_any_label_survives_the_settings() -> None:
    links = [[u, v] for u in ODD for v in ODD]
    graph = Graph(shape="edges", links=links, lone=["#alone"])
    made = replaced(_settings({"a.b = c": graph}))
    assert made.own == {"a.b = c": graph}
    assert (made.graphs, made.width) == ((), 128)


def test_large_graphs_get_the_width_that_a_list_needs() -> None:
    path = [[str(i), str(i + 1)] for i in range(199)]
    made = replaced(_settings({"path": Graph(shape="edges", links=path)}))
    assert made.width == 256


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "give an edge file, or a built-in graph"),
        (["karateclub"], "did you mean 'karate-club'"),
        (["nowhere.csv"], "there is no file nowhere.csv"),
        (["grid", "grid"], "two graphs have the name 'grid'"),
        (["broken.csv"], "broken.csv, line 2: expected two labels"),
        (
            ["triangle.csv"],
            "in graph 'triangle', any two nodes that are connected by a path are neighbours",
        ),
        (["large.csv"], "'large' has 10,001 nodes; at most 10,000"),
        (["grid", "--set", "graphs=['grid']"], "unknown graph 'grid'"),
    ],
)
def test_bad_input_is_one_clear_line(
    runs, capsys, tmp_path: Path, monkeypatch, words: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("broken.csv").write_text("a,b\nc\n", encoding="utf-8")
    Path("triangle.csv").write_text("a,b\nb,c\nc,a\n", encoding="utf-8")
    Path("large.csv").write_text(
        "".join(f"{i},{i + 1}\n" for i in range(10_000)), encoding="utf-8"
    )
    code, out, err = call(capsys, "atlas", *words)
    assert (code, out, len(err.strip().splitlines())) == (2, "", 1)
    assert says in err


def test_names_of_graphs_are_checked() -> None:
    with pytest.raises(ConfigError, match="no graph is given"):
        Settings(graphs=())
    with pytest.raises(ConfigError, match="contain the name karate-club"):
        Settings(own={"karate-club": Graph()})


def test_lone_nodes_come_back_in_their_places() -> None:
    """Pictures are drawn from the tables alone, even if the file no longer exists."""
    recipe = get_recipe("beyond/real-graphs")
    graph = Graph(shape="edges", links=[["b", "a"], ["a", "c"]], lone=["z", "y"])
    plan = recipe.plan(Settings(graphs=(), own={"odd": graph}))
    (listed,) = plan.computations
    assert listed.compute(**listed.options).rows() == [
        ("b", "a"),
        ("a", "c"),
        ("z", None),
        ("y", None),
    ]


def test_an_embedding_is_shown_whatever_the_order_of_its_rows(
    runs, capsys, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    rows = [f"{name} {' '.join(map(str, rng.normal(size=4)))}" for name in "ABCDEFGH"]
    graph = tmp_path / "ring.csv"
    graph.write_text(
        "".join(f"{u},{v}\n" for u, v in zip("ACEGBDFH", "CEGBDFHA", strict=True))
    )
    said = []
    for order in (rows, rows[::-1]):
        file = tmp_path / "vectors.vec"
        file.write_text("\n".join(order))
        out = tmp_path / "page.html"
        given = (
            "atlas",
            str(graph),
            "--embedding",
            str(file),
            "--out",
            str(out),
            "--json",
        )
        code, text, _ = call(capsys, *given)
        assert code == 0
        said.append(json.loads(text)["numbers"])
        assert "ring" in out.read_text(encoding="utf-8")
    assert said[0] == said[1]
    assert not runs.exists()  # nothing was trained
    code, text, _ = call(capsys, *given[:-1])
    assert code == 0
    assert "Spearman, cosine and hops" in text


def test_a_language_model_is_asked_layer_by_layer(capsys, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    code, text, _ = call(
        capsys,
        "atlas",
        "europe-borders",
        "--model",
        "@tiny",
        "--out",
        str(out),
        "--json",
    )
    assert code == 0
    numbers = pl.DataFrame(json.loads(text)["numbers"])
    assert numbers["layer"].unique().to_list() == [0, 1, 2]
    assert "layer 0 is the table of tokens" in out.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--names", "x"], "--names requires --embedding or --model"),
        (["--embedding", "no.vec"], "there is no file no.vec"),
        (
            ["--embedding", "a.vec", "--model", "@tiny"],
            "give --embedding or --model, not both",
        ),
        (
            ["--embedding", "a.vec", "--prompt", "{name}"],
            "has no effect on an --embedding",
        ),
        (["--model", "@tiny", "--tensor", "w"], "no effect on a --model"),
        (["--model", "@tiny", "--seeds", "4"], "--seeds has no effect with"),
        (["--model", "@tiny", "--prompt", "{name} is"], "at its end"),
    ],
)
def test_options_that_do_not_fit(capsys, tmp_path: Path, words, said) -> None:
    code, _, err = call(
        capsys, "atlas", "cycle", *words, "--out", str(tmp_path / "p.html")
    )
    assert code == 2
    assert " ".join(said.split()) in " ".join(err.split())
