"""Tell how near to its paper each recipe is, from a file, so that no plan has to be loaded.

``protocols.json`` is written by ``make records``, and a test compares it with what
:mod:`inweights.experiments.studies.protocols` computes.
"""

from functools import lru_cache
from importlib import resources

import msgspec

from inweights.experiments.claims.claim import Protocol
from inweights.experiments.grammar.protocols.compare import compare
from inweights.experiments.grammar.protocols.differences import Whose, table_of
from inweights.experiments.grammar.recipe import Recipe
from inweights.experiments.studies.protocols import computed_protocols

FILE = "protocols.json"
#: The scale at which claims are judged.
SCALE = "cpu"


class BesidePaper(msgspec.Struct, frozen=True):
    """A recipe beside its paper.

    Attributes:
        settings: Number of different settings that are the paper's, its code's, smaller
            or ours, at the scale that is judged.
        claims: How near to the paper's protocol each claim of the paper is judged, by
            its id.
    """

    settings: dict[Whose, int]
    claims: dict[str, Protocol]


def beside_paper(recipe: Recipe) -> BesidePaper | None:
    """Compute how near a recipe is to its paper; ``None`` where no protocol is stated."""
    if recipe.protocol is None:
        return None
    counted: dict[Whose, int] = {}
    for row in table_of(compare(recipe, SCALE)):
        counted[row.whose] = counted.get(row.whose, 0) + 1
    return BesidePaper(dict(sorted(counted.items())), computed_protocols(recipe, SCALE))


@lru_cache(maxsize=1)
def stored() -> dict[str, BesidePaper]:
    """Return what was computed of each recipe, by its name."""
    file = resources.files("inweights.recipes.catalogue").joinpath(FILE)
    return msgspec.json.decode(file.read_bytes(), type=dict[str, BesidePaper])


def computed_protocol(claim: str) -> Protocol | None:
    """Return how near to the paper's protocol a claim is judged, where it was computed.

    Args:
        claim: Id of the claim.

    Example:
        >>> computed_protocol("geometric-memory/c3/wide-is-geometric-free")
        'scaled'
    """
    found = stored().get(claim.rpartition("/")[0])
    return found.claims.get(claim) if found else None
