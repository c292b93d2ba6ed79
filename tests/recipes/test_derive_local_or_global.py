"""Derived tables of B.5 and C.3 (item 3), computed by hand."""

from __future__ import annotations

import polars as pl
import pytest
from tests.recipes.tables import close, rows, table

from inweights.experiments import Curriculum
from inweights.probes import known_geometries, skew
from inweights.recipes.geometric_memory import b5, c3
from inweights.recipes.geometric_memory.common import CODE, GPT
from inweights.worlds import Graph


def test_skew_is_held_against_the_eigenvalues() -> None:
    """Energies per dimension are 1, 4 and 0 for the walk's eigenvalues 1, ½ and −½."""
    energy = table(
        "space eigenvalue size energy",
        *((0, 0.0, 2, 2.0), (1, -1.0, 1, 4.0), (2, -3.0, 3, 0.0)),
        graph="grid",
        architecture=GPT,
        condition=CODE,
        seed=7,
    )
    known = table(
        "heatmap picture probe beyond", (0.1, 0.2, 0.3, 0.4), graph="grid", seed=7
    )
    made = b5.derive(
        {"energy": energy, "known": known.with_columns(embedding=pl.lit("local"))}
    )
    spaces = rows(made["profile"], "spectrum magnitude", architecture=GPT)
    assert close(spaces, (1.0, 1.0), (0.5, 2.0), (0.5, 0.0))
    assert rows(made["profile"], "magnitude", architecture=b5.SPECTRUM) == [
        (1.0,),
        (0.5,),
        (0.5,),
    ]
    assert rows(made["skew"], "beyond") == [((-1.5 + 3 * 0.5) / 4,)]
    assert rows(made["tests"], "value", test="heat-map") == [(0.1,)]


def test_a_factorisation_lies_at_the_root_of_the_spectrum() -> None:
    """The walk's own factorisation has energy |μ|, so it is not more skewed than the spectrum."""
    mu = [1.0, 0.5, -0.25]
    energy = pl.DataFrame(
        {
            "replica": 0,
            "space": range(3),
            "size": [1, 1, 1],
            "energy": [abs(m) for m in mu],
        }
    ).with_columns(eigenvalue=pl.Series([2 * (m - 1) for m in mu]))
    made = skew(energy)
    assert made["magnitude"].to_list() == pytest.approx([1.0, 0.5**0.5, 0.5])
    assert (made["beyond"] <= 1e-12).all()


def test_a_local_geometry_is_known_as_local() -> None:
    known = known_geometries(Graph(shape="grid", rows=3, columns=3), seed=3)
    one = {row["embedding"]: row for row in known.to_dicts()}
    assert one["local"]["others"] == 0
    assert one["local"]["neighbours"] > 0.25
    assert one["global"]["heatmap"] > one["random"]["heatmap"]
    assert one["global"]["beyond"] > one["local"]["beyond"] > one["random"]["beyond"]


def test_a_frozen_trial_has_a_free_one_of_its_world_and_model() -> None:
    made = c3.plan(c3.Settings(graphs=("grid",), most=3, looks=1)).trials
    phases = [
        one.learner.phases[0] for one in made if isinstance(one.learner, Curriculum)
    ]
    assert len(phases) == len(made)
    kinds = {(): [], ("tokens.*",): []}  # type: dict[tuple[str, ...], list[object]]
    for one, phase in zip(made, phases, strict=True):
        kinds[tuple(phase.freezes)].append((one.world, one.model))
    free, frozen = kinds.values()
    assert frozen
    assert all(pair in free for pair in frozen)


def test_ends_of_free_and_frozen_runs() -> None:
    about = {"graph": "grid", "architecture": GPT, "seed": 7, "condition": CODE}
    recall = table(
        "embeddings step recall loss floor",
        *(("free", 0, 0.2, 2.0, 1.0), ("free", 10, 1.0, 1.25, 1.0)),
        *(("frozen", 0, 0.2, 2.0, 1.0), ("frozen", 10, 0.9, 1.75, 1.0)),
        **about,
    )
    cosines = table(
        "embeddings hops cosine",
        *(("free", h, 1.0 / h) for h in (1, 2, 3)),
        *(("frozen", h, float(h)) for h in (1, 2, 3)),
        **about,
    )
    made = c3.derive({"recall": recall, "cosines": cosines})
    ends = rows(made["ends"], "embeddings recall above_floor first")
    assert ends == [("free", 1.0, 0.25, 10.0), ("frozen", 0.9, 0.75, 11.0)]
    assert close(rows(made["correlation"], "all"), (-1.0,), (1.0,))
