"""Look up how closely each recipe follows its paper, in a file, so that no plan has to be loaded.

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
        settings: Number of the recipe's distinct settings by origin: as in the
            ``paper``, as in its ``code``, ``smaller`` than in the paper, ``ours`` (our
            own choice), or ``unclassified``. An origin without settings is missing.
        claims: How closely each claim of the paper follows the paper's protocol, by the
            claim's full id: ``exact`` (its settings and sizes), ``scaled`` (its
            settings at a smaller size) or ``substitute`` (a different model, data set
            or measure).
    """

    settings: dict[Whose, int]
    claims: dict[str, Protocol]


def beside_paper(recipe: Recipe) -> BesidePaper | None:
    """Compute how closely a recipe follows its paper; return ``None`` if no protocol is recorded.

    Args:
        recipe: The recipe, whose settings at the scale ``cpu`` are compared with the
            paper's.

    Returns:
        Number of settings by their origin, and how closely each claim follows the
        protocol. ``None`` if the paper has no protocol file.

    Raises:
        ConfigError: The recipe has no scale ``cpu``.
        DataError: A file that the settings name cannot be read. Errors of the recipe's
            ``plan`` are passed on.
    """
    if recipe.protocol is None:
        return None
    counted: dict[Whose, int] = {}
    for row in table_of(compare(recipe, SCALE)):
        counted[row.whose] = counted.get(row.whose, 0) + 1
    return BesidePaper(dict(sorted(counted.items())), computed_protocols(recipe, SCALE))


@lru_cache(maxsize=1)
def stored() -> dict[str, BesidePaper]:
    """Return the stored summaries of the built-in recipes that reproduce papers, by full name."""
    file = resources.files("inweights.recipes.catalogue").joinpath(FILE)
    return msgspec.json.decode(file.read_bytes(), type=dict[str, BesidePaper])


def computed_protocol(claim: str) -> Protocol | None:
    """Return how closely a claim follows the paper's protocol, as stored, or ``None``.

    Args:
        claim: Full id of the claim, ``<paper>/<figure>/<id>``.

    Returns:
        ``exact`` (the paper's settings and sizes), ``scaled`` (its settings at a
        smaller size) or ``substitute`` (a different model, data set or measure).
        ``None`` if the claim is unknown or one of our own.

    Example:
        >>> computed_protocol("geometric-memory/c3/wide-is-geometric-free")
        'scaled'
    """
    found = stored().get(claim.rpartition("/")[0])
    return found.claims.get(claim) if found else None
