"""Adds figures and the page to the folder of a finished run."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from inweights.lab.engine.outcome import Outcome
from inweights.report.pages.page import PageContent, build_page, write_figures
from inweights.runs import written

#: Name of the page in a run folder.
PAGE = "page.html"


def publish(outcome: Outcome, folder: Path, cite: Sequence[str] = ()) -> None:
    """Write ``figures/`` and the page of a run into ``folder``; ``cite`` are BibTeX entries."""
    recipe = outcome.recipe
    figures = folder / "figures"
    figures.mkdir(exist_ok=True)
    stills = write_figures(outcome.figures, outcome.tables, figures)
    content = PageContent(
        title=outcome.heading,
        paper=recipe.paper,
        place=recipe.place,
        summary=recipe.summary,
        recipe=recipe.name,
        scale=outcome.scale,
        seeds=outcome.seeds,
        seconds=outcome.seconds,
        folder=outcome.folder.path.as_posix(),
        claims=outcome.claims,
        figures=outcome.figures,
        tables=outcome.tables,
        config=outcome.settings,
        environment=outcome.environment,
        ours=recipe.ours,
        command=command_of(outcome),
        cite=cite,
        part=recipe.part,
        cautions=outcome.cautions,
    )
    (folder / PAGE).write_text(build_page(content, stills), encoding="utf-8")


def command_of(outcome: Outcome) -> str:
    """Return the command that makes this run again, quoted for a POSIX shell."""
    if outcome.command:
        return shlex.join(["inweights", *outcome.command])
    words = ["inweights", "run", outcome.recipe.name, "--scale", outcome.scale]
    seeds, first = outcome.seeds, outcome.recipe.first_seed
    if seeds != tuple(range(first, first + len(seeds))):
        words += ["--seeds", written(seeds)]
    elif len(seeds) != outcome.recipe.seeds[outcome.scale]:
        words += ["--seeds", str(len(seeds))]
    for change in outcome.overrides:
        words += ["--set", change]
    for module in outcome.plugins:
        words += ["--plugin", module]
    return shlex.join(words)
