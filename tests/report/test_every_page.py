"""Every kind of page in each window: wide and narrow, light and dark."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from tests.browser import look
from tests.report import made_up_run
from tests.report.test_atlas import WORLDS, own_films

import inweights as iw
from inweights.audit import audit
from inweights.report.living import atlas
from inweights.report.living.explore import EXPLORATIONS, explore_page
from inweights.report.pages.audit_page import build_audit_page
from inweights.report.pages.page import build_page
from inweights.report.pages.prediction_page import build_forecast_page
from inweights.worlds import read_knowledge

#: The writer of each kind of page, and the sign that its scripts have finished.
KINDS: dict[str, tuple[Callable[[], str], str]] = {
    "run": (lambda: build_page(made_up_run.content()), ".player.ready"),
    "atlas": (lambda: atlas.page(own_films(), WORLDS), ".atlas.ready"),
    "audit": (
        lambda: build_audit_page(audit(read_knowledge("@people")), "@people"),
        "main",
    ),
    "forecast": (
        lambda: build_forecast_page(
            iw.predict(iw.TwoHop(n=4, identity=0.5).build()), "mine"
        ),
        "main",
    ),
    **{which: (partial(explore_page, which), ".ready") for which in EXPLORATIONS},
}


@pytest.mark.browser
@pytest.mark.slow
def test_every_kind_fits_its_window(visit, tmp_path) -> None:
    for kind, (write, ready) in KINDS.items():
        path = tmp_path / f"{kind}.html"
        path.write_text(write(), encoding="utf-8")
        page = visit(path.as_uri(), ready)
        look(page)
        page.evaluate(
            "document.querySelectorAll('details').forEach(d => { d.open = true; })"
        )
        look(page)
