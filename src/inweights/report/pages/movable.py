"""Interactive twins of drawings: an HTML fragment for the page, where a kind of figure has one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl

from inweights.report.base.registry import PLAYERS, arguments, find
from inweights.report.figures import draw as figures

# Each import registers its drawings or players.
from inweights.report.living import atlas, player

if TYPE_CHECKING:
    from inweights.lab.grammar.figure import Figure

__all__ = ["atlas", "figures", "interactive", "player"]


def interactive(figure: Figure, tables: Mapping[str, pl.DataFrame]) -> str | None:
    """Return the interactive twin of ``figure``, or ``None`` where its kind has none.

    The fragment needs ``assets/player.js`` and plotly on its page, which
    :func:`inweights.report.pages.page.build_page` puts there.

    Raises:
        ConfigError: No drawing has the figure's kind, or an option does not fit it.
        DataError: A table or a column is missing, or a table has no rows.
    """
    drawing = find(figure)
    if figure.kind not in PLAYERS:
        return None
    given = arguments(figure, drawing, tables)
    return PLAYERS[figure.kind](*given, name=figure.id, **figure.options)
