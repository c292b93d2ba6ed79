"""Our experiment: what does each strategy of ``augment`` teach a pretrained model?"""

import numpy as np
import polars as pl
from msgspec import field, structs

from inweights.config.ranges import PositiveInt, UnitFloat
from inweights.errors import check_names
from inweights.experiments import (
    Computation,
    Outside,
    Plan,
    Score,
    cosine,
    number,
    share,
)
from inweights.lm.tuning.fine_tune import FineTune
from inweights.recipes.shared.language.invented import Invented, InventedSettings
from inweights.recipes.shared.language.strategies import Taught, known_before, teach

#: Strategies and number of wordings of each condition. All conditions have the same
#: number of tokens. The most important ones come first, so that they can be run alone
#: if time is short.
CONDITIONS: dict[str, tuple[tuple[str, ...], int]] = {
    "control": ((), 2),
    "derive": (("derive",), 2),
    "steps": (("steps",), 2),
    "paraphrases": (("paraphrases",), 2),
    "replay": (("replay",), 2),
    "reversals": (("reversals",), 1),
    "derive, paraphrases": (("derive", "paraphrases"), 2),
    "qa": (("qa",), 2),
    "passages": (("passages",), 2),
    "identities": (("identities",), 2),
    "derive, one wording": (("derive",), 1),
    "derive, replay": (("derive", "replay"), 2),
    "steps, paraphrases": (("steps", "paraphrases"), 2),
}
#: Names of the kinds of questions in figures, in the order of the figures.
WORDS = {
    "told": "facts as trained",
    "recall": "facts in new words",
    "reverse": "from the object",
    "composition, told": "two facts, chain stated",
    "composition, held": "two facts, held out",
    "steps, held": "step by step, held out",
    "general": "what it knew",
}


class Settings(InventedSettings):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``which_diet_teaches.toml``. The fields ``model``
    (the language model) and ``device`` (its torch device) are described in
    :class:`InventedSettings`.

    Attributes:
        world: Numbers of invented people, towns and countries.
        tokens: Maximum number of training tokens in one pass. It is the same in every
            condition.
        tuning: Settings of the fine-tuning.
        conditions: Names of the conditions, keys of ``CONDITIONS``; by default all.
        hold_out: Fraction of the bridges, from 0 to 1, that are held out: no strategy
            states the chains through these bridges.
        rates: Learning rates that replace the learning rate of ``tuning`` in some
            conditions, keyed by the name of the condition.

    Raises:
        ConfigError: A name in ``conditions`` or ``rates`` is unknown, or a value has
            the wrong type.
    """

    world: Invented = Invented(people=12, towns=6, countries=6)
    tokens: PositiveInt = 600
    tuning: FineTune = FineTune(rate=1e-3, epochs=7, batch_tokens=128)
    conditions: tuple[str, ...] = tuple(CONDITIONS)
    hold_out: UnitFloat = 0.5
    rates: dict[str, float] = field(default_factory=lambda: {"reversals": 2e-3})

    def __post_init__(self) -> None:
        check_names("condition", (*self.conditions, *self.rates), CONDITIONS)


def plan(settings: Settings) -> Plan:
    """Plan a fine-tuning run for each condition, and the evaluation before training.

    Args:
        settings: The recipe's settings, such as ``world``, ``tokens`` and ``tuning``;
            :class:`Settings` describes each.

    Returns:
        The plan. Its computations are ``before``
        (:func:`~inweights.recipes.shared.language.strategies.known_before`: the answers
        to general questions before fine-tuning, computed once, without labels) and
        ``after`` (:func:`~inweights.recipes.shared.language.strategies.teach`), for
        each seed. The label ``condition`` is a key of :data:`CONDITIONS` and names the
        strategies of ``augment`` that state the facts.

    Raises:
        ConfigError: A value of ``rates`` is out of range. ``hold_out`` and ``tokens``
            are not checked here, but when a computation is run.
    """
    where = {"model": Outside(name=settings.model), "device": settings.device}
    made = [
        Computation(
            name="before",
            labels={},
            compute=known_before,
            options=where,
            effort=200,
        )
    ]
    for name in settings.conditions:
        strategies, wordings = CONDITIONS[name]
        rate = settings.rates.get(name, settings.tuning.rate)
        lesson = Taught(
            world=settings.world,
            strategies=strategies,
            wordings=wordings,
            hold_out=settings.hold_out,
            tokens=settings.tokens,
        )
        tuning = structs.replace(settings.tuning, rate=rate)
        made.append(
            Computation(
                name="after",
                labels={"condition": name},
                compute=teach,
                options={**where, "lesson": lesson, "tuning": tuning},
                seeded=True,
            )
        )
    return Plan(computations=made)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return accuracies by kind of question, and the side effects of each fine-tuning run.

    Args:
        tables: The tables that result from :func:`plan`, by name (a run is one trial
            with one seed): ``before``
            (:func:`~inweights.recipes.shared.language.strategies.known_before`:
            ``chain, role, prompt, answer, best, rank, reciprocal, probability, share,
            others, kind``), ``after``
            (:func:`~inweights.recipes.shared.language.strategies.teach`: ``condition,
            wrong, what, held, trained, loss``). Both have the columns ``seed, id, hit,
            chance, runs_on, repeats, spilled, nats``. The label ``condition`` names the
            strategies that state the facts.

    Returns:
        - ``accuracy``: a row per run and kind of question (``what``, as in
          :func:`~inweights.recipes.shared.language.strategies.teach`; for
          ``composition`` and ``steps``, the suffix ``, held`` means that the chain is
          held out, and ``, told`` that strategies may state it), with ``accuracy``,
          ``chance`` (accuracy of guessing) and ``excess`` (``accuracy`` minus
          ``chance``). Columns: ``condition, seed, what, accuracy, chance, excess``.
        - ``shown``: the rows of the kinds of question in :data:`WORDS`, with the names
          and in the order used in the figure. Columns: as in ``accuracy``.
        - ``kept``: a row per run: ``lost``, the accuracy on general questions before
          training minus the accuracy after it; the increase of the loss on other text,
          in bits per token (``rise``); the shares of general answers that repeat
          themselves (``repeats``) or begin with a name from the training facts
          (``spilled``); and the number of tokens (``trained``) and ``loss`` of the
          fine-tuning. Columns: ``condition, seed, lost, rise, repeats, spilled,
          trained, loss``.
        - ``wrong``: a row per run and kind of question, with the share of generated
          answers that begin with an incorrect name from the world. Columns:
          ``condition, seed, what, wrong``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    after = tables["after"]
    before = tables["before"]
    place = (
        pl.when("held")
        .then(pl.lit(", held"))
        .when(~pl.col("held"))
        .then(pl.lit(", told"))
    )
    chained = pl.col("what").is_in(["composition", "steps"])
    named = after.with_columns(
        what=pl.col("what") + pl.when(chained).then(place).otherwise(pl.lit(""))
    )
    keys = ["condition", "seed"]
    accuracy = (
        named.filter(pl.col("hit").is_not_null())
        .group_by(*keys, "what", maintain_order=True)
        .agg(accuracy=pl.col("hit").mean(), chance=pl.col("chance").mean())
        .with_columns(excess=pl.col("accuracy") - pl.col("chance"))
    )
    known = before["hit"].mean()
    nats = before["nats"].mean()
    kept = after.group_by(keys, maintain_order=True).agg(
        lost=pl.lit(known) - pl.col("hit").filter(pl.col("what") == "general").mean(),
        rise=(pl.col("nats").mean() - pl.lit(nats)) / np.log(2.0),
        repeats=pl.col("repeats").mean(),
        spilled=pl.col("spilled").mean(),
        trained=pl.col("trained").max(),
        loss=pl.col("loss").max(),
    )
    wrong = (
        named.filter(pl.col("wrong").is_not_null())
        .group_by(*keys, "what", maintain_order=True)
        .agg(pl.col("wrong").mean())
    )
    shown = accuracy.filter(pl.col("what").is_in(list(WORDS)))
    shown = shown.sort(pl.col("what").cast(pl.Enum(list(WORDS))), maintain_order=True)
    return {
        "accuracy": accuracy,
        "shown": shown.with_columns(pl.col("what").replace(WORDS)),
        "kept": kept,
        "wrong": wrong,
    }


accuracy = share("accuracy", "accuracy")
excess = cosine("accuracy", "excess")
stated = accuracy.at(what="composition, told")
lost = cosine("kept", "lost")
rise = number("kept", "rise")
wrong = share("wrong", "wrong").at(what="composition, held")


def gain(what: str, condition: str) -> Score:
    """Return a score: the accuracy in a condition minus the accuracy in the condition ``control``.

    Args:
        what: Kind of question, a value of the column ``what``.
        condition: Label of the condition, a key of :data:`CONDITIONS`.

    Returns:
        The difference between the two scores.
    """
    asked = accuracy.at(what=what)
    return asked.at(condition=condition) - asked.at(condition="control")


SCORES = {
    "facts-known": accuracy.at(what="told").over("condition") >= 0.9,
    "derived-facts-are-answered": gain("composition, told", "derive") >= 0.3,
    "derived-facts-teach-no-skill": gain("composition, held", "derive") <= 0.2,
    "nothing-composes": excess.at(what="composition, held").over("condition") <= 0.25,
    "two-wordings-are-better": stated.at(condition="derive")
    - stated.at(condition="derive, one wording")
    >= 0.1,
    "steps-help-steps": gain("steps, held", "steps") >= 0.1,
    "paraphrases-help-recall": gain("recall", "paraphrases") >= 0.1,
    "reversals-help-reverse": gain("reverse", "reversals") >= 0.3,
    "only-reversals-reverse": excess.at(what="reverse", condition="control") <= 0.2,
    "identities-help-little": gain("composition, held", "identities") <= 0.2,
    "passages-help-little": gain("composition, held", "passages") <= 0.2,
    "facts-alone-cost": lost.at(condition="control") >= 0.05,
    "replay-keeps": lost.at(condition="control") - lost.at(condition="replay") >= 0.05,
    "replay-keeps-language": rise.at(condition="control") - rise.at(condition="replay")
    >= 0.25,
    "asserts-what-is-wrong": wrong.at(condition="derive") >= 0.5,
}
