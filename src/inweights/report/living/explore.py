"""Build pages on which a small model learns in the browser, without a server.

On the page ``geometry``, a reader draws a graph, trains Node2Vec or TinyNN on its
edges, and watches the positions of its nodes (Geometric Memory, Figures 1 and 7). On
the page ``bridge``, a reader trains Emb-MLP on a two-hop world, with or without
identities (Identity Bridge, Figures 2 and 3). The arithmetic in ``explore_learn.js`` is
the same as in this library, in double precision; a test compares the two over 200
steps.
"""

from pathlib import Path
from typing import Literal, get_args

from inweights.config import load_toml
from inweights.errors import check_names
from inweights.report.base.document import asset, document
from inweights.report.base.html import escape, prose, script_json, tag
from inweights.report.figures.atlas import PALETTES

Exploration = Literal["geometry", "bridge"]
EXPLORATIONS: tuple[Exploration, ...] = get_args(Exploration)

#: Heading and summary of each page.
_ABOUT: dict[str, dict[str, str]] = load_toml(Path(__file__).with_suffix(".toml"))
_SCRIPTS = ("atlas_scene.js", "atlas_panels.js", "explore_learn.js", "explore_graph.js")


def explore_page(which: Exploration = "geometry", *, seed: int = 0) -> str:
    """Return an interactive page that trains a small model, as HTML that works offline.

    Args:
        which: ``geometry`` (embeddings of a graph, the default) or ``bridge`` (two-hop
            facts).
        seed: Integer seed of the initial parameters; 0 by default.

    Raises:
        ConfigError: ``which`` is neither ``geometry`` nor ``bridge``.
    """
    check_names("living picture", [which], EXPLORATIONS)
    title = _ABOUT[which]["title"]
    summary = _ABOUT[which]["summary"]
    content = {
        "palettes": {name: list(stops) for name, stops in PALETTES.items()},
        "seed": seed,
    }
    main = tag(
        "main",
        tag("h1", escape(title)),
        tag("p", prose(summary), class_="summary"),
        asset(f"explore_{which}.html"),
    )
    data = tag("script", script_json(content), type="application/json", id="content")
    return document(
        title,
        main + data,
        styles=["page.css", "atlas.css", "explore.css"],
        scripts=[asset(name) for name in (*_SCRIPTS, f"explore_{which}.js")],
        class_="atlas-page",
    )
