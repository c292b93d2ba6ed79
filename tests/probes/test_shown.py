"""The tables of probes agree with their declarations."""

from __future__ import annotations

import inspect
import subprocess
import sys
from functools import partial
from typing import Any

import pytest
from tests.probes.test_interchange import WORLDS as INTERCHANGES

import inweights as iw
from inweights import probes
from inweights.errors import ConfigError
from inweights.experiments import CONTROLS, shows
from inweights.experiments.grammar import shown
from inweights.models import TinyNNConfig
from inweights.worlds import Analogy, Graph, PathStar, TwoHop

GPT = iw.GPTConfig(layers=1, width=16, context=8)
MLP = iw.EmbMLPConfig(width=16)
RING, HOPS = Graph(shape="cycle", n=9).build(), TwoHop(n=4).build()
STAR = PathStar(arms=4, nodes=4).build()
GRAPHS = (
    "agreement",
    "cosines",
    "edge_margin",
    "geometric_margin",
    "graph_recall",
    "hop_correlation",
    "named_geometry",
    "snapshot",
    "spectral_energy",
    "zigzag",
)
#: Model and world of probes for which these are not a GPT and two hops.
OTHERS: dict[str, tuple[Any, Any]] = {
    **dict.fromkeys(GRAPHS, (TinyNNConfig(width=8), RING)),
    **dict.fromkeys(("arm_cosines", "navigation", "path_accuracy"), (GPT, STAR)),
    **dict.fromkeys(("direction", "nuclear_norm"), (MLP, HOPS)),
    "carries": (GPT, INTERCHANGES[0]),
    "resemblance": (GPT, Analogy(n=6, categories=3).build()),
}
PROBES = {name: getattr(probes, name) for name in shown.built_in()}
PROBES["after_edits"] = partial(probes.after_edits, edit=iw.Edit())
PROBES["steer"] = partial(probes.steer, at="embedding", scale=2.0)
PROBES["bridge_projection"] = partial(probes.bridge_projection, method="pca")


def test_descriptions_are_read_without_torch() -> None:
    script = (
        "import sys; from inweights.experiments.grammar.shown import built_in; "
        "assert 'snapshot' in built_in() and 'torch' not in sys.modules"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_every_probe_that_a_study_can_name_declares_what_it_measures() -> None:
    without_a_number = {"activations", "arrangement"}  # states and positions of nodes
    named = {n for n in probes.__all__ if _takes_models_and_worlds(getattr(probes, n))}
    assert named - without_a_number == set(PROBES)


def _takes_models_and_worlds(probe: Any) -> bool:
    return inspect.isfunction(probe) and [*inspect.signature(probe).parameters][:2] == [
        "model",
        "worlds",
    ]


@pytest.mark.parametrize("name", PROBES)
def test_a_declaration_is_true_of_the_table(name: str) -> None:
    declared = shown.built_in()[name]
    config, world = OTHERS.get(name, (GPT, HOPS))
    model = config.build(
        vocabulary=len(world.vocabulary),
        seeds=[0, 1],
        candidates=world.outputs.tolist(),
    )
    table = PROBES[name](model, world)
    assert set(table.columns) - {"replica"} == set(declared.columns.split())
    found = shown.shown_in(table.columns)
    assert found is not None
    assert found.value == declared.value
    values = table[declared.value].drop_nulls().drop_nans()
    assert declared.low is None or (values >= declared.low - 1e-6).all()
    assert declared.high is None or (values <= declared.high + 1e-6).all()
    assert set(declared.controls) <= set(CONTROLS)


def test_a_declaration_of_what_is_not_there_is_refused() -> None:
    text = {"label": "size", "null": "None.", "caption": "A size."}
    with pytest.raises(
        ConfigError,
        match="the column 'sizes' is declared for a probe, but is not among",
    ):
        shows(value="sizes", columns="size", **text)
    with pytest.raises(ConfigError, match=r"unknown key 'lable'; did you mean 'label'"):
        shows(value="size", columns="size", lable="size", **text)
