"""Probes and sweeps on the simulated accelerator."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.accelerator.shared import (
    DEVICE,
    PRETENDED,
    TWO_HOP,
    accelerator,
    both,
    counted,
    counts,
)
from tests.probes.test_graph_probes import OF_GRAPHS, RING
from tests.probes.test_inside import OF_THE_INSIDE
from tests.probes.test_interchange import WORLDS as INTERCHANGES
from tests.probes.test_paths import OF_PATHS
from tests.probes.test_paths import WORLDS as STARS
from tests.probes.test_probes import OF_MODELS, OF_OPTIMA

import inweights as iw
from inweights import probes
from inweights.experiments import Measure
from inweights.models import Node2VecConfig, TinyNNConfig
from inweights.worlds import Analogy, Graph, TwoHop

__all__ = ["accelerator"]

pytestmark = pytest.mark.filterwarnings("ignore::inweights.errors.CautionWarning")

ANALOGIES = [
    Analogy(n=6, categories=3, maps="permutation").build(seed) for seed in (1, 2)
]
GPT = iw.GPTConfig(layers=2, width=16, heads=2, context=8)
LOOKS: dict[Any, tuple[Any, Any]] = {
    **dict.fromkeys((*OF_MODELS, *OF_THE_INSIDE), (GPT, TWO_HOP)),
    **dict.fromkeys(OF_PATHS, (GPT, STARS)),
    **dict.fromkeys(OF_GRAPHS, (TinyNNConfig(width=12), RING)),
    **dict.fromkeys(
        (probes.agreement, probes.arrangement, probes.snapshot),
        (TinyNNConfig(width=12), RING),
    ),
    **dict.fromkeys(OF_OPTIMA, (iw.EmbMLPConfig(width=16), TWO_HOP[0])),
    probes.resemblance: (GPT, ANALOGIES),
    probes.carries: (GPT, INTERCHANGES),
    **dict.fromkeys(
        (probes.after_edits, probes.by_loops, probes.edits, probes.realignment),
        (GPT, TWO_HOP),
    ),
    **dict.fromkeys((probes.activations, probes.steer), (GPT, TWO_HOP)),
    **dict.fromkeys(
        (probes.attribution_patching, probes.logit_attribution), (GPT, TWO_HOP)
    ),
}
OPTIONS: dict[Any, dict[str, Any]] = {
    probes.after_edits: {"edit": iw.Edit()},
    probes.steer: {
        "at": "block.0",
        "position": 1,
        "add": ("a2 r1_1", "a1 r1_1"),
        "draws": 2,
    },
}


def test_every_probe_of_models_is_here() -> None:
    of_models = {
        name
        for name in probes.__all__
        if list(inspect.signature(getattr(probes, name)).parameters)[:2]
        == ["model", "worlds"]
    }
    assert {probe.__name__ for probe in LOOKS} == of_models


@pytest.mark.parametrize("probe", LOOKS, ids=lambda probe: probe.__name__)
def test_a_probe_sees_what_it_sees_on_the_cpu(probe: Any) -> None:
    if probe is probes.bridge_projection and not PRETENDED:
        pytest.skip("t-SNE makes much of how a GPU rounds")
    config, worlds = LOOKS[probe]
    first = worlds[0] if isinstance(worlds, list) else worlds
    model = config.build(
        vocabulary=len(first.vocabulary), seeds=2, candidates=first.outputs.tolist()
    )
    options = OPTIONS.get(probe, {})
    expected = probe(model, worlds, **options)
    both(probe(model.to(DEVICE), worlds, **options), expected)


@counts
def test_accuracy_waits_as_often_for_many_replicas_as_for_two() -> None:
    """The accuracy is measured during training, so it must not wait for each replica."""
    waits = []
    for replicas in (2, 6):
        model = GPT.build(vocabulary=len(TWO_HOP[0].vocabulary), seeds=replicas).to(
            DEVICE
        )
        with counted() as seen:
            probes.accuracy(model, TWO_HOP[0])
        waits.append(seen.waits)
    assert waits[0]
    assert waits[0] == waits[1]


# --- sweeps


@pytest.mark.parametrize(
    ("world", "model", "learner"),
    [
        (
            TwoHop(n=3),
            iw.GPTConfig(layers=1, width=8),
            iw.Curriculum(phases=(iw.Phase(steps=3),)),
        ),
        (Graph(shape="cycle", n=5), Node2VecConfig(width=4), iw.Descent(steps=3)),
        (TwoHop(n=3, identity=True), None, iw.Optimum()),
    ],
    ids=["curriculum", "descent", "optimum"],
)
def test_a_sweep_says_what_it_says_on_the_cpu(
    world: Any, model: Any, learner: Any, tmp_path: Path
) -> None:
    study: dict[str, Any] = {
        "world": world,
        "model": model,
        "learner": learner,
        "seeds": 2,
    }
    way = Measure(name="on the way", probe=probes.accuracy, every=2)

    def swept(device: str) -> Iterator[pl.DataFrame]:
        # The second sweep reads the weights that the first one stored.
        for measure in (
            way,
            probes.accuracy,
        ):
            yield iw.sweep(
                **study,
                measures=[measure],
                runs=tmp_path / device,
                device=device,
                keep_models=True,
                progress=False,
            )

    for one, other in zip(swept("cpu"), swept(DEVICE), strict=True):
        both(one, other)
