"""Check relations of studies and training; see ``relations.py`` and ``holds.py``."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import polars as pl
from tests.fuzz.drawn import toml
from tests.fuzz.holds import accepted

import inweights as iw
from inweights.experiments.studies.study import open_study
from inweights.training import Curriculum, Optimizer, Phase, train
from inweights.worlds import Reversal


def _called(study: dict[str, Any], **more: Any) -> iw.Study:
    """Return a study built by calls, as a user writes it in Python."""
    kinds: dict[str, Any] = {
        "two-hop": iw.TwoHop,
        "reversal": Reversal,
        "emb-mlp": iw.EmbMLPConfig,
        "gpt": iw.GPTConfig,
    }
    parts = {
        part: kinds[study[part]["kind"]](
            **{k: v for k, v in study[part].items() if k != "kind"}
        )
        for part in ("world", "model")
    }
    if "init" in study["model"]:
        parts["model"] = iw.EmbMLPConfig(
            width=study["model"]["width"], init=iw.Init(**study["model"]["init"])
        )
    phases = tuple(
        Phase(**{**phase, "optimizer": Optimizer(**phase["optimizer"])})
        for phase in study["learner"]["phases"]
    )
    measures = [getattr(iw.probes, name) for name in study["measures"]]
    return iw.Study(
        parts["world"],
        parts["model"],
        Curriculum(phases=phases),
        over=study["over"],
        seeds=study["seeds"],
        measures=measures,
        **more,
    )


def study_file(here: Path, case: dict[str, Any]) -> None:
    """Check that a study file and a call give the same trials, measures, seeds and keys."""
    called = _called(case)
    expected = called.trials
    with accepted():
        path = here / "own.toml"
        path.write_text(toml(case), encoding="utf-8")
        recipe = open_study(path)
        settings: Any = recipe.scales["cpu"]
        assert settings.study.trials == expected
        keys = [
            [look.key for look in study.plan.measures]
            for study in (settings.study, called)
        ]
        assert keys[0] == keys[1]
        seeds = case["seeds"]
        wanted = tuple(range(seeds)) if isinstance(seeds, int) else tuple(seeds)
        assert recipe.resolve("cpu")[1] == wanted


def sweep_direct(here: Path, case: dict[str, Any]) -> None:
    """Check that a sweep's numbers equal those of each run done by hand, bit for bit."""
    number = len(list(here.glob("runs*")))
    study = _called(case, runs=here / f"runs{number}")
    table = study.run(progress=False)
    seeds = range(case["seeds"]) if isinstance(case["seeds"], int) else case["seeds"]
    rows: defaultdict[str, list[pl.DataFrame]] = defaultdict(list)
    with accepted():
        for trial in study.trials:
            assert isinstance(trial.learner, Curriculum)
            for root in seeds:
                world = trial.world.build(root)
                assert trial.model
                model = trial.model.build(
                    vocabulary=len(world.vocabulary),
                    seeds=[root],
                    candidates=world.outputs.tolist(),
                )
                train(model, world, trial.learner, seeds=[root])
                for look in study.plan.measures:
                    own = look.probe(model, world, **look.options).drop("replica")
                    labels = [
                        pl.lit(v).alias(k)
                        for k, v in {**trial.labels, "seed": root}.items()
                    ]
                    rows[look.name].append(own.select(*labels, pl.all()))
        for name, own in rows.items():
            swept = table.filter(pl.col("measure") == name) if len(rows) > 1 else table
            expected = pl.concat(own)
            for column in expected.columns:
                mine, yours = swept[column], expected[column].cast(swept[column].dtype)
                assert mine.rename(column).equals(yours, null_equal=True), (mine, yours)
