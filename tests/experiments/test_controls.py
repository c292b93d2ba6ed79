"""Controls: the same conditions without the factor that should matter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.models import own_modules
from torch import Tensor, nn

import inweights as iw
from inweights.errors import ConfigError
from inweights.experiments import Trial, with_controls
from inweights.training import Curriculum, Optimum

#: Studies in tests are too small for their models to memorise the facts.
pytestmark = pytest.mark.filterwarnings("ignore::inweights.errors.CautionWarning")

MODEL = iw.GPTConfig(layers=1, width=16, context=8)
SHORT = iw.Curriculum(phases=(iw.Phase(steps=3),))


def test_each_condition_is_there_once_more(tmp_path: Path) -> None:
    table = iw.sweep(
        iw.TwoHop(n=3),
        MODEL,
        SHORT,
        over={"world.n": [3, 4]},
        seeds=2,
        runs=tmp_path,
        controls=["untrained", "shuffled", "no-bridge", "frozen"],
        progress=False,
    )
    assert table.columns[:3] == ["n", "control", "seed"]
    assert table["control"].unique(maintain_order=True).to_list() == [
        "none",
        "untrained",
        "shuffled",
        "no-bridge",
        "frozen",
    ]
    roles = table.filter(control="no-bridge")["role"].unique().to_list()
    assert "identity" not in roles


def test_untrained_is_the_start(tmp_path: Path) -> None:
    """All measures of the control, also those at intervals, are of the untrained model."""
    measures = [
        iw.experiments.Measure(name="end", probe=iw.probes.accuracy),
        iw.experiments.Measure(name="way", probe=iw.probes.accuracy, every=2),
    ]
    table = iw.sweep(
        iw.TwoHop(n=3),
        MODEL,
        SHORT,
        seeds=1,
        runs=tmp_path,
        measures=measures,
        controls=["untrained"],
        progress=False,
    ).filter(control="untrained")
    world = iw.TwoHop(n=3).build()
    fresh = iw.probes.accuracy(
        MODEL.build(vocabulary=len(world.vocabulary), seeds=[0]), world
    )
    losses = fresh["loss"].to_list()
    assert table.filter(measure="end")["loss"].to_list() == losses
    assert table.filter(measure="way")["loss"].to_list() == losses
    assert table.filter(measure="way")["step"].unique().to_list() == [0]


def test_what_takes_no_steps_has_a_cost_estimate(tmp_path: Path) -> None:
    study = iw.experiments.Study(
        iw.TwoHop(n=3), MODEL, SHORT, runs=tmp_path, controls=("untrained",)
    )
    assert study.forecast().minutes is not None


def test_frozen_embeddings_stay(tmp_path: Path) -> None:
    trial = Trial(labels={}, world=iw.TwoHop(n=3), model=MODEL, learner=SHORT)
    _, frozen = with_controls([trial], ["frozen"])
    world = iw.TwoHop(n=3).build()
    model = MODEL.build(vocabulary=len(world.vocabulary), seeds=[0])
    assert isinstance(frozen.learner, Curriculum)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    iw.train(model, world, frozen.learner, seeds=[0])
    moved = {n for n, p in model.named_parameters() if not p.equal(before[n])}
    assert "tokens.weight" not in moved
    assert moved


class Counts(nn.Module):
    """A module that reads tokens by a matrix product instead of an embedding."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.size, self.read = vocabulary, nn.Linear(vocabulary, vocabulary)

    def forward(self, ids: Tensor) -> Tensor:
        return self.read(nn.functional.one_hot(ids, self.size).float())


def test_frozen_embeddings_of_a_wrapped_module_stay(tmp_path: Path) -> None:
    def frozen(factory: Any) -> Trial:
        trial = Trial(
            labels={}, world=iw.TwoHop(n=3), model=iw.wrap(factory), learner=SHORT
        )
        return with_controls([trial], ["frozen"])[1]

    assert frozen(own_modules.Sums).learner.phases[0].freezes == ("tokens.weight",)
    trial = frozen(own_modules.Encoder)
    assert trial.learner.phases[0].freezes == ("embed.weight",)
    world = trial.world.build(0)
    model = trial.model.build(vocabulary=len(world.vocabulary), seeds=2)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    assert isinstance(trial.learner, Curriculum)
    iw.train(model, world, trial.learner, seeds=2)
    moved = {n for n, p in model.named_parameters() if not p.equal(before[n])}
    assert "embed.weight" not in moved
    assert "head.weight" in moved
    with pytest.raises(
        iw.ConfigError, match=r"'Counts' has none; leave .* of read\.weight, read\.b"
    ):
        frozen(Counts)


def test_phases_do_not_name_what_is_left_out() -> None:
    learner = iw.Curriculum(
        phases=(
            iw.Phase(
                roles={"first_hop": 1.0, "identity": 2.0},
                batch={"first_hop+identity": 4},
            ),
            iw.Phase(name="identities", roles={"identity": 1.0}),
        )
    )
    trial = Trial(labels={}, world=iw.TwoHop(n=3), model=MODEL, learner=learner)
    _, control = with_controls([trial], ["no-bridge"])
    (phase,) = control.learner.phases
    assert (phase.roles, phase.batch) == ({"first_hop": 1.0}, {"first_hop": 4})


def test_in_a_study_file(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(
        'controls = ["untrained"]\nseeds = 1\n[world]\nkind = "two-hop"\nn = 3\n'
        '[model]\nkind = "emb-mlp"\nwidth = 8\n[[learner.phases]]\nsteps = 2\n'
    )
    outcome = iw.run(iw.experiments.open_study(file), runs=tmp_path)
    accuracy: pl.DataFrame = outcome.tables["accuracy"]
    assert accuracy["control"].unique(maintain_order=True).to_list() == [
        "none",
        "untrained",
    ]


def test_what_makes_no_sense_is_refused() -> None:
    trial = Trial(labels={"control": 1}, world=iw.TwoHop(), model=MODEL, learner=SHORT)
    with pytest.raises(ConfigError, match="label 'control' is reserved"):
        with_controls([trial], ["untrained"])
    trial = Trial(labels={}, world=iw.TwoHop(), learner=Optimum())
    with pytest.raises(
        ConfigError, match=r"unknown control 'untrain'; did you mean 'untrained'"
    ):
        with_controls([trial], ["untrain"])
    with pytest.raises(
        ConfigError, match="'untrained' needs a Curriculum, got Optimum"
    ):
        with_controls([trial], ["untrained"])
    trial = Trial(
        labels={}, world=iw.worlds.Graph(shape="cycle"), model=MODEL, learner=SHORT
    )
    with pytest.raises(
        ConfigError,
        match="and facts of at least one other role; the roles of this world are edge",
    ):
        with_controls([trial], ["no-bridge"])
