"""Describe claims, figures and settings as they are written in a recipe's TOML file.

:func:`~.recipe_file.read_recipe` decodes the file as a :class:`RecipeFile`, and its
entries as :class:`StatedClaim` and :class:`StatedFigure`.
"""

from typing import Any

from inweights.config import Config
from inweights.experiments.claims.claim import Protocol, Rule
from inweights.experiments.grammar.protocols.protocol_file import Reason


class StatedClaim(Config):
    """A claim as written in a recipe's file, without its score, which is in the code.

    Attributes:
        says: The claim, as a sentence.
        place: Place in the paper; by default that of the recipe.
        source: Short name of the paper, or ``ours``; by default that of the recipe.
        quote: At most 25 words of the paper; or ``none in words`` or ``text not at
            hand``. By default the quote of the recipe's file; a claim whose source is
            ``ours`` needs none.
        published: The number or relation that the paper prints (``> 1/C``); ``none
            printed``, ``lost in the text at hand`` or ``text not at hand``. By default
            as the recipe's file says, unless the source is ``ours``.
        close: Smallest and largest number that count as close to the published one; by
            default a factor of 1.5.
        judged: Statistic over seeds that is judged: ``typical``, the median;
            ``reliable``, the share of seeds that meet the target, for a sentence that
            says *always*, *never* or *fails*; ``mean``, for a paper that prints a mean.
        protocol: How closely the paper's protocol is followed: ``exact``, ``scaled`` (a
            smaller size) or ``substitute`` (another model, other data or another
            measure). By default as the recipe's file says, unless the source is
            ``ours``.
        condition: Value of the column ``condition`` in the rows that are judged; by
            default that of the recipe's file, or none if that is empty.
        check: Whether the claim holds by construction and only tests the code.
    """

    says: str
    place: str = ""
    source: str = ""
    quote: str = ""
    published: float | str | None = None
    close: tuple[float, float] | None = None
    judged: Rule = "typical"
    protocol: Protocol | None = None
    condition: str | None = None
    check: bool = False


class StatedFigure(Config):
    """A :class:`Figure` as written in a recipe's file.

    Attributes:
        drawing: Name of the drawing function.
        tables: Names of the drawn tables, in the order of the drawing function's
            arguments.
        title: What the figure shows.
        caption: How to read the figure.
        options: Keyword arguments of the drawing function; others have their defaults.
        finds: The result at the end of the caption, shown as expected until claims
            hold.
    """

    drawing: str
    tables: tuple[str, ...]
    title: str
    caption: str
    options: dict[str, Any] = {}
    finds: str = ""


class RecipeFile(Config):
    """The contents of a recipe's TOML file.

    Attributes:
        title: What the recipe shows, in one sentence.
        place: Place in the paper.
        cited: Short form of ``place`` for the claims; by default the same.
        summary: What is done, in a few sentences.
        condition: Value of the column ``condition`` for claims whose scores do not name
            one; empty for none.
        protocol: How closely the paper's protocol is followed; see
            :class:`StatedClaim`.
        published: The number or relation that the paper prints, for claims without
            their own; see :class:`StatedClaim`.
        quote: The paper's words, for claims without their own.
        seeds: Number of seeds, by scale or for all scales; by default as in the code.
        version: Version of the recipe; by default as in the code.
        ours: Choices of ours: names of settings, sentences, and reasons
            (:class:`~.protocols.protocol_file.Reason`) why settings of a world, a
            model, a learner or a measure are not the paper's.
        notes: Names of notes that several recipes share (``geometric-memory/ssm``).
        settings: Meaning of each setting, by its name.
        scales: Settings that differ from the defaults, by scale, unless they are in the
            code. A table ``{ use = "NAME" }`` stands for a config or list of configs of
            the code, whose fields the table may change.
        configs: Further configs, or lists of configs, to which ``use`` refers.
        claims: Claims that are judged, each with the fields of :class:`StatedClaim`, by
            id.
        figures: Figures that are drawn, each with the fields of :class:`StatedFigure`,
            by id.
    """

    title: str
    place: str = ""
    cited: str = ""
    summary: str = ""
    condition: str = ""
    protocol: Protocol | None = None
    published: float | str | None = None
    quote: str = ""
    seeds: int | dict[str, int] | None = None
    version: int | None = None
    ours: tuple[str | Reason, ...] = ()
    notes: tuple[str, ...] = ()
    settings: dict[str, str] = {}
    scales: dict[str, dict[str, Any]] = {}
    configs: dict[str, Any] = {}
    claims: dict[str, dict[str, Any]] = {}
    figures: dict[str, dict[str, Any]] = {}
