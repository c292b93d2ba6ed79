"""What ``inweights atlas --embedding`` and ``--model`` do: numbers and a page, nothing trained."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from inweights.errors import ConfigError

if TYPE_CHECKING:
    import polars as pl

    from inweights.probes.geometry.embedding import Embedding
    from inweights.worlds.families.graph import Graph
    from inweights.worlds.world import World

__all__ = ["refuse_training", "show"]

#: Times that the names are shuffled.
_DRAWS = 200
_WORDS = {
    "spearman": "Spearman, cosine and hops",
    "far": "the same from two hops on",
    "neighbours": "neighbours among the nearest",
    "fiedler": "energy in the Fiedler space",
    "zigzag": "energy where neighbours differ",
}


def refuse_training(**given: Any) -> None:
    """Refuse options of a training, which is not done.

    Raises:
        ConfigError: One was given.
    """
    for name, value in given.items():
        if value:
            raise ConfigError(
                f"--{name} has no effect with --embedding or --model, which train nothing; leave "
                "it out"
            )


def show(
    graphs: dict[str, Graph],
    embedding: Path | None,
    model: str | None,
    *,
    names: Path | None,
    tensor: str | None,
    prompt: str | None,
    device: str,
    download: bool,
    out: Path | None,
    json: bool,
) -> int:
    """Compare the geometry of vectors with that under shuffled names, and write the page."""
    import polars as pl

    from inweights.cli import console
    from inweights.cli.console import base
    from inweights.probes import named_geometry, render_frames, snapshot
    from inweights.report.base.html import write_page
    from inweights.report.living.atlas import page

    if embedding is not None and model is not None:
        raise ConfigError("give either --embedding or --model")
    if embedding is not None and prompt is not None:
        raise ConfigError("--prompt requires --model; it has no effect on an --embedding")
    if model is not None and (names or tensor):
        raise ConfigError(
            "--names and --tensor require --embedding; they have no effect on a --model"
        )
    worlds = {name: graph.build() for name, graph in graphs.items()}
    label = model if embedding is None else embedding.stem
    assert label is not None
    films, tables = {}, []
    with console.progress() as progress:
        if embedding is not None:
            found = _read(worlds, embedding, names, tensor)
        else:
            found = _asked(worlds, label, prompt, device, download, progress)
        for done, (name, world) in enumerate(worlds.items()):
            progress(done, len(worlds), f"{name}: shuffling names")
            # Hidden states lie in a narrow cone; what all names share says nothing of the graph.
            placed = found[name].on(world, centred=embedding is None)
            table = named_geometry(placed, world, together=True, draws=_DRAWS)
            tables.append(table.select(pl.lit(name).alias("graph"), pl.all()))
            film = snapshot(placed, world).rename({"replica": "step"})
            if film.height == 1 and embedding is not None:
                film = film.with_columns(step=pl.lit(1))
            films[name] = {label: render_frames(film, world, frames=film.height)}
    numbers = pl.concat(tables).rename({"replica": "layer"})
    layers = int(numbers["layer"].n_unique())
    if embedding is not None:
        numbers = numbers.drop("layer") if layers == 1 else numbers.rename({"layer": "replica"})
    kind = "layer" if embedding is None else "replica"
    summary = _summary(label, prompt, layers, kind)
    file = out or Path("atlas.html")
    write_page(
        page(
            films,
            worlds,
            title=f"{', '.join(graphs)} in {label}",
            summary=summary,
            numbers=numbers,
            unit=kind,
        ),
        file,
    )
    if json:
        base.print_json({"page": str(file), "summary": summary, "numbers": _plain(numbers)})
        return 0
    _print(numbers, kind if layers > 1 else None)
    base.out.print(base.line((summary, "dim")))
    console.written_page(file, json=False)
    return 0


def _read(
    worlds: dict[str, World], file: Path, names: Path | None, tensor: str | None
) -> dict[str, Embedding]:
    """The rows of a file, the same for each graph."""
    from inweights.probes import read_embedding
    from inweights.probes.geometry.embedding import node_names

    wanted = {node for world in worlds.values() for node in node_names(world)}
    return dict.fromkeys(worlds, read_embedding(file, names=names, tensor=tensor, only=wanted))


def _asked(
    worlds: dict[str, World],
    model: str,
    prompt: str | None,
    device: str,
    download: bool,
    progress: Any,
) -> dict[str, Embedding]:
    """Hidden states of a language model at the names of each graph's nodes."""
    from inweights.lm import load_model, named_states
    from inweights.lm.exams.states import NAMED
    from inweights.probes.geometry.embedding import node_names

    progress(0, 1, f"loading {model}")
    lm = load_model(model, download=download, device=device)
    return {
        name: named_states(lm, node_names(world), prompt or NAMED) for name, world in worlds.items()
    }


def _summary(label: str, prompt: str | None, layers: int, kind: str) -> str:
    """What was done, in words for the page and the console."""
    from inweights.lm.exams.states import NAMED

    how = "Nothing was trained; rows were matched to nodes by name."
    if kind == "layer":
        how = (
            f"Hidden states of {label} at the last token of '{prompt or NAMED}', less their mean "
            "over the nodes; layer 0 is the table of tokens."
        )
    best = "" if layers == 1 else f", for the best {kind} of {layers}, whichever it is"
    return (
        f"{how} null: the same vectors under shuffled names, {_DRAWS} times, 95% of them; p: share "
        f"of all that are at least as much like the graph{best}."
    )


def _print(numbers: pl.DataFrame, by: str | None) -> None:
    """A row for each graph and measure: of several layers the best one, and how layers differ."""
    import polars as pl

    from inweights.cli.console import base

    listed = base.table("graph", "measure", "value", "null", "p", *([by] if by else []))
    for (graph, measure), rows in numbers.group_by("graph", "measure", maintain_order=True):
        up = measure in ("neighbours", "fiedler")
        best = rows.sort(pl.col("value") if not up else -pl.col("value")).row(0, named=True)
        low, high = best["null_low"], best["null_high"]
        cells = [str(graph), _WORDS[str(measure)], f"{best['value']:.3f}",
                 f"{low:.3f} … {high:.3f}", f"{best['p']:.3f}"]  # fmt: skip
        listed.add_row(*cells, *([str(best[by])] if by else []))
    base.out.print(listed)


def _plain(numbers: pl.DataFrame) -> list[dict[str, Any]]:
    """JSON has no NaN."""
    return numbers.fill_nan(None).to_dicts()
