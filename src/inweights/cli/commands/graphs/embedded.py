"""Compare existing vectors with a graph: ``inweights atlas --embedding`` and ``--model``.

:func:`show` prints the numbers and writes the page; nothing is trained.
"""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from inweights import lm
from inweights.cli import console
from inweights.cli.commands import base
from inweights.errors import ConfigError

if TYPE_CHECKING:
    import polars as pl

    from inweights.probes.geometry.embedding import Embedding
    from inweights.support.progress import Progress
    from inweights.worlds.families.graphs.graph import Graph
    from inweights.worlds.world import World

#: Number of random assignments of the names to the vectors.
_DRAWS = 200
_WORDS = {
    "spearman": "Spearman, cosine and hops",
    "far": "the same from two hops on",
    "neighbours": "neighbours among the nearest",
    "fiedler": "energy in the Fiedler space",
    "zigzag": "energy where neighbours differ",
}


@base.options
class Vectors:
    """Options that define existing vectors of the nodes, from a file or a language model.

    Attributes:
        embedding: File with a vector for each node, matched by name: .npy,
            .safetensors, or word2vec text.
        names: Text file with the name of each row of a .npy or .safetensors file, one
            per line.
        tensor: Name of the tensor in a .safetensors file.
        model: A pretrained language model: a folder, a GGUF file, a hub name, or
            @smollm2. Its hidden states for the names of the nodes are shown for each
            layer.
        prompt: Prompt of the model, ending in {name}; by default "This is {name}".
        out: File of the page for --embedding or --model; by default atlas.html.
        download: Allow downloads from the hub.
    """

    embedding: Path | None = None
    names: Path | None = None
    tensor: str | None = None
    model: str | None = None
    prompt: str | None = None
    download: base.Download = False
    out: Path | None = None

    def check(self) -> bool:
        """Return whether vectors are given, and check that the options do not conflict.

        Returns:
            True if vectors are given, by ``embedding`` (a file) or ``model`` (a
            language model).

        Raises:
            ConfigError: Both ``embedding`` and ``model`` are given; ``names``,
                ``tensor``, ``prompt`` or ``out`` is given without either of them; or
                ``prompt`` is given with ``embedding``, or ``names`` or ``tensor`` with
                ``model``.
        """
        if self.embedding is None and self.model is None:
            for name in ("names", "tensor", "prompt", "out"):
                if getattr(self, name) is not None:
                    raise ConfigError(f"--{name} requires --embedding or --model")
            return False
        if self.embedding is not None and self.model is not None:
            raise ConfigError("give --embedding or --model, not both")
        if self.embedding is not None and self.prompt is not None:
            raise ConfigError(
                "--prompt requires --model; it has no effect on an --embedding"
            )
        if self.model is not None and (self.names or self.tensor):
            raise ConfigError(
                "--names and --tensor require --embedding; they have no effect on a --model"
            )
        return True


def show(graphs: dict[str, Graph], vectors: Vectors, *, device: str, json: bool) -> int:
    """Compare vectors of nodes with graphs, print the results and write a page.

    Args:
        graphs: The graphs, keyed by the names under which they are shown.
        vectors: Options that define the source of the vectors and the file of the page.
        device: Torch device of a language model.
        json: If true, print the path of the page, its summary and the numbers as JSON,
            instead of a table.

    Returns:
        The exit code, 0.

    Raises:
        ConfigError: The file has no such tensor, the prompt does not end in ``{name}``,
            a package or the device is not available, or a graph is too large for the
            memory.
        DataError: The vectors or the model cannot be read, nodes have no vectors, all
            nodes of a graph have the same distance from one another, or the page would
            be too large or cannot be written.
    """
    import polars as pl

    from inweights.probes import named_geometry, render_frames, snapshot
    from inweights.report.base.html import write_page
    from inweights.report.living.atlas import page

    embedded = vectors.embedding is not None
    worlds = {name: graph.build() for name, graph in graphs.items()}
    films = {}
    tables = []
    with console.progress() as progress:
        label, found = _placed(worlds, vectors, device, progress)
        for done, (name, world) in enumerate(worlds.items()):
            progress(done, len(worlds), f"{name}: shuffling names")
            # Hidden states lie in a narrow cone around their mean, which carries no
            # information on the graph. They are therefore centred.
            placed = found[name].on(world, centred=not embedded)
            table = named_geometry(placed, world, together=True, draws=_DRAWS)
            tables.append(table.select(pl.lit(name).alias("graph"), pl.all()))
            film = snapshot(placed, world).rename({"replica": "step"})
            if film.height == 1 and embedded:
                film = film.with_columns(step=pl.lit(1))
            films[name] = {label: render_frames(film, world, frames=film.height)}
    numbers = pl.concat(tables).rename({"replica": "layer"})
    layers = int(numbers["layer"].n_unique())
    kind = "replica" if embedded else "layer"
    if embedded:
        numbers = (
            numbers.drop("layer")
            if layers == 1
            else numbers.rename({"layer": "replica"})
        )
    summary = _summary(label, vectors.prompt, layers, kind)
    file = vectors.out or Path("atlas.html")
    title = f"{', '.join(graphs)} in {label}"
    write_page(
        page(
            films,
            worlds,
            title=title,
            summary=summary,
            numbers=numbers,
            unit=kind,
        ),
        file,
    )
    if json:
        console.base.print_json(
            {"page": str(file), "summary": summary, "numbers": numbers}
        )
        return 0
    _print(numbers, kind if layers > 1 else None)
    console.base.say((summary, "dim"))
    console.written_page(file, json=False)
    return 0


def _placed(
    worlds: dict[str, World], vectors: Vectors, device: str, progress: Progress
) -> tuple[str, dict[str, Embedding]]:
    """Return the name of the vectors, and the vectors (of a file or a model) for each graph."""
    from inweights.probes.geometry.embedding import node_names

    nodes = {name: node_names(world) for name, world in worlds.items()}
    if vectors.embedding is not None:
        from inweights.probes import read_embedding

        found = read_embedding(
            vectors.embedding,
            names=vectors.names,
            tensor=vectors.tensor,
            only={*chain.from_iterable(nodes.values())},
        )
        return vectors.embedding.stem, dict.fromkeys(worlds, found)
    from inweights.lm.exams.states import NAMED

    model = vectors.model or ""
    progress(0, 1, f"loading {model}")
    loaded = lm.load_model(model, download=vectors.download, device=device)
    return model, {
        name: lm.named_states(loaded, known, vectors.prompt or NAMED)
        for name, known in nodes.items()
    }


def _summary(label: str, prompt: str | None, layers: int, kind: str) -> str:
    """Return a description of what was done, for the page and the console."""
    from inweights.lm.exams.states import NAMED

    how = "Nothing was trained; rows were matched to nodes by name."
    if kind == "layer":
        how = (
            f"Hidden states of {label} at the last token of '{prompt or NAMED}', minus their mean "
            "over the nodes; layer 0 is the table of tokens."
        )
    best = ""
    if layers > 1:
        best = f", corrected for choosing the best {kind} of {layers}"
    return (
        f"{how} null: central 95% of the values for {_DRAWS} shufflings of the names; p: share of "
        f"all arrangements of the names that fit the graph at least as well{best}."
    )


def _print(numbers: pl.DataFrame, by: str | None) -> None:
    """Print one row per graph and measure, for the best layer if there are several."""
    import polars as pl

    best = []
    for (_, measure), rows in numbers.group_by("graph", "measure", maintain_order=True):
        up = measure in ("neighbours", "fiedler")
        ordered = rows.sort(-pl.col("value") if up else "value")
        best.append(ordered.row(0, named=True) | {"words": _WORDS[str(measure)]})
    cells = {"graph": "{graph}", "measure": "{words}", "value": "{value:.3f}"}
    cells |= {"null": "{null_low:.3f} … {null_high:.3f}", "p": "{p:.3f}"}
    console.base.listing(best, cells | ({by: f"{{{by}}}"} if by else {}))
