"""The site is built without a warning, and its pages open in a real browser.

``make test`` builds the site as ``make docs`` does, with warnings as errors, and opens
one page of each kind. It runs the shortest notebook only; ``test_pages`` runs the code
of all notebooks without starting kernels. ``make test-docs`` uses the site that is built
already, ``$INWEIGHTS_SITE``, and opens every page.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.browser import look

if find_spec("myst_nb") is None:  # importing it takes seconds
    pytest.skip("install .[docs] to run", allow_module_level=True)

ROOT = Path(__file__).parents[2]
#: The folder of a site that is built already.
BUILT = os.environ.get("INWEIGHTS_SITE")
#: One page of each kind, except for listings of source code.
KINDS = (
    "index.html",
    "tutorial.html",
    "gallery.html",
    "recipes/geometric-memory.html",
    "papers.html",
    "board.html",
    "commands.html",
    "citing.html",
    "install.html",
    "theory.html",
    "predict.html",
    "notebooks/facts.html",
    "recipes/identity-bridge/fig2.html",
    "recipes/beyond/real-graphs.html",
    "api/experiments.html",
    "_static/explore/bridge.html",
    "notebooks/first-study.html",
    "report/positions.html",
    "report/two-papers.html",
)
#: A listing of source code, which is opened if the whole site was built.
SOURCE = "_modules/inweights/errors.html"


#: ``python -m sphinx`` with rare garbage collection, which otherwise takes a fifth of the
#: time and finds little.
SPHINX = """
import gc, sys
from sphinx.cmd.build import main
gc.set_threshold(100_000, 50, 100)
sys.exit(main(sys.argv[1:]))
"""


# This is one test, as several tests in parallel processes would all wait until one of
# them has built the site.
@pytest.mark.slow
@pytest.mark.browser
def test_site(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    site = Path(BUILT).resolve() if BUILT else build(tmp_path / "site")
    each_claim_has_an_address(site)
    what_is_beside_the_board_leads_into_the_site(site)
    search_finds_a_recipe_by_its_claim(site)
    search_finds_what_a_newcomer_looks_for(request.getfixturevalue("browser"), site)
    the_map_names_every_recipe(site)
    notebooks_are_run_and_open_elsewhere(site)
    an_address_opens_its_claim(request.getfixturevalue("visit"), site)
    pages_fit_their_window(request.getfixturevalue("visit"), site)


def build(site: Path) -> Path:
    words = [
        "-c",
        SPHINX,
        "-q",
        "-W",
        "--keep-going",
        "-E",
        "-b",
        "html",
        "docs",
        str(site),
    ]
    words += ["-t", "one-notebook"]
    # The sidebar is only needed on pages that are opened.
    opened = (name.removesuffix(".html") for name in (*KINDS, "search.html"))
    words += ["-D", f"pages_with_sidebar={','.join(opened)}"]
    built = subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True
    )
    assert built.returncode == 0, built.stderr[-3000:]
    return site


def pages_fit_their_window(visit, site: Path) -> None:
    names: tuple[str, ...] = KINDS
    if BUILT:
        found = (
            path.relative_to(site).as_posix() for path in sorted(site.rglob("*.html"))
        )
        names = (
            *KINDS,
            SOURCE,
            *(name for name in found if not name.startswith("_modules/")),
        )
    page = visit((site / names[0]).as_uri(), "body")
    for name in dict.fromkeys(names):
        page.goto((site / name).as_uri())
        look(page)


def each_claim_has_an_address(site: Path) -> None:
    index = json.loads((site / "claims" / "index.json").read_text("utf-8"))
    assert len(index) > 400
    board = (site / "board.html").read_text("utf-8")
    for name in list(index)[::40]:
        about = json.loads((site / "claims" / f"{name}.json").read_text("utf-8"))
        assert about["verdict"] == index[name]
        page, _, anchor = about["page"].partition("#")
        assert f'id="{anchor}"' in (site / page).read_text("utf-8")
        assert f'<tr id="{name}"' in board
        badge = (site / "claims" / f"{name}.svg").read_text("utf-8")
        assert about["verdict"] in badge


def what_is_beside_the_board_leads_into_the_site(site: Path) -> None:
    claims = json.loads((site / "board.json").read_text("utf-8"))
    table = (site / "board.csv").read_text("utf-8")
    rows = list(csv.DictReader(io.StringIO(table)))
    assert [row["claim"] for row in rows] == [claim["id"] for claim in claims]
    board = (site / "board.html").read_text("utf-8")
    feed = (site / "verdicts.xml").read_text("utf-8")
    for name in {*re.findall(r'href="board.html#([^"]+)"', feed), rows[0]["claim"]}:
        assert f'<tr id="{name}"' in board or f"<code>{name}</code>" in board, name
    pages = re.findall(r"\]\((.*?)\)", (site / "llms.txt").read_text("utf-8"))
    assert len(pages) > 50
    missing = [page for page in pages if not (site / page).exists()]
    assert not missing


def an_address_opens_its_claim(visit, site: Path) -> None:
    """Check that the address of a claim that the board hides at first makes it visible."""
    name = list(json.loads((site / "claims" / "index.json").read_text("utf-8")))[-1]
    page = visit((site / "board.html").as_uri(), "body")
    assert page.locator("#board-claims tbody tr:visible").count() == 12
    assert not page.locator(f'[id="{name}"]').is_visible()
    page.goto(f"{(site / 'board.html').as_uri()}#{name}")
    assert page.locator(f'[id="{name}"]').is_visible()
    page.fill('[name="words"]', "drowned-are-memorised")
    assert "1 of " in page.locator("#board-number").inner_text()


def search_finds_a_recipe_by_its_claim(site: Path) -> None:
    index = (site / "searchindex.js").read_text("utf-8")
    files = re.search(r'"?docnames"?:\s*\[(.*?)\]', index)
    assert files is not None
    names = re.findall(r'"([^"]+)"', files[1])
    place = names.index("recipes/identity-bridge/fig2")
    # The word is from the claim "Small initialisation degrades more slowly"; the index
    # may store its stem.
    found = re.search(
        r'[",{]"?slower"?:(\[[^]]*\]|\d+)|[",{]"?slowli"?:(\[[^]]*\]|\d+)', index
    )
    assert found is not None
    assert re.search(rf"\b{place}\b", found[0])


#: Search words, and the title of a page that is among the first ten results.
SOUGHT = {
    "install": "Install",
    "tutorial": "Tutorial",
    "custom data": "Facts of your own",
    "own model": "A model of your own",
    "colab": "Install",
    "patching": "Where is the bridge",
    "save": "Tutorial",
}


def search_finds_what_a_newcomer_looks_for(browser, site: Path) -> None:
    # `visit` is not used, as summaries of results cannot be fetched from a local file.
    page = browser.new_page()
    for words, title in SOUGHT.items():
        page.goto(f"{(site / 'search.html').as_uri()}?q={words.replace(' ', '+')}")
        page.wait_for_selector("#search-results ul.search li a")
        # This heading appears when all results are shown.
        page.wait_for_selector("#search-results h2:text-is('Search Results')")
        found = page.locator("#search-results ul.search > li").all_inner_texts()[:10]
        assert any(title.lower() in text.lower() for text in found), (words, found)
    page.close()


def the_map_names_every_recipe(site: Path) -> None:
    from inweights.recipes import recipe_names

    for name in recipe_names():
        folder, _, short = name.partition("/")
        if folder != "demo":
            text = (site / "recipes" / f"{folder}.html").read_text("utf-8")
            assert f"{folder}/{short}.html" in text


def notebooks_are_run_and_open_elsewhere(site: Path) -> None:
    pages = sorted((ROOT / "docs" / "notebooks").glob("*.md"))
    assert {"first-study", "graph", "probe", "facts"} <= {page.stem for page in pages}
    for page in pages:
        file = next(site.rglob(f"{page.stem}.ipynb"))
        cells = json.loads(file.read_text("utf-8"))["cells"]
        code = [
            "".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"
        ]
        assert len(code) >= 3
        assert sum(len(text.splitlines()) for text in code) <= 40
        if BUILT or page.stem == "facts":
            # The downloadable notebooks have their outputs, too.
            for one in site.rglob(f"{page.stem}.ipynb"):
                assert one.read_text("utf-8").count('"output_type"') >= 3
            shown = (site / "notebooks" / f"{page.stem}.html").read_text("utf-8")
            assert shown.count("cell_output") >= 3
