"""Our experiment: edges first, then paths with frozen embeddings, at the paper's size on a CPU."""

from functools import partial

import polars as pl
from msgspec import structs

import inweights as iw
from inweights.experiments import Measure, Plan, share
from inweights.recipes.geometric_memory import paths
from inweights.recipes.shared.derived_paths import path_ends

CONTROLS: tuple[paths.Way, ...] = (paths.PERMUTED, paths.RANDOM)
KEYS = ["graph", "embeddings", "seed"]


def measures() -> tuple[Measure, ...]:
    """Return the measures of accuracy on edges and paths, and of navigation by embeddings.

    Returns:
        The measures ``places`` (:func:`inweights.probes.stepwise` of edges and paths:
        accuracy token by token) and ``navigation``
        (:func:`inweights.probes.navigation`), both taken at the end of training.
    """
    roles = (*paths.EDGES, "path")
    return (
        Measure(name="places", probe=iw.probes.stepwise, options={"roles": roles}),
        Measure(name="navigation", probe=iw.probes.navigation),
    )


class Size(iw.Config):
    """Settings of a graph, and of training on it.

    A value of the wrong type raises a ``ConfigError``; ranges are checked when the
    config is used.

    Attributes:
        course: Settings of the path-star and its training.
        controls: Number of updates for which the controls are trained on paths, which
            they must memorise without a geometry; 0 (the default) for no controls.
        scatter: Standard deviation of the initial weights of the control with random
            embeddings; by default 0.2. It must be large enough for this model to
            memorise the paths.
    """

    course: paths.PathStarTraining
    controls: int = 0
    scatter: float = 0.2

    def training(self, how: paths.Way) -> paths.PathStarTraining:
        """Return the settings for training on the graph, or for one of its controls.

        Args:
            how: ``geometry first`` (the training itself), ``permuted`` (the control in
                which the nodes are permuted in the edges of the first phase) or
                ``random`` (the control with frozen random embeddings). Any other name
                has the same effect as ``random``.

        Returns:
            The settings. For the controls, the number of updates on paths is
            :attr:`controls`; for ``random``, the initial standard deviation is
            :attr:`scatter`.

        Raises:
            ConfigError: ``scatter`` is not above 0 (only for ``random``).
        """
        if how == paths.GEOMETRY:
            return self.course
        longer = structs.replace(
            self.course, paths=self.controls, together=self.controls
        )
        if how == paths.PERMUTED:
            return longer
        scattered = structs.replace(longer.model, init=iw.Init(std=self.scatter))
        return structs.replace(longer, model=scattered)


star = partial(paths.PathStarTraining, nodes=5, task_tokens=False)
SMALL = Size(course=star(arms=200), controls=1000)
MIDDLE = Size(
    course=star(
        arms=1000,
        edges=400,
        paths=200,
        sources=1000,
        rehearsed=300,
    )
)
LARGE = Size(
    course=star(
        arms=5000,
        edges=700,
        paths=200,
        sources=2500,
        rehearsed=500,
    )
)
#: Settings of a run with next to no training.
MINI = star(
    model=paths.MINI.model,
    edges=6,
    paths=6,
    leaves=4,
    sources=64,
    rehearsed=16,
)


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``geometry_first.toml``. A value of the wrong type
    raises a ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        sizes: Settings of the graphs, from small to large, and of the training on each
            graph.
    """

    sizes: tuple[Size, ...] = (SMALL, MIDDLE, LARGE)


def plan(settings: Settings) -> Plan:
    """Plan training on edges first, then on paths, for every graph and its controls.

    Args:
        settings: The recipe's settings, such as ``sizes``; :class:`Settings` describes
            each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``graph`` (the string ``(arms, nodes per path)``: (200,
          5); (1000, 5); (5000, 5)) and ``embeddings`` (``geometry first``: training on
          edges, then on edges and paths with frozen embeddings; and two controls:
          ``permuted``, as ``geometry first``, except that the nodes are permuted in the
          edges of the first phase; and ``random``, with frozen random embeddings).
        - Measures: ``places`` (:func:`inweights.probes.stepwise` with ``roles=("edge",
          "reverse_edge", "path")``) and ``navigation``
          (:func:`inweights.probes.navigation`).

    Raises:
        ConfigError: A value is out of range for a graph, the model or its training.
    """
    trials = []
    for size in settings.sizes:
        controls = CONTROLS if size.controls else ()
        for how in (paths.GEOMETRY, *controls):
            labels = {"graph": size.course.name, "embeddings": how}
            trials.append(size.training(how).trial(labels, how=how))
    return Plan(trials=trials, measures=measures())


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return accuracies on paths and edges, and how often embeddings reveal the first node.

    Args:
        tables: The tables that result from :func:`plan`, by name (a run is one trial
            with one seed): ``places`` (:func:`inweights.probes.stepwise`: ``part, role,
            place, statements, accuracy, recall, exact``) and ``navigation``
            (:func:`inweights.probes.navigation`: ``depth, hops, nearest, ridge,
            explained, chance``). Both have the columns ``graph, embeddings, seed``. The
            labels are ``graph`` (the string ``(arms, nodes per path)``: (200, 5);
            (1000, 5); (5000, 5)) and ``embeddings`` (``geometry first``: training on
            edges, then on edges and paths with frozen embeddings; and two controls:
            ``permuted``, as ``geometry first``, except that the nodes are permuted in
            the edges of the first phase; and ``random``, with frozen random embeddings).
            Accuracies and recall are fractions from 0 to 1.

    Returns:
        - ``table``: a row per run, as returned by
          :func:`~inweights.recipes.shared.derived_paths.path_ends`: ``hardest``
          (accuracy on the hardest token of held-out paths, which is the first one after
          the root), ``exact`` (share of held-out paths that are entirely correct),
          ``trained`` (accuracy on the hardest token of training paths), ``edges``
          (recall of the edges), and the shares of leaves for which the first node of
          their own path is the nearest (``nearest``) or is found by a ridge regression
          (``ridge``). Columns: ``graph, embeddings, seed, exact, hardest, trained,
          edges, nearest, ridge, chance``.
        - ``shown``: a row per run and value of ``of`` (the column ``hardest``,
          ``trained``, ``edges`` or ``ridge`` of ``table``), with its ``value``.
          Columns: ``graph, embeddings, seed, of, value``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    table = path_ends(tables, KEYS)
    shown = table.unpivot(
        ["hardest", "trained", "edges", "ridge"], index=KEYS, variable_name="of"
    )
    return {"table": table, "shown": shown}


hardest = share("table", "hardest")
ours = hardest.at(embeddings=paths.GEOMETRY)

SCORES = {
    "hardest-token": ours.over("graph") >= 0.95,
    "thousand-arms": ours.at(graph="(1000, 5)") >= 0.98,
    "paper-size": ours.at(graph="(5000, 5)") >= 0.95,
    "exact-match": ours.of("exact").at(graph="(5000, 5)") >= 0.95,
    "edges-kept": ours.of("edges").over("graph") >= 0.95,
    "permuted-fails": hardest.at(embeddings=paths.PERMUTED) <= 0.02,
    "random-fails": hardest.at(embeddings=paths.RANDOM) <= 0.02,
    "controls-memorise": share("table", "trained", graph="(200, 5)").over("embeddings")
    >= 0.99,
}
