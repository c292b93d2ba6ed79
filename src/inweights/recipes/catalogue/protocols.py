"""Look up how closely each recipe follows its paper, without loading the recipe's plan.

``make records`` writes the file ``protocols.json``, and a test compares it with what
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
    """Summary of how closely a recipe follows its paper, at the scale ``cpu``.

    Attributes:
        settings: Number of distinct settings of the recipe for each origin: ``paper``
            (the value in the paper), ``code`` (the value in the paper's code),
            ``smaller`` (a smaller value than in the paper), ``ours`` (our own choice)
            or ``unclassified``. Origins without settings are left out.
        claims: How closely the evaluation of each claim follows the paper's protocol,
            keyed by the full id of the claim: ``exact`` (the paper's settings and
            sizes), ``scaled`` (the paper's settings at a smaller size) or
            ``substitute`` (a different model, data set or measure).
    """

    settings: dict[Whose, int]
    claims: dict[str, Protocol]


def beside_paper(recipe: Recipe) -> BesidePaper | None:
    """Compute how closely a recipe follows its paper, at the scale ``cpu``.

    Args:
        recipe: The recipe.

    Returns:
        The summary of settings and claims. ``None`` if no protocol file records the
        settings that the paper states.

    Raises:
        ConfigError: The recipe has no scale ``cpu``.
        DataError: A file named in the settings cannot be read.

    Exceptions raised by the recipe's ``plan`` propagate.
    """
    if recipe.protocol is None:
        return None
    counted: dict[Whose, int] = {}
    for row in table_of(compare(recipe, SCALE)):
        counted[row.whose] = counted.get(row.whose, 0) + 1
    return BesidePaper(dict(sorted(counted.items())), computed_protocols(recipe, SCALE))


@lru_cache(maxsize=1)
def stored() -> dict[str, BesidePaper]:
    """Return the stored summaries of the built-in recipes for papers, keyed by full name."""
    file = resources.files("inweights.recipes.catalogue").joinpath(FILE)
    return msgspec.json.decode(file.read_bytes(), type=dict[str, BesidePaper])


def computed_protocol(claim: str) -> Protocol | None:
    """Look up how closely the evaluation of a claim follows the paper's protocol.

    Args:
        claim: Full id of the claim, ``<paper>/<figure>/<id>``.

    Returns:
        ``exact`` (the paper's settings and sizes), ``scaled`` (the paper's settings at
        a smaller size) or ``substitute`` (a different model, data set or measure).
        ``None`` if the claim is unknown, or if it is our own and not taken from a
        paper.

    Example:
        >>> computed_protocol("geometric-memory/c3/wide-is-geometric-free")
        'scaled'
    """
    found = stored().get(claim.rpartition("/")[0])
    return found.claims.get(claim) if found else None
