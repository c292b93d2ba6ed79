"""Define the configs of a recipe's TOML file and of the claims and figures in it.

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
        place: Place in the paper; by default the place of the recipe.
        source: Short name of the paper, or ``ours`` for a claim of our own; by default
            the paper of the recipe.
        quote: At most 25 words quoted from the paper; or ``none in words`` if the paper
            does not state the claim in words, or ``text not at hand``. By default the
            quote of the recipe's file. A claim whose source is ``ours`` needs no quote.
        published: The number or relation that the paper prints (``> 1/C``); or ``none
            printed``; ``lost in the text at hand``, if our copy of the text lacks it;
            or ``text not at hand``, if we have no copy. By default the value in the
            recipe's file, unless the source is ``ours``.
        close: Smallest and largest number that count as close to the published number;
            by default the published number divided and multiplied by 1.5.
        judged: Statistic over seeds that is judged: ``typical`` (the default) for the
            median; ``reliable`` for the share of seeds that meet the target, if a claim
            says *always*, *never* or *fails*; ``mean`` for the mean, if the paper
            prints a mean.
        protocol: How closely the paper's protocol is followed: ``exact``, ``scaled`` (a
            smaller size) or ``substitute`` (a different model, data set or measure). By
            default the value in the recipe's file, unless the source is ``ours``.
        condition: Value of the label ``condition`` to display if the score does not
            select rows by this label; by default the value in the recipe's file. It has
            no effect on the score.
        check: Whether the claim holds by construction, so that it only tests the code;
            by default false.
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
        drawing: Name of the drawing function, such as ``lines``; see ``kind`` of
            :class:`~.figure.Figure`.
        tables: Names of the tables to plot, in the order of the drawing function's
            arguments.
        title: Title of the figure.
        caption: How to read the figure, without the result.
        options: Keyword arguments of the drawing function; omitted arguments have their
            defaults.
        finds: The result that the figure shows, which is appended to the caption. If
            the claims about the figure do not all agree, it is shown as an expectation.
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
        title: One sentence that states what the recipe shows.
        place: Place in the paper.
        cited: Short form of ``place`` for the claims; by default ``place`` itself.
        summary: Description of the procedure, in a few sentences.
        condition: Value of the label ``condition`` to display with claims whose scores
            do not select rows by this label; empty by default. It has no effect on the
            scores.
        protocol: How closely the paper's protocol is followed: ``exact``, ``scaled`` or
            ``substitute``, as :class:`StatedClaim` explains.
        published: The number or relation that the paper prints; used for claims that do
            not specify one; see :class:`StatedClaim`.
        quote: Quote from the paper; used for claims that do not have one.
        seeds: Number of seeds, for all scales or keyed by scale; by default the number
            in the code.
        version: Version of the recipe; by default the version in the code.
        ours: Our own choices: names of settings (only letters, digits, dots and
            underscores), sentences (any other text), and reasons
            (:class:`~.protocols.protocol_file.Reason`) why settings of a world, a
            model, a learner or a measure differ from the paper's.
        notes: Names of notes that several recipes share (``geometric-memory/ssm``).
        settings: Meanings of the settings, keyed by name.
        scales: Settings that differ from the defaults, keyed by scale; settings that
            the code specifies may be left out. A table ``{ use = "NAME" }`` represents
            a config or list of configs of the code, whose fields the table may change.
        configs: Further configs, or lists of configs, to which ``use`` refers.
        claims: Claims to be judged, each with the fields of :class:`StatedClaim`, keyed
            by id.
        figures: Figures to be drawn, each with the fields of :class:`StatedFigure`,
            keyed by id.

    :func:`~.recipe_file.read_recipe` checks the names of claims, notes and settings.
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
