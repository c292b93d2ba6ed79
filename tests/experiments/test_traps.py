"""Three typical mistakes of new users lead to a right answer or a warning."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import inweights as iw
from inweights.errors import CautionWarning, DataError
from inweights.experiments import beyond_control
from inweights.report.figures.auto import Auto

NOTEBOOKS = Path(__file__).parents[2] / "docs" / "notebooks"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::inweights.errors.CautionWarning")
def test_patching_alone_does_not_show_a_bridge(tmp_path: Path) -> None:
    """The influence of a state is as large without a bridge, unlike what it carries."""
    table = iw.sweep(
        iw.TwoHop(n=6, complexity=2, first_relations=1, second_relations=2),
        iw.GPTConfig(layers=4, width=32, tied=False),
        seeds=12,
        runs=tmp_path,
        progress=False,
        measures=[iw.probes.activation_patching, iw.probes.carries],
        controls=["no-bridge"],
    )
    effects = table.filter(
        measure="activation_patching", role="composition", layer="block.2", position=2
    )
    by_control = effects.group_by("control").agg(pl.mean("effect"))
    without = by_control.filter(control="no-bridge")["effect"].item()
    assert without > 0.5  # the column `effect` alone suggests that the answer is there
    states = table.filter(measure="carries", place="block.2", position=2)
    gap = beyond_control(states, "answer").row(0, named=True)
    assert gap["low"] > 0.2


def test_a_default_that_decides_warns(tmp_path: Path) -> None:
    """The default learner gives no warning; a learner that changes the result does."""
    world, model = iw.TwoHop(n=3), iw.GPTConfig(layers=1, width=16)
    plain = iw.Curriculum(phases=(iw.Phase(steps=2),))
    with pytest.warns(CautionWarning) as told:
        iw.sweep(world, model, plain, seeds=2, runs=tmp_path, progress=False)
    texts = [str(one.message) for one in told]
    assert any("which can decide whether a GPT composes" in text for text in texts)
    assert any("Facts are not known" in text for text in texts)
    named = iw.experiments.Study(world, model).trials[0].learner
    assert named == iw.learners.two_hop(width=16)


@pytest.mark.filterwarnings("ignore::inweights.errors.CautionWarning")
def test_a_constant_of_the_graph_is_not_drawn_as_a_result(tmp_path: Path) -> None:
    table = iw.sweep(
        iw.worlds.Graph(),
        iw.models.TinyNNConfig(width=8),
        iw.learners.edges(steps=2),
        seeds=2,
        runs=tmp_path,
        progress=False,
        measures=[iw.probes.spectral_energy],
    )
    assert Auto(table).draw().axes[0].get_ylabel() == "share of the energy"
    with pytest.raises(
        DataError, match="cannot determine which column to draw; set 'y'"
    ):
        Auto(table.drop("cumulative")).draw()


@pytest.mark.parametrize(
    "page", sorted(NOTEBOOKS.glob("*.md")), ids=lambda page: page.stem
)
def test_every_tutorial_says_what_decides(page: Path) -> None:
    assert "(../what-decides.md)" in page.read_text("utf-8")
