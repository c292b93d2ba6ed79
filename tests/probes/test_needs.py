"""A probe's stated memory and operations are correct and grow no faster than its world."""

from __future__ import annotations

import inspect
import sys
from functools import partial
from typing import Any

import pytest
from tests.counting import Meter
from tests.parameters import mostly_slow
from tests.probes.test_shown import GRAPHS, PROBES

import inweights as iw
from inweights.errors import ConfigError
from inweights.models import Model, TinyNNConfig
from inweights.probes import accuracy, needs, states
from inweights.probes.depth import label_cosines
from inweights.probes.geometry import cosines as cosine_module
from inweights.probes.geometry import edge_margins, named, spectrum
from inweights.probes.geometry import hops as hop_module
from inweights.probes.geometry import pairs as pair_module
from inweights.probes.geometry import vectors as vector_module
from inweights.support.limits import at_most
from inweights.worlds import Analogy, Graph, PathStar, TwoHop, World
from inweights.worlds.labels import Labels

#: Tables of all pairs or cells are rejected by their exact size, and `by_loops` by the
#: probe that it calls.
TABLES = {"templates", "cosines", "by_loops"}
#: These compute all logits at once, as they state beforehand.
WHOLE = {"after_edits", "edits", "realignment", "steer"}
ALL = {**PROBES, "label_cosines": label_cosines}
#: Probes with a null distribution, and probes that solve a program, which are slow and
#: quadratic.
DRAWN = {
    "hop_correlation",
    "named_geometry",
    "spectral_energy",
    "zigzag",
    "geometric_margin",
}
SOLVED = {"direction", "nuclear_norm"}
#: Probes of the fast tier.
FAST = {
    "alignment",
    "attention",
    "graph_recall",
    "margins",
    "path_accuracy",
    "snapshot",
}


def small_and_model(
    name: str, n: int, replicas: int = 1, width: int = 16
) -> tuple[Model, World]:
    """Return a world of about ``n`` entities or nodes for a probe, and a model of it."""
    gpt: Any = iw.GPTConfig(layers=1, width=width, context=8)
    world: Any
    if name in GRAPHS:
        gpt, world = (
            TinyNNConfig(width=width),
            Graph(shape="grid", rows=max(3, n // 8), columns=8),
        )
    elif name in ("arm_cosines", "navigation", "path_accuracy"):
        world = PathStar(arms=n // 3, nodes=4)
    elif name in SOLVED:
        gpt, world = iw.EmbMLPConfig(width=width), TwoHop(n=n // 4)
    elif name == "resemblance":
        world = Analogy(n=n)
    elif name == "label_cosines":
        gpt, world = iw.EmbMLPConfig(width=width), Labels(labels=n)
    elif name == "carries":
        world = TwoHop(n=n, complexity=2, first_relations=1, second_relations=2)
    else:
        world = TwoHop(n=n)
    built = world.build()
    seeds = range(max(2, replicas) if name == "agreement" else replicas)
    candidates = built.outputs.tolist()
    return gpt.build(
        vocabulary=len(built.vocabulary), seeds=seeds, candidates=candidates
    ), built


def metered(name: str, *given: Any) -> tuple[Meter, float]:
    """Return what one call used, and what the probe stated beforehand."""
    model, world = small_and_model(name, *given)
    with Meter() as meter:
        ALL[name](model, world)
    return meter, needs.needed(getattr(ALL[name], "func", ALL[name]), model, world)


@pytest.fixture
def in_small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "training.scoring.answers",
        "probes.states",
        "probes.needs",
        "probes.inside",
        "probes.memory",
        "probes.templates",
        "probes.geometry.cosines",
    ):
        monkeypatch.setattr(sys.modules[f"inweights.{name}"], "MAX_LOGITS", 2**13)
    monkeypatch.setattr(states, "MAX_POSITIONS", 2**9)
    monkeypatch.setattr(needs, "_POSITIONS", 2**9)


def test_every_probe_says_what_it_holds() -> None:
    says = {
        name
        for name, probe in ALL.items()
        if hasattr(getattr(probe, "func", probe), "holds")
    }
    assert says == set(ALL) - TABLES


def test_what_is_said_is_of_as_many_statements_as_are_looked_at_by_default() -> None:
    """Except for `edits`, whose option is the number of edited facts, while all are evaluated."""
    limits = {}
    for name in set(ALL) - TABLES - {"edits"}:
        probe = getattr(ALL[name], "func", ALL[name])
        if option := inspect.signature(probe).parameters.get("most"):
            limits[name] = (probe.holds[1], option.default)
    assert len(limits) > 4
    assert [name for name, (said, default) in limits.items() if said != default] == []


@pytest.mark.parametrize(
    "name", mostly_slow(sorted(set(ALL) - TABLES), FAST.__contains__)
)
def test_what_is_held_was_said_within_a_factor_of_two(
    name: str, request, monkeypatch
) -> None:
    if (
        name == "named_geometry"
    ):  # draws are computed one after another, so more draws need no more memory
        monkeypatch.setitem(ALL, name, partial(ALL[name], draws=2))
    metered(name, 24)  # imports of the first call are not counted
    for given in ((64, 3, 16), (120, 1, 32), (160, 1, 16)):
        meter, said = metered(name, *given)
        assert 0.5 < said / meter.peak < 2, (given, said, meter.peak)
    request.getfixturevalue("in_small_blocks")
    meter, said = metered(name, 160)
    assert 0.5 < said / meter.peak < 2, (said, meter.peak)


@pytest.mark.usefixtures("in_small_blocks")
@pytest.mark.parametrize(
    "name", mostly_slow(sorted(set(ALL) - TABLES - SOLVED - WHOLE), FAST.__contains__)
)
def test_bytes_and_operations_grow_as_the_world(name: str, monkeypatch) -> None:
    """From ``n`` to ``4 n``, costs grow like the world or, if all logits are needed, like those."""
    for module in (hop_module, pair_module, spectrum, named, edge_margins, needs):
        monkeypatch.setattr(module, "EXACT", 100)
    monkeypatch.setattr(pair_module, "PAIRS", 5000)
    monkeypatch.setattr(edge_margins, "_SAMPLED", 50)
    monkeypatch.setattr("inweights.probes.pictures.film.DRAWN", 100)
    for module in (cosine_module, vector_module, edge_margins):
        monkeypatch.setattr(module, "_AT_ONCE", 2**16)
    few = {"draws": 2} if name in DRAWN else {}
    if name in ("activation_patching", "attribution_patching"):
        few = {"most": 64}
    monkeypatch.setitem(ALL, name, partial(ALL[name], **few))
    metered(name, 24)
    n = 104 if name in GRAPHS else 52  # these graphs have more than EXACT nodes
    (small, _), (large, _) = metered(name, n), metered(name, 4 * n)
    # Python's dictionaries and lists take up to twice the memory of their contents.
    assert large.peak <= 4.5 * small.peak, (large.peak, small.peak)
    model, world = small_and_model(name, 4 * n)
    pairs = max(len(world.facts), len(world.queries)) * len(model.candidates)
    assert large.written <= 4.5 * small.written + 8 * pairs * len(model.layer_names)


def test_too_much_is_refused_with_both_numbers() -> None:
    model, world = small_and_model("accuracy", 64, 3)
    with at_most("100kB"), pytest.raises(ConfigError) as caught:
        accuracy(model, world)
    for part in (
        "probe 'accuracy' with 194 candidates and 3 replicas takes about",
        "limit is 100 kB",
        "use fewer replicas",
        "--max-memory",
    ):
        assert part in str(caught.value)
