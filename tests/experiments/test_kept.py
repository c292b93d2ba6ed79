"""Stored weights: later measures need no training and give the same results."""

from __future__ import annotations

from typing import Any

import pytest

import inweights as iw
from inweights import actions
from inweights.errors import ConfigError, FolderError
from inweights.experiments.engine.attempts import derived
from inweights.experiments.engine.collect import collect
from inweights.experiments.engine.engine import execute
from inweights.experiments.engine.execution import ExecutionOptions
from inweights.experiments.engine.plan import expand_plan
from inweights.experiments.engine.saved_models import saved_models
from inweights.experiments.grammar.trial import Measure, Plan, Trial
from inweights.models.configs import Node2VecConfig
from inweights.recipes import get_recipe
from inweights.runs import RunStore
from inweights.runs.tables.store import Store
from inweights.worlds import Graph

#: Studies in tests are too small for their models to memorise the facts.
pytestmark = pytest.mark.filterwarnings("ignore::inweights.errors.CautionWarning")

BRIEF = iw.Curriculum(phases=(iw.Phase(steps=3),))
STUDY: dict[str, Any] = {
    "world": iw.TwoHop(n=3, maps="permutation"),
    "model": iw.GPTConfig(layers=1, width=8),
    "learner": BRIEF,
    "over": {"learner.phases.0.optimizer.rate": [1e-3, 1e-2]},
    "seeds": 2,
}
QUIET: dict[str, Any] = {"progress": False}


def files(root) -> list[str]:
    return sorted(
        p.name.partition("-")[0] for p in root.glob("store/*/*/*.safetensors")
    )


def test_a_measure_of_kept_weights_trains_nothing(tmp_path, trained) -> None:
    study = iw.Study(**STUDY, runs=tmp_path / "a")
    study.run(keep_models=True, **QUIET)
    assert trained == [4]
    assert files(tmp_path / "a") == ["model"] * 4
    looks: list[Any] = [iw.probes.margins, iw.probes.alignment]
    later = iw.Study(**STUDY, measures=looks, runs=tmp_path / "a")
    assert (later.forecast().trained, later.forecast().measured) == (0, 4)
    table = later.run(**QUIET)
    assert trained == [4]
    at_once = iw.Study(**STUDY, measures=looks, runs=tmp_path / "b").run(**QUIET)
    assert trained == [4, 4]
    assert table.equals(at_once)


def test_runs_without_weights_train_apart_from_those_with(tmp_path, trained) -> None:
    iw.sweep(**STUDY, runs=tmp_path, keep_models=True, **QUIET)
    more = {**STUDY, "seeds": 3, "measures": [iw.probes.margins], "runs": tmp_path}
    iw.sweep(**more, **QUIET)
    assert trained == [4, 2]  # only the third seeds
    assert len(files(tmp_path)) == 4


def test_what_looks_on_the_way_trains(tmp_path, trained) -> None:
    iw.sweep(**STUDY, runs=tmp_path, keep_models=True, **QUIET)
    every = Measure(name="seen", probe=iw.probes.accuracy, every=1)
    iw.sweep(**STUDY, measures=[every], runs=tmp_path, **QUIET)
    assert trained == [4, 4]


def test_a_trial_without_the_label_is_left_out(tmp_path) -> None:
    """A filter by a label leaves out trials that do not have the label."""
    parts = {name: STUDY[name] for name in ("world", "model", "learner")}
    labels: list[dict[str, Any]] = [{"size": "small"}, {"rate": 1e-2}]
    trials = [Trial(labels=own, **parts) for own in labels]
    store = Store(tmp_path)
    (run,) = expand_plan(Plan(trials=trials), [0]).runs.values()
    store.write_model(run.key, b"weights")
    (found,) = saved_models(trials, [0], store, where={"rate": 1e-2})
    assert found.labels == {"rate": 1e-2}
    assert saved_models(trials, [0], store, where={"rate": 1.0}) == []


def test_models_are_opened_with_their_worlds(tmp_path) -> None:
    study = iw.Study(**STUDY, runs=tmp_path)
    table = study.run(keep_models=True, **QUIET)
    kept = study.models()
    assert [(dict(k.labels), k.seed) for k in kept] == [
        ({"rate": rate}, seed) for rate in (1e-3, 1e-2) for seed in (0, 1)
    ]
    for one in kept:
        own = iw.probes.accuracy(one.model, one.world)
        stored = table.filter(rate=one.labels["rate"], seed=one.seed)
        assert own["loss"].to_list() == pytest.approx(
            stored["loss"].to_list(), abs=1e-6
        )
    assert repr(study.models(rate=1e-2, seed=1)) == "[SavedModel(rate=0.01, seed=1)]"
    with pytest.raises(ConfigError, match="unknown label 'raet'; did you mean 'rate'"):
        study.models(raet=1)


def test_damaged_weights_are_made_again(tmp_path, trained) -> None:
    study = iw.Study(**STUDY, runs=tmp_path)
    study.run(keep_models=True, **QUIET)
    first = min(tmp_path.glob("store/*/*/model-*"))
    content = bytearray(first.read_bytes())
    content[len(content) // 2] ^= 1
    first.write_bytes(bytes(content))
    with pytest.raises(
        FolderError, match="weights of 1 of 4 runs were not stored, or are damaged"
    ):
        study.models()
    study.run(keep_models=True, **QUIET)
    assert trained == [4, 1]
    assert len(study.models()) == 4


def test_weights_that_were_not_kept_are_an_error(tmp_path) -> None:
    study = iw.Study(**STUDY, runs=tmp_path)
    study.run(**QUIET)
    with pytest.raises(
        FolderError, match=r"4 of 4 runs were not stored.*keep_models=True"
    ):
        study.models()


@pytest.mark.parametrize("learner", [iw.Optimum(), iw.Descent(steps=3)])
def test_what_is_not_trained_is_kept_too(learner, tmp_path, monkeypatch) -> None:
    solved: list[int] = []
    models = derived._models

    def counted(*args):
        solved.append(1)
        return models(*args)

    monkeypatch.setattr(derived, "_models", counted)
    graph = isinstance(learner, iw.Descent)
    world = Graph(shape="cycle", n=5) if graph else iw.TwoHop(n=3, identity=True)
    trial = Trial(
        labels={},
        world=world,
        learner=learner,
        model=Node2VecConfig(width=4) if graph else None,
    )

    def tables(store: str, *probes, keep: bool = False):
        plan = Plan(trials=[trial], measures=probes)
        return collect(
            plan, [0, 1], Store(tmp_path / store), ExecutionOptions(keep_models=keep)
        )

    probe = iw.probes.cosines if graph else iw.probes.margins
    tables("a", iw.probes.accuracy, keep=True)
    assert len(solved) == 2
    later = tables("a", iw.probes.accuracy, probe)
    assert len(solved) == 2
    for name, table in tables("b", iw.probes.accuracy, probe).items():
        numbers = [c for c in table.columns if table[c].dtype.is_float()]
        for column in numbers:
            assert later[name][column].to_list() == pytest.approx(
                table[column].to_list()
            )


@pytest.mark.slow
def test_a_recipe_finds_its_models_in_the_store_that_was_named(tmp_path) -> None:
    runs, elsewhere = tmp_path / "runs", str(tmp_path / "elsewhere")
    asked = {"seeds": 1, "runs": runs, "store": elsewhere}
    assert iw.run("demo/two-hop", "smoke", keep_models=True, **asked).models()
    assert iw.run("demo/two-hop", "smoke", **asked).models()  # read from the store
    assert not (runs / "store").exists()
    assert (
        actions.forecast("demo/two-hop", "smoke", keep_models=True, **asked).trained
        == 0
    )


def test_a_recipe_keeps_its_models(tmp_path, trained) -> None:
    demo, store = get_recipe("demo/two-hop"), RunStore(tmp_path)
    plain = execute(demo, "smoke", seeds=1, store=store)
    with pytest.raises(FolderError, match="were not stored"):
        plain.models()
    before = len(trained)
    keep = ExecutionOptions(keep_models=True)
    kept = execute(demo, "smoke", seeds=1, store=store, execution=keep)
    assert len(trained) > before
    assert kept.cached
    assert kept.models()[0].model.replicas == 1
    before = len(trained)
    again = execute(demo, "smoke", seeds=1, store=store, execution=keep)
    assert len(trained) == before
    fresh = execute(
        demo, "smoke", seeds=1, store=store, execution=ExecutionOptions(fresh=True)
    )
    assert len(trained) > before
    assert len(fresh.models()) == len(again.models())  # stored weights are stored again
    for name, table in kept.tables.items():
        assert table.equals(fresh.tables[name]), name


def test_a_model_that_cannot_be_kept_says_so_before_it_trains(
    tmp_path, trained
) -> None:
    class Bare(iw.EmbMLPConfig, tag="bare"):
        def build(self, **words):
            model = super().build(**words)
            model.config = None  # type: ignore[assignment]  # it has none
            return model

    with pytest.raises(ConfigError, match="cannot be saved"):
        iw.sweep(
            iw.TwoHop(n=3),
            Bare(width=4),
            BRIEF,
            runs=tmp_path,
            keep_models=True,
            **QUIET,
        )
    assert trained == []
