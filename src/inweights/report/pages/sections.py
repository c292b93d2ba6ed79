"""Build the sections of a run's page other than the verdicts: figures, numbers, settings.

Each function returns HTML, which :func:`~inweights.report.build_page` joins.
"""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from inweights.experiments.engine.outcome import Outcome
from inweights.experiments.grammar.controls import CONTROL, beyond_control
from inweights.experiments.grammar.figure import Figure
from inweights.experiments.grammar.recipe import split_ours
from inweights.experiments.grammar.shown import shown_in
from inweights.report.base.html import (
    disclosure,
    escape,
    figure_card,
    meta,
    nav,
    prose,
    tag,
    tree,
)
from inweights.report.base.html_tables import preview
from inweights.report.base.registry import PLAYERS, arguments, find
from inweights.report.base.save import Still, inline
from inweights.report.figures.draw import draw_for_phone
from inweights.report.living import atlas, player  # noqa: F401 - each registers its player
from inweights.runs import written
from inweights.support import progress
from inweights.support.extras import installed
from inweights.support.progress import plural

#: Note below a static figure that would be interactive if plotly were installed.
_STILL = (
    "This figure plays through training on a page that is made where plotly is installed: pip "
    "install 'inweights[interactive]'"
)


def header(run: Outcome) -> str:
    """Return the header of a run's page as HTML; errors of ``Outcome.results`` are propagated."""
    recipe = run.recipe
    facts = [
        ("recipe", recipe.name),
        ("scale", run.scale),
        ("replicates", plural(len(run.seeds), "seed")),
        ("time", duration(run.seconds)),
    ]
    parts = {"Results": run.results, "Verdict": run.claims, "Figures": recipe.figures}
    there = [name for name, part in parts.items() if part]
    links = [(name.lower(), name) for name in (*there, "Numbers", "Settings")]
    links.append(("again", "Run it again"))
    names = " and ".join(f"`{claim.id.rpartition('/')[2]}`" for claim in recipe.claims)
    part = f"This is a part of the recipe: more seeds of the trials for {names}."
    return tag(
        "header",
        tag(
            "p", escape(recipe.paper), tag("span", escape(recipe.place)), class_="paper"
        ),
        tag("h1", escape(run.heading)),
        tag("p", prose(recipe.summary), class_="summary"),
        tag("p", prose(part), class_="summary") if recipe.whole else "",
        meta(facts),
        nav(links),
    )


def listed_section(name: str, title: str, texts: Sequence[str]) -> str:
    """Return a section with a list of sentences as HTML, or "" if there are no sentences.

    Args:
        name: Id of the section.
        title: Title of the section, as HTML.
        texts: The sentences, as plain text.
    """
    if not texts:
        return ""
    listed = tag("ul", *(tag("li", escape(text)) for text in texts), class_="choices")
    return tag("section", tag("h2", title), listed, id=name)


def duration(seconds: float) -> str:
    """Return a duration, given in seconds, as a string in readable units.

    Example:
        >>> duration(4.21), duration(754), duration(7320)
        ('4.2 s', '12 min 34 s', '2 h 2 min')
    """
    return f"{seconds:.1f} s" if seconds < 60 else progress.duration(seconds)


def interactive(figure: Figure, tables: Mapping[str, pl.DataFrame]) -> str | None:
    """Return the interactive form of a figure as HTML; ``None`` if it has none.

    Figures of the kinds ``through_time`` and ``atlas`` have one. A page with
    ``through_time`` must include plotly and ``assets/player.js``.

    Args:
        figure: Description of the figure.
        tables: All tables of the run, by name.

    Raises:
        ConfigError: The figure has an unknown kind or option, or a wrong number of
            tables.
        DataError: A table lacks rows or a column, or tables contradict each other.
    """
    given = arguments(figure, find(figure), tables)
    made = PLAYERS.get(figure.kind)
    return made(*given, name=figure.id, **figure.options) if made else None


def figures_section(
    figures: Sequence[Figure],
    tables: Mapping[str, pl.DataFrame],
    stills: Mapping[str, Still],
) -> tuple[str, bool]:
    """Return the section with all figures as HTML, and whether one of them is interactive.

    If plotly is not installed, figures that require it are static, with a note.

    Args:
        figures: Descriptions of the figures.
        tables: All tables of the run, by name.
        stills: The drawn figures, by id, one for each figure.

    Returns:
        The HTML (empty if there are no figures), and whether the page needs plotly.

    Raises:
        ConfigError: A figure has an unknown kind or option, or the wrong number of
            tables.
        DataError: A figure names a missing table or column, or a table without rows.
    """
    if not figures:
        return "", False
    moving = False
    drawn = []
    for number, figure in enumerate(figures, start=1):
        fragment = interactive(figure, tables)
        note = ""
        if fragment is not None and 'class="player"' in fragment:
            if installed("interactive"):
                moving = True
            else:
                fragment = None
                note = tag("p", escape(_STILL), class_="note")
        wide = stills[figure.id]
        if fragment is None:
            drawn_narrow = draw_for_phone(figure, tables)
            phone = (
                None
                if drawn_narrow is None
                else Still(drawn_narrow, f"{figure.id}-phone")
            )
            picture = inline(figure.title, wide, phone)
        else:
            picture = fragment + tag("noscript", inline(figure.title, wide))
        data = [
            tag("h4", tag("code", escape(source))) + preview(source, tables[source])
            for source in dict.fromkeys(figure.sources)
        ]
        below = note, disclosure("Data", *data, class_="source")
        drawn.append(
            figure_card(
                number, figure.id, figure.title, picture, figure.caption, *below
            )
        )
    return tag("section", tag("h2", "Figures"), *drawn, id="figures"), moving


def controls_section(tables: Mapping[str, pl.DataFrame]) -> str:
    """Return a section with tables that compare probes with their controls, as HTML.

    Probes without controls are listed with the values that are expected by chance.

    Args:
        tables: Tables of a run, by name. A probe's table has the column ``seed`` before
            its own columns, and the column ``control`` if controls were run. Tables of
            probes without a description are ignored; the result may be empty.
    """
    parts = []
    without = []
    for name, table in tables.items():
        own = (
            table.columns[table.columns.index("seed") + 1 :]
            if "seed" in table.columns
            else []
        )
        shown = shown_in(own) if own else None
        if shown and CONTROL in table.columns:
            title = tag("h3", tag("code", escape(name)), f" {escape(shown.label)}")
            parts += [title, preview(f"{name}-beyond-control", beyond_control(table))]
        elif shown:
            fits = (
                f" Controls that fit: {', '.join(shown.controls)}."
                if shown.controls
                else ""
            )
            said = prose(f"{shown.null}{fits}")
            without.append(tag("li", tag("code", escape(name)), ": ", said))
    if without:
        none = tag(
            "p", "Run without controls. Values expected by chance:", class_="note"
        )
        parts.append(disclosure("Without a control", none, tag("ul", *without)))
    if not parts:
        return ""
    about = "Value minus the value of the same trial under the control (median, 95% interval)."
    note = (
        tag("p", escape(about), class_="note") if len(parts) > 1 or not without else ""
    )
    return tag("section", tag("h2", "Beyond control"), note, *parts, id="controls")


def numbers_section(tables: Mapping[str, pl.DataFrame]) -> str:
    """Return a section with the first 50 rows of each table as HTML; only ``overview`` is open.

    Args:
        tables: Tables of a run, by name; if there are none, the result is empty.
    """
    if not tables:
        return ""
    rows = []
    for name, table in tables.items():
        size = f"{table.height:,} × {table.width}"
        summary = tag("code", escape(name)) + tag("span", size, class_="size")
        rows.append(disclosure(summary, preview(name, table), open_=name == "overview"))
    return tag("section", tag("h2", "Numbers"), *rows, id="numbers")


def settings_section(config: Mapping[str, Any], ours: Sequence[str]) -> str:
    """Return a section with our own choices, followed by all settings, as HTML.

    Args:
        config: Nested settings of the run, as plain values.
        ours: Choices that the paper does not state: names of settings, or sentences.
    """
    choices = ""
    if ours:
        text = "The paper does not state these; they are our choice."
        names, sentences = split_ours(ours)
        items = list(map(prose, sentences))
        if names:
            items.insert(0, ", ".join(tag("code", escape(name)) for name in names))
        choices = tag("p", text) + tag(
            "ul", *(tag("li", one) for one in items), class_="choices"
        )
    settings = disclosure("All settings, resolved", tree(config, ours))
    return tag("section", tag("h2", "Settings"), choices, settings, id="settings")


def again_section(run: Outcome) -> str:
    """Return an HTML section with a run's folder and environment and the command to repeat it."""
    return tag(
        "section",
        tag("h2", "Run it again"),
        _to_copy(command_of(run)),
        tag(
            "p",
            "Run folder ",
            tag("code", escape(run.folder.path.as_posix())),
            class_="note",
        ),
        disclosure("Environment", tree(run.environment)),
        id="again",
    )


def command_of(outcome: Outcome) -> str:
    """Return the POSIX shell command that repeats a run; default options are omitted."""
    if outcome.command:
        return shlex.join(["inweights", *outcome.command])
    words = ["inweights", "run", outcome.recipe.name, "--scale", outcome.scale]
    seeds = outcome.seeds
    first = outcome.recipe.first_seed
    if seeds != tuple(range(first, first + len(seeds))):
        words += ["--seeds", written(seeds)]
    elif len(seeds) != outcome.recipe.seeds[outcome.scale]:
        words += ["--seeds", str(len(seeds))]
    for change in outcome.overrides:
        words += ["--set", change]
    for module in outcome.plugins:
        words += ["--plugin", module]
    return shlex.join(words)


def cite_section(entries: Sequence[str]) -> str:
    """Return a section with BibTeX entries and a copy button, or "" if there are no entries."""
    if not entries:
        return ""
    return tag("section", tag("h2", "Cite"), _to_copy("\n\n".join(entries)), id="cite")


def _to_copy(text: str) -> str:
    copy = tag("button", "Copy", type="button", class_="copy", data_copy=text)
    return tag("div", tag("pre", tag("code", escape(text))), copy, class_="command")
