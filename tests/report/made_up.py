"""Small synthetic tables, one for each drawing function."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl

from inweights.theory.geometric_memory.layout import scene
from inweights.worlds.families.graphs.graph import Graph

MODELS = ("emb-mlp", "gpt", "gpt-small", "gpt-decay")


def accuracies(seeds: int = 5, models: tuple[str, ...] = MODELS) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    rows = []
    for identity in ("with", "without"):
        for model in models:
            for c in range(1, 7):
                for seed in range(seeds):
                    base = (
                        1 / c
                        if identity == "without"
                        else {"gpt": 1.05 - 0.11 * c}.get(model, 1.0)
                    )
                    noise = (
                        rng.normal(0, 0.06) if base < 1 else -abs(rng.normal(0, 0.004))
                    )
                    rows.append(
                        (seed, identity, model, c, min(1, max(0, base + noise)), 1 / c)
                    )
    names = ["seed", "identity", "model", "C", "accuracy", "chance"]
    return pl.DataFrame(rows, schema=names, orient="row")


def varied() -> pl.DataFrame:
    """Return a table like that of a sweep: varied settings, seed and a measure."""
    part = accuracies(3, MODELS[:2]).filter(identity="with")
    return part.select("C", "seed", role="model", hit="accuracy")


def logits(
    bridges: int = 5, panels: tuple[str, ...] = ("r1", "r2", "r1 + r2")
) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    rows = []
    inputs = [("subjects", f"a{i}") for i in range(bridges)] + [
        ("bridges", f"b{i}") for i in range(bridges)
    ]
    inputs += [("relations", "r1"), ("relations", "r2")]
    outputs = [("bridges", f"b{i}") for i in range(bridges)] + [
        ("objects", f"c{i}") for i in range(bridges)
    ]
    for panel in panels:
        for group, name in inputs:
            values = rng.normal(0, 0.6, len(outputs))
            for j, (out_group, out) in enumerate(outputs):
                hit = name[1:] == out[1:] and group != "relations"
                values[j] += 4 * hit * (1 if out_group == "bridges" else 0.6)
            best = int(values.argmax())
            for j, (out_group, out) in enumerate(outputs):
                rows.append((panel, name, group, out, out_group, values[j], j == best))
    names = ["panel", "in", "in_group", "out", "out_group", "logit", "best"]
    return pl.DataFrame(rows, schema=names, orient="row")


def projections(panels: int = 4, pairs: int = 8, layers: int = 6) -> pl.DataFrame:
    rng = np.random.default_rng(2)
    rows = []
    for panel in range(panels):
        centres = rng.normal(0, 10, (pairs, 2))
        for pair in range(pairs):
            for kind in ("bridge", "first hop"):
                start = rng.normal(0, 9, 2)
                for layer in range(layers):
                    mix = layer / max(1, layers - 1) * (0.3 + 0.2 * panel)
                    x, y = (
                        (1 - mix) * start + mix * centres[pair] + rng.normal(0, 0.5, 2)
                    )
                    name = ["gpt", "gpt-small", "gpt-decay", "emb-mlp"][panel]
                    rows.append(
                        (name, x, y, layer, pair, kind, f"trustworthiness 0.9{panel}")
                    )
    names = ["panel", "x", "y", "layer", "pair", "kind", "note"]
    return pl.DataFrame(rows, schema=names, orient="row")


def swept(seeds: int = 5) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    rows = []
    settings = {
        "depth": ["1", "2", "4", "8"],
        "width": ["64", "128", "256"],
        "learning rate": ["1e-4", "3e-4", "1e-3", "3e-3"],
        "weight decay": ["0", "0.01", "0.1"],
        "initialisation": ["small", "standard", "orthogonal"],
    }
    for axis, values in settings.items():
        for k, at in enumerate(values):
            for model in ("with", "without"):
                for seed in range(seeds):
                    base = 0.9 - 0.06 * k if model == "with" else 0.3 + 0.02 * k
                    rows.append(
                        (
                            seed,
                            axis,
                            at,
                            model,
                            float(np.clip(base + rng.normal(0, 0.06), 0, 1)),
                        )
                    )
    return pl.DataFrame(
        rows, schema=["seed", "axis", "at", "identity", "accuracy"], orient="row"
    )


def history(
    seeds: int = 4, frames: int = 12, bridges: int = 6, pairs: int = 6
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    rng = np.random.default_rng(4)
    steps = [100 * k for k in range(frames)]
    curves = []
    for seed in range(seeds):
        for name, half in (("recall", 150), ("alignment", 420), ("accuracy", 600)):
            for step in range(0, 100 * frames, 50):
                value = 1 / (1 + math.exp(-(step - half) / 60)) + rng.normal(0, 0.02)
                curves.append((seed, name, step, value))
    cells, dots = [], []
    centres, starts = rng.normal(0, 8, (pairs, 2)), rng.normal(0, 8, (pairs, 2, 2))
    noise = rng.normal(0, 0.5, (2 * bridges, bridges))
    for k, step in enumerate(steps):
        grown = k / max(1, frames - 1)
        for i in range(2 * bridges):
            for j in range(bridges):
                hit = i % bridges == j
                group, name = (
                    ("subjects", f"a{i}")
                    if i < bridges
                    else ("bridges", f"b{i - bridges}")
                )
                cells.append(
                    (
                        step,
                        name,
                        group,
                        f"c{j}",
                        "objects",
                        noise[i, j] + 4 * grown * hit,
                    )
                )
        for pair in range(pairs):
            for rank, kind in enumerate(("bridge", "first hop")):
                for layer in range(4):
                    mix = grown * (layer + 1) / 4
                    x, y = (1 - mix) * starts[pair, rank] + mix * centres[pair]
                    dots.append((step, x + 0.3 * layer, y, layer, pair, kind))
    return (
        pl.DataFrame(curves, schema=["seed", "series", "step", "value"], orient="row"),
        pl.DataFrame(
            cells,
            schema=["step", "row", "group", "column", "out", "value"],
            orient="row",
        ),
        pl.DataFrame(
            dots, schema=["step", "x", "y", "layer", "pair", "kind"], orient="row"
        ),
    )


GRAPHS = {
    "ring": Graph(shape="cycle", n=6, shuffled=False),
    "grid": Graph(rows=2, columns=3, shape="grid", shuffled=False),
}


def graphs() -> pl.DataFrame:
    return pl.concat(
        scene(config.build()).select(pl.lit(name).alias("graph"), pl.all())
        for name, config in GRAPHS.items()
    )


def films(
    frames: int = 5, architectures: tuple[str, ...] = ("list", "map")
) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    rows = []
    for graph, spaces in zip(GRAPHS, (3, 5), strict=True):
        start = rng.normal(0, 1, (6, 3))
        for architecture in architectures:
            for k in range(frames):
                moved = start + k * (architecture == "map") * rng.normal(0, 0.2, (6, 3))
                cosines = np.linspace(-1, 1, 15) * k / frames
                first = 0.4 + 0.1 * k
                rest = [(1 - first) / (spaces - 1)] * (spaces - 1)
                rows.append(
                    {
                        "graph": graph,
                        "architecture": architecture,
                        "step": 10 * k,
                        "recall": k / (frames - 1),
                        "spearman": -k / frames,
                        "shown": 0.5,
                        "positions": moved.ravel().tolist(),
                        "cosines": cosines.tolist(),
                        "energies": [first, *rest],
                    }
                )
    return pl.DataFrame(rows)


def tables() -> dict[str, pl.DataFrame]:
    """Return a table for every drawing function, by name."""
    curves, cells, dots = history()
    return {
        "accuracy": accuracies(),
        "varied": varied(),
        "logits": logits(),
        "projections": projections(),
        "sweep": swept(),
        "curves": curves,
        "cells": cells,
        "dots": dots,
        "films": films(),
        "graphs": graphs(),
    }


def figure(
    name: str,
    kind: str,
    sources: tuple[str, ...],
    title: str = "",
    caption: str = "",
    /,
    **options: Any,
) -> Any:
    """A figure as data, like ``inweights.experiments.Figure`` but without importing torch."""
    fields = {
        "id": name,
        "kind": kind,
        "sources": sources,
        "title": title,
        "caption": caption,
    }
    return SimpleNamespace(**fields, options=options)


def figures() -> list[Any]:
    """Return one figure of every kind, with the tables of :func:`tables`."""
    return [
        figure(
            "accuracy",
            "lines",
            ("accuracy",),
            "Accuracy on unseen two-hop queries",
            "Mean over seeds with its 95% interval; dots are seeds. With identity facts the "
            "models stay far above chance; without them they sit on it.",
            x="C",
            y="accuracy",
            series="model",
            facet="identity",
            reference={"column": "chance", "label": "chance, 1/C"},
            labels={
                "with": "with identity",
                "without": "without identity",
                "emb-mlp": "Emb-MLP",
            },
            x_label="complexity C",
            y_limits=[0, 1],
        ),
        figure(
            "chosen",
            "auto",
            ("varied",),
            "A table of a sweep",
            "What was varied is the axis, then lines, then panels.",
        ),
        figure(
            "templates",
            "heatmaps",
            ("logits",),
            "Logits by input token",
            "Red boxes: the greatest logit of a row.",
            panel="panel",
            row="in",
            column="out",
            value="logit",
            box="best",
            row_group="in_group",
            column_group="out_group",
        ),
        figure(
            "states",
            "states",
            ("projections",),
            "Hidden states through the layers",
            "A hue is a sample; it darkens with depth.",
            panel="panel",
            x="x",
            y="y",
            layer="layer",
            pair="pair",
            kind="kind",
            kinds=["bridge", "first hop"],
            note="note",
        ),
        figure(
            "sweep",
            "sweeps",
            ("sweep",),
            "One setting at a time",
            "Bold ticks: the value that the other panels keep.",
            axis="axis",
            value="at",
            y="accuracy",
            series="identity",
            baseline={"depth": "4", "width": "128"},
            y_limits=[0, 1],
        ),
        figure(
            "atlas",
            "atlas",
            ("films", "graphs"),
            "Six nodes, two ways",
            "Choose a graph and an architecture, and play.",
            order=["map"],
        ),
        figure(
            "time",
            "through_time",
            ("curves", "cells", "dots"),
            "Shared memory comes before generalisation",
            "Move the slider: cursor, matrix and states belong to one step.",
            row_group="group",
            column_group="out",
            matrix_label="logit",
            y_label="share",
            y_limits=[0, 1],
        ),
    ]
