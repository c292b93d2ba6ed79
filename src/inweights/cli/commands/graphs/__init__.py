"""Define the commands ``atlas`` (for a user's own graphs) and ``explore`` (interactive pages)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

from msgspec import structs

from inweights import actions, worlds
from inweights.cli import console
from inweights.cli.commands import base, layouts
from inweights.cli.commands.graphs.embedded import Vectors, show
from inweights.config import as_overrides, to_plain
from inweights.errors import ConfigError, unknown_name
from inweights.support.limits import missing_file

if TYPE_CHECKING:
    from inweights.worlds.families.graphs.graph import Graph

__all__ = ["AtlasRun", "Paths", "atlas", "explore"]


@base.options
class AtlasRun(base.RunOptions):
    """Options that define how the models of an atlas are trained, and where the run is stored.

    Attributes:
        scale: smoke (takes seconds), cpu (takes minutes) or paper.
        device: Torch device of the models: ``cpu`` or ``cuda``.
    """

    scale: str = "cpu"
    device: base.Device = "cpu"


@base.options
class Paths:
    """Options that define the paths of a path-star graph.

    Attributes:
        paths: File of training paths, one per line, as leaf=root,...,leaf. If a graph
            is given, its edges are used. Otherwise, the edges are the lines u=v in
            --paths and --held-out or, if there are none, the steps of the paths.
        held_out: File of held-out paths; by default a quarter of --paths, selected by
            seed.
    """

    paths: Path | None = None
    held_out: Path | None = None

    @property
    def words(self) -> list[str]:
        """Command-line arguments that repeat the options ``--paths`` and ``--held-out``.

        The list is empty if no file was given.
        """
        given = {"--paths": self.paths, "--held-out": self.held_out}
        words: list[str] = []
        for option, file in given.items():
            words += [option, str(file)] if file else []
        return words

    def check(self) -> bool:
        """Return whether paths are given, and check that ``--held-out`` is not given without them.

        Returns:
            True if training paths are given.

        Raises:
            ConfigError: Held-out paths are given without training paths.
        """
        if self.held_out is not None and self.paths is None:
            raise ConfigError("--held-out requires --paths, the file of training paths")
        return self.paths is not None


@base.app.command
def atlas(
    *graphs: str,
    choice: base.Choice = base.Choice(),
    how: AtlasRun = AtlasRun(),
    vectors: Vectors = Vectors(),
    star: Paths = Paths(),
    layout: layouts.Layout = layouts.Layout(),
    common: base.Common = base.Common(),
) -> int:
    """Show on an interactive 3-D page how models store graphs.

    The command trains five architectures on the edges and compares their embeddings
    with the graph. It runs the recipe beyond/real-graphs on the given graphs.

    With --embedding or --model, nothing is trained. The page shows existing vectors and
    how well they match the graph, with correct and with randomly permuted names.

    With --paths, a transformer is trained on edges and paths of a path-star and
    evaluated on held-out paths. This is the recipe geometric-memory/fig3 with its
    controls.

    Args:
        graphs: Files of edges (tables with two columns, .graphml, .gexf, .gml and other
            formats of networkx, or lines u=v), or built-in graphs such as karate-club,
            europe-borders or periodic-table. A graph may have up to 10,000 nodes; if
            there are more than 250, the page draws 250.
        choice: Options --seeds and --set.
        choice.set: Change a setting, as in --set steps=1000; may be repeated.
        how: Options of the run, such as --scale and --device.
        how.jobs: Number of parallel processes; 0 means one per core.
        how.fresh: Discard an earlier run of the same graphs.
        vectors: Options for existing vectors, such as --embedding and --model.
        star: Options of a path-star: --paths and --held-out.
        layout: Options that define how tables of edges are read.
        common: Options --json and --plugin.

    Returns:
        The exit code, 0.

    Raises:
        ConfigError: No graph is given, a name is unknown or occurs twice, an option is
            invalid, or options contradict each other.
        DataError: An edge file, paths or vectors cannot be read, nodes have no
            vectors, or the page cannot be written.
        RunError: A training run failed, or the folder of the run is damaged.
    """
    with_paths = star.check()
    found = {} if with_paths else _graphs(graphs, layout)
    if vectors.check():
        if with_paths:
            raise ConfigError(
                "--paths trains a model; leave out --embedding and --model"
            )
        _refuse_training(
            seeds=choice.seeds,
            set=choice.set,
            runs=how.runs,
            fresh=how.fresh,
        )
        return show(found, vectors, device=how.device, json=common.json)
    if with_paths:
        # The recipe for graphs trains only edges. Figure 3 also trains paths.
        recipe = "geometric-memory/fig3"
        changes = _path_star(star, graphs, how.scale)
    else:
        recipe = "beyond/real-graphs"
        changes = _settings(found)
    words = ["atlas", *graphs, "--scale", how.scale, *layout.words, *star.words]
    words += base.choices(choice.seeds, choice.set, common.plugin)
    with console.progress() as progress:
        outcome = actions.run(
            recipe,
            how.scale,
            seeds=choice.numbers,
            overrides=[*changes, *choice.set],
            command=words,
            runs=how.runs,
            device=how.device,
            jobs=how.jobs or console.cores(how.device, how.scale),
            fresh=how.fresh,
            plugins=common.plugin,
            progress=progress,
        )
    console.results.outcome(outcome, json=common.json)
    return 0


@base.app.command
def explore(
    which: str = "geometry",
    /,
    *,
    out: Path | None = None,
    json: base.Json = False,
) -> None:
    """Write an interactive page that trains a small model in the browser, offline.

    Args:
        which: geometry (draw a graph and train on its edges) or bridge (switch
            identities on and off).
        out: File to write; by default explore-WHICH.html.
        json: Print JSON instead of text.

    Raises:
        ConfigError: There is no such page.
        DataError: The file exists and is not a page of the library, or it cannot be
            written.
    """
    from inweights.report.base.html import write_page
    from inweights.report.living.explore import Exploration, explore_page

    file = out or Path(f"explore-{which}.html")
    write_page(explore_page(cast(Exploration, which)), file)
    console.written_page(file, json=json)


def _refuse_training(**given: object) -> None:
    for name, value in given.items():
        if value:
            raise ConfigError(
                f"--{name} has no effect with --embedding or --model, which train nothing; leave "
                "it out"
            )


def _graphs(given: Sequence[str], layout: layouts.Layout) -> dict[str, Graph]:
    found: dict[str, Graph] = {}
    for word in given:
        name, graph = _graph(word, layout)
        if name in found:
            raise ConfigError(f"two graphs have the name '{name}'; rename one file")
        found[name] = graph
    if not found:
        raise ConfigError(
            "give an edge file, or a built-in graph, as in 'inweights atlas karate-club'"
        )
    return found


def _graph(given: str, layout: layouts.Layout) -> tuple[str, Graph]:
    """Return a name and a graph, with its edges listed, from a file or a known name."""
    from inweights.worlds.families.graphs.graph import Graph
    from inweights.worlds.families.graphs.shapes import Shape
    from inweights.worlds.readers.graphs.graph_files import own_graphs

    file = Path(given)
    if file.is_file():
        return file.stem, layout.decided(
            lambda header: _read(given, header, layout.columns)
        )
    # 'file' and 'edges' are shapes of a user's graph, not names of graphs.
    known = [name for name in get_args(Shape) if name not in ("file", "edges")]
    if given in known:
        return given, Graph(shape=given).written_out()  # type: ignore[arg-type]
    own = own_graphs()
    if given in own:
        return given, Graph(shape="file", file=str(own[given])).written_out()
    if file.suffix or file.exists():
        raise missing_file(
            file, "edges come from tables of two columns, .graphml, or lines u=v"
        )
    raise unknown_name("graph", given, [*known, *own], hint="Or name an edge file.")


def _read(file: str, header: str, columns: str) -> Graph:
    """Read a graph from a file, and report on the error stream what was assumed about it."""
    from inweights.worlds.families.graphs.graph import Graph

    as_header = header == "yes" if header else None
    console.assumed(worlds.read_edges(file, header=as_header, columns=columns).remarks)
    graph = Graph(
        shape="file",
        file=file,
        header=header,  # type: ignore[arg-type]
        ends=columns,
    )
    return graph.written_out()


def _settings(graphs: dict[str, Graph]) -> tuple[str, ...]:
    """Return the graphs as changed settings of the recipe.

    Associative storage requires a width of about the number of nodes. For graphs with
    more nodes than a picture shows, the models have the width of the scale, since the
    time of a step grows with the square of the width.
    """
    from inweights.recipes.beyond.real_graphs import Settings
    from inweights.theory.geometric_memory.detail import DRAWN

    nodes = max(len(graph.build().vocabulary["node"]) for graph in graphs.values())
    width = 1 << (nodes - 1).bit_length()
    wider = {"width": width} if Settings().width < width and nodes <= DRAWN else {}
    own = {name: to_plain(graph) for name, graph in graphs.items()}
    return as_overrides(Settings(), {"graphs": [], "own": own, **wider})


def _path_star(given: Paths, edges: Sequence[str], scale: str) -> tuple[str, ...]:
    """Return the settings of Figure 3 that replace its first star with the given path-star."""
    from inweights.models.configs import GPTConfig
    from inweights.recipes import get_recipe
    from inweights.recipes.geometric_memory.fig3 import Settings

    if len(edges) > 1:
        raise ConfigError(
            f"--paths requires the edges of exactly one file, got {len(edges)} files"
        )
    assert given.paths is not None
    edge_file = edges[0] if edges else None
    own = worlds.read_path_star(given.paths, given.held_out, edge_file=edge_file)
    own.build()  # raises an error before anything is trained
    settings: Settings = get_recipe("geometric-memory/fig3").resolve(scale)[0]
    star = settings.stars[0]
    nodes = len(own.paths[0])
    model = star.model
    # The context must have space for a task token, the leaf, the pauses and the path.
    if isinstance(model, GPTConfig):
        longest = nodes + star.pauses + 2
        model = structs.replace(model, context=max(model.context, longest))
    arms = len(own.paths) + len(own.held_out)
    star = structs.replace(star, arms=arms, nodes=nodes, model=model)
    return as_overrides(settings, {"stars": [to_plain(star)], "own": own})
