"""Every setting of a paper's recipes is classified, and our own choices have reasons."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources

import pytest
from tests.house.catalogue import current_protocols

from inweights.experiments.claims.claim import SIGNS
from inweights.experiments.grammar.protocols.compare import compare, other_statements
from inweights.experiments.grammar.protocols.differences import Difference, table_of
from inweights.recipes import get_recipe, recipe_names
from inweights.recipes.catalogue.protocols import FILE, computed_protocol
from inweights.recipes.papers import papers, protocol
from inweights.report.pages.beside_paper import differences_section

PAPERS = [paper for paper in papers() if protocol(paper)]
RECIPES = [name for name in recipe_names() if name.partition("/")[0] in PAPERS]


@pytest.mark.slow
def test_what_is_stored_is_what_is_computed() -> None:
    written = resources.files("inweights.recipes.catalogue").joinpath(FILE).read_bytes()
    assert written == current_protocols(), "make records"


@lru_cache
def differences(name: str) -> list[Difference]:
    """Return the differences of a recipe at all of its scales."""
    recipe = get_recipe(name)
    return [
        one
        for scale in recipe.scales
        for trial in compare(recipe, scale)
        for one in trial
    ]


def test_the_papers_have_a_protocol() -> None:
    assert set(PAPERS) == {"geometric-memory", "identity-bridge", "feature-resemblance"}


def test_what_no_setting_corresponds_to_is_shown() -> None:
    """Statements are shown for the trials of a recipe, with what the library does about them."""
    recipe = get_recipe("geometric-memory/fig3")
    settings, _, _ = recipe.resolve("smoke")
    statements = other_statements(recipe, recipe.plan(settings))
    rows = table_of(compare(recipe, "smoke"))
    shown = differences_section(rows, recipe.protocol, statements)
    assert "label smoothing".capitalize() in shown
    assert "here: none." in shown
    assert "precision of the notebooks" not in statements  # of the tiny graphs
    assert all(one.ours for one in statements.values()), "say what is done here"


@pytest.mark.parametrize("name", RECIPES)
def test_every_setting_is_classified(name: str) -> None:
    unknown = {
        f"{one.leaf} = {one.value}"
        for one in differences(name)
        if one.whose == "unclassified"
    }
    assert not unknown, (
        "state in protocol.toml what the paper and its code have, or that they do not"
    )


@pytest.mark.parametrize("name", RECIPES)
def test_what_is_ours_has_a_reason(name: str) -> None:
    bare = {
        f"{one.leaf} = {one.value}, stated: {one.stated.text if one.stated else 'not'}"
        for one in differences(name)
        if one.whose == "ours" and one.reason is None
    }
    assert not bare, (
        "say why in the recipe's 'ours', or in protocol.toml where several share it"
    )


@pytest.mark.parametrize("name", RECIPES)
def test_a_reason_explains_a_difference(name: str) -> None:
    used = {id(one.reason) for one in differences(name)}
    idle = [reason.why for reason in get_recipe(name).reasons if id(reason) not in used]
    assert not idle, "nothing that it names differs from the paper"


@pytest.mark.parametrize("paper", PAPERS)
def test_what_a_protocol_states_is_used(paper: str) -> None:
    stated = protocol(paper)
    assert stated
    found = [
        one
        for name in RECIPES
        if name.startswith(f"{paper}/")
        for one in differences(name)
    ]
    settings, reasons = (
        {id(one.stated) for one in found},
        {id(one.reason) for one in found},
    )
    idle = [
        f"{part.title}: {leaf}"
        for part in stated.parts
        for leaf, setting in part.settings.items()
        if id(setting) not in settings
    ]
    idle += [reason.why for reason in stated.ours if id(reason) not in reasons]
    assert not idle, (
        "no recipe has such a setting, or a later part says it more exactly"
    )


@pytest.mark.parametrize("paper", PAPERS)
def test_a_paper_names_its_text_and_its_code(paper: str) -> None:
    stated = protocol(paper)
    assert stated
    assert all(
        (stated.paper.version, stated.paper.date, stated.paper.venue, stated.paper.code)
    )
    assert stated.paper.read_on.startswith("2026-")


@pytest.mark.parametrize(
    ("claim", "protocol"),
    [  # smaller, a residual stream that the code lacks, other positions, and no difference
        ("geometric-memory/c3/wide-is-geometric-free", "scaled"),
        ("geometric-memory/b5/tinyssm-less-skewed", "substitute"),
        ("geometric-memory/fig3/hardest-token", "substitute"),
        ("geometric-memory/fig14-15/hardest-token", "substitute"),
        ("geometric-memory/fig17-20/tinynn-beats-chance", "exact"),
    ],
)
def test_a_claim_is_as_near_to_the_paper_as_its_settings(
    claim: str, protocol: str
) -> None:
    assert computed_protocol(claim) == protocol


def test_no_claim_is_stated_as_nearer_to_its_paper_than_its_settings_are() -> None:
    """A claim may be stated as farther from its paper, since measures are not compared."""
    signs = list(SIGNS)
    too_near = [
        f"{claim.id}: {claim.protocol}, computed {computed}"
        for name in RECIPES
        for claim in get_recipe(name).claims
        if claim.protocol
        and (computed := computed_protocol(claim.id))
        and signs.index(computed) > signs.index(claim.protocol)
    ]
    assert not too_near, (
        "state the computed protocol; 'inweights claims state' notes it"
    )


def test_the_page_shows_what_differs_and_folds_the_rest() -> None:
    recipe = get_recipe("geometric-memory/c3")
    rows = table_of(compare(recipe, "cpu"))
    page = differences_section(rows, recipe.protocol)
    shown, folded = page.split("<details", 1)
    assert "smaller" in shown
    assert "code: 10000 (tiny_neural_network.ipynb:1137)" in shown
    assert "as in the paper" not in shown.split("<table", 1)[1]
    assert "as in the paper" in folded
    assert "Shahriarnz14/Geometric_Memory@" in shown
    assert differences_section(rows, None) == ""
