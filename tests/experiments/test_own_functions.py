"""A function as an experiment: stored by run and source, judged, and errors reported."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

import inweights as iw
from inweights.cli import main
from inweights.errors import CautionWarning, ConfigError, DataError, InweightsError
from inweights.experiments.studies.settle import settle
from inweights.experiments.studies.study import open_study
from inweights.runs import RunStore
from inweights.support.plugins import load_plugins
from inweights.support.statistics.intervals import alpha_of

#: Studies in tests are too small for their models to memorise the facts.
pytestmark = pytest.mark.filterwarnings("ignore::inweights.errors.CautionWarning")

CALLS: list[tuple[int, float]] = []
ASKED: list[list[int]] = []


def experiment(seed: int, rate: float, size: int = 4) -> dict[str, float]:
    """Return the mean of random numbers."""
    CALLS.append((seed, rate))
    if rate < 0 and seed == 1:
        raise ValueError("a negative rate")
    return {"score": rate + float(np.random.default_rng(seed).random(size).mean())}


@pytest.fixture(autouse=True)
def _no_calls() -> None:
    CALLS.clear()


def sweep(folder: Path, function: Any = experiment, **about: Any) -> pl.DataFrame:
    return iw.sweep(
        function, **{"seeds": 3, "runs": folder, "progress": False, **about}
    )


def test_a_function_is_called_once_for_each_run(tmp_path: Path) -> None:
    over = {"rate": [0.5, 1.0], "size": [3]}
    table = sweep(tmp_path, over=over)
    assert table.columns == ["rate", "size", "seed", "score"]
    assert table.height == len(CALLS) == 6
    for row in table.iter_rows(named=True):
        assert (
            row["score"] == experiment(row["seed"], row["rate"], row["size"])["score"]
        )
    CALLS.clear()
    assert sweep(tmp_path, over=over).equals(table)
    more = sweep(tmp_path, over={"rate": [0.5, 2.0], "size": [3]}, seeds=4)
    assert sorted(CALLS) == [(0, 2.0), (1, 2.0), (2, 2.0), (3, 0.5), (3, 2.0)]
    assert more.height == 8
    points = sweep(
        tmp_path, over=[{"rate": 1.0, "size": 3}, {"rate": 2.0, "size": 5}], seeds=[7]
    )
    assert points.select("rate", "size", "seed").rows() == [(1.0, 3, 7), (2.0, 5, 7)]


def test_a_run_that_raises_is_set_aside_alone(tmp_path: Path) -> None:
    with pytest.raises(InweightsError, match="a negative rate"):
        sweep(tmp_path, over={"rate": [-1.0, 1.0]})
    assert len(CALLS) == 6
    CALLS.clear()
    assert sweep(tmp_path, over={"rate": [1.0]}).height == 3
    assert CALLS == []


def test_rows_frames_and_claims(tmp_path: Path) -> None:
    def rows(seed: int) -> list[dict[str, float]]:
        return [{"step": step, "loss": seed + 1 / step} for step in (1, 2)]

    def frame(seed: int) -> pl.DataFrame:
        return pl.DataFrame({"value": [seed, seed + 1]})

    def columns(seed: int) -> dict[str, list[int]]:
        return {"value": [seed, 2 * seed]}

    assert sweep(tmp_path, rows).columns == ["seed", "step", "loss"]
    assert sweep(tmp_path, frame)["value"].to_list() == [0, 1, 1, 2, 2, 3]
    assert sweep(tmp_path, columns)["value"].to_list() == [0, 0, 1, 2, 2, 4]
    table = sweep(tmp_path, over={"rate": [2.0]}, seeds=8)
    high = iw.claim(
        table, iw.experiments.number("result", "score") >= 2.0, "It is high."
    )
    assert (high.verdict, high.text) == ("reproduced", "It is high.")
    assert (
        iw.claim(table, iw.experiments.number("result", "score") <= 1.0).verdict
        == "not reproduced"
    )


def test_a_replicated_function_takes_the_seeds_that_are_missing(tmp_path: Path) -> None:
    def together(seeds: list[int], rate: float) -> list[dict[str, float]]:
        ASKED.append(seeds)
        return [{"seed": seed, "score": seed * rate} for seed in seeds]

    about: dict[str, Any] = {"replicated": True, "over": {"rate": [1.0, 2.0]}}
    sweep(tmp_path, together, **about)
    table = sweep(tmp_path, together, **about, seeds=5)
    assert ASKED == [[0, 1, 2], [0, 1, 2], [3, 4], [3, 4]]
    assert table.filter(rate=2.0)["score"].to_list() == [0.0, 2.0, 4.0, 6.0, 8.0]
    with pytest.raises(
        DataError, match=r"exactly the seeds \[0, 1, 2\], got the seeds \[0\]"
    ):
        sweep(tmp_path, lambda seeds: [{"seed": 0}], replicated=True)


@pytest.mark.parametrize(
    ("function", "over", "error", "message"),
    [
        (lambda rate: {}, {}, ConfigError, "must take an argument 'seed'"),
        (experiment, {}, ConfigError, "needs a value for 'rate'"),
        (experiment, {"rat": [1.0]}, ConfigError, "'rat'; did you mean 'rate'"),
        (experiment, {"rate": []}, ConfigError, "empty list"),
        (
            lambda seed: None,
            {},
            DataError,
            r"returned nothing; return a number, a string, a map",
        ),
        (
            lambda seed: ["a"],
            {},
            DataError,
            r"a list, .* \(a row of it is 'a'\); return a",
        ),
        (
            lambda seed: {"a": object()},
            {},
            DataError,
            "returned an object of the type object in the column 'a'",
        ),
        (
            lambda seeds: {"a": 1},
            {},
            ConfigError,
            "'seed'.*; replicated=True passes all of them",
        ),
        (lambda seed: [], {}, DataError, "returned no row"),
        (
            lambda seed: {"a": 1} | ({"b": 2} if seed else {}),
            {},
            DataError,
            r"columns a \(number\) for seed=0, and a \(number\), b .* for seed=1; return the same",
        ),
        (
            lambda seed: {"a": "x" if seed else 1.0},
            {},
            DataError,
            r"columns a \(number\) for seed=0, and a \(text\) for seed=1; .*None where there",
        ),
        (
            lambda seed: {"seed": seed},
            {},
            DataError,
            "the column 'seed', which the sweep adds",
        ),
    ],
)
def test_what_is_refused(
    function: Any, over: Any, error: type[Exception], message: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        sweep(tmp_path, function, over=over)
    with pytest.raises(ConfigError, match="which returns its own table"):
        iw.sweep(function, iw.GPTConfig(), runs=tmp_path)


@pytest.mark.filterwarnings("default")
def test_what_is_not_a_number_is_said(tmp_path: Path) -> None:
    def half(seed: int) -> dict[str, float]:
        return {"score": float("nan") if seed else 1.0}

    with pytest.warns(
        CautionWarning, match=r"NaN in 'score' for seed=1 \(2 of 3 runs\); .*None"
    ):
        table = sweep(tmp_path, half)
    assert (
        "not a number"
        in iw.claim(table, iw.experiments.number("result", "score") >= 1.0).why
    )
    missing = sweep(tmp_path, lambda seed: {"score": None if seed else 1.0})
    assert missing["score"].to_list() == [1.0, None, None]


def test_a_sweep_is_of_a_config_or_a_function() -> None:
    learner, mlp = iw.learners.two_hop_mlp(steps=2), iw.EmbMLPConfig(width=8)
    for wrong in (partial(experiment, rate=1.0), iw.TwoHop, "two-hop"):
        with pytest.raises(
            ConfigError, match=r"world must be a config .* def experiment\(seed"
        ):
            iw.sweep(wrong, progress=False)
    for model in (torch.nn.Linear, torch.nn.Linear(2, 2), lambda vocabulary: None):
        with pytest.raises(
            ConfigError, match=r"model must be a config .* iw.wrap\(lambda"
        ):
            iw.sweep(iw.TwoHop(n=3), model, learner, progress=False)
    learners: list[Any] = [iw.Phase(), iw.learners.two_hop]
    for taught in learners:
        with pytest.raises(ConfigError, match=r"learner must be a Curriculum, such as"):
            iw.sweep(iw.TwoHop(n=3), mlp, taught, progress=False)
    with pytest.raises(ConfigError, match="'replicated' applies only to functions"):
        iw.sweep(iw.TwoHop(n=3), mlp, learner, replicated=True, progress=False)
    with pytest.raises(
        ConfigError, match=r"iw.experiments.number\('result', 'score'\) >= 0.9, got 'sc"
    ):
        iw.claim(pl.DataFrame({"seed": [0]}), "score >= 0.9")  # type: ignore[arg-type]


def test_seeds_are_added_until_each_claim_is_decided(tmp_path: Path) -> None:
    asked = partial(sweep, tmp_path, over={"rate": [0.5]})
    score = iw.experiments.number("result", "score")
    table, [close, far] = iw.add_seeds_until_decided(
        asked, score >= 0.99, score >= 0.5, most=64
    )
    assert (far.verdict, far.replicates) == ("reproduced", 8)
    assert (close.verdict, close.replicates) == ("undecided", 64)
    assert table.height == len(CALLS) == 64  # each run is computed once
    assert close.level == 1 - alpha_of(64, 8)
    with pytest.raises(
        ConfigError, match=r"'most' must be at least 8 .* got 1 claims and most = 4"
    ):
        iw.add_seeds_until_decided(asked, score >= 0.5, most=4)


def fit(seed: int, samples: int) -> dict[str, float]:
    """Fit a classifier of scikit-learn."""
    from sklearn.linear_model import LogisticRegression

    draw = np.random.default_rng(seed)
    x = draw.normal(size=(samples, 3))
    right = x.sum(1) > 0
    model = LogisticRegression().fit(x[: samples // 2], right[: samples // 2])
    return {"accuracy": float(model.score(x[samples // 2 :], right[samples // 2 :]))}


def gradient(seed: int, size: int) -> dict[str, float]:
    """Compute a gradient with JAX."""
    import jax

    x = jax.random.normal(jax.random.key(seed), (size,))
    return {"norm": float(jax.numpy.linalg.norm(jax.grad(lambda y: (y**2).sum())(x)))}


@pytest.mark.parametrize(("library", "function"), [("sklearn", fit), ("jax", gradient)])
def test_functions_of_other_libraries(
    library: str, function: Any, tmp_path: Path
) -> None:
    pytest.importorskip(library)
    name = "samples" if function is fit else "size"
    table = sweep(tmp_path, function, over={name: [40]})
    assert table["seed"].to_list() == [0, 1, 2]
    assert table[:, -1].n_unique() > 1
    assert sweep(tmp_path / "again", function, over={name: [40]}).equals(table)


CODE = "def study(seed, rate):\n    return {'score': rate * 2.0 + seed}\n"
STUDY = """
function = "own_study:study"
seeds = 6
[over]
rate = [1.0, 2.0]
[[claims]]
name = "high"
text = "The score is high."
table = "study"
column = "score"
least = 1.0
"""


@pytest.mark.slow
def test_a_study_in_a_file_and_in_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INWEIGHTS_RUNS", str(tmp_path / "runs"))
    Path("own_study.py").write_text(CODE)
    Path("own.toml").write_text(STUDY)
    load_plugins(["own_study"])
    try:
        study = sys.modules["own_study"].study
        about: dict[str, Any] = {
            "over": {"rate": [1.0]},
            "plugins": ["own_study"],
            "seeds": 3,
        }
        both = [
            sweep(tmp_path / str(jobs), study, **about, jobs=jobs) for jobs in (1, 2)
        ]
        assert both[0].equals(both[1])
        assert main(["sweep", "own.toml", "--plugin", "own_study"]) == 0
        assert "The score is high." in capsys.readouterr().out
        close = STUDY.replace("least = 1.0", "least = 3.5").replace(
            "[1.0, 2.0]", "[1.0]"
        )
        Path("close.toml").write_text(close)  # a mean of 4.5 in six seeds is undecided
        recipe = open_study("close.toml")
        done = settle(recipe, "cpu", store=RunStore(tmp_path / "settled"), seconds=1000)
        assert (done.before, done.left) == (("study/close/high",), ())
        assert done.seeds > 6
    finally:
        sys.modules.pop("own_study", None)
