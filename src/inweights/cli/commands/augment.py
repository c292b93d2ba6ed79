"""Define the command ``augment``, which writes training data from a user's own facts.

:class:`Added` and :class:`Text` are groups of its options, with which :func:`augment`
calls :func:`inweights.audit.augment`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from inweights import lm
from inweights.cli import console
from inweights.cli.commands import base, layouts
from inweights.errors import ConfigError, check_names

if TYPE_CHECKING:
    from inweights.audit import Augmented


@base.options
class Added:
    """Options that select the texts to add to the facts.

    Attributes:
        strategy: Strategy that adds texts to the facts: derive, steps, paraphrases, qa,
            passages, entities, reversals, identities or replay; may be repeated. With
            auto, strategies are selected by their measured effects.
        hops: Maximum number of facts in a derived chain.
        hold_out: Share of the bridge entities whose chains are left out, to measure
            generalisation.
        floor: Smallest share of the text that states individual facts; if strategies
            add more text, the facts are repeated.
        replay: A text file with one text per line, for the strategy replay.
        paraphraser: A model that rewrites each fact, for the strategy paraphrases: a
            folder, a GGUF file, @smollm2 or, with --download, a hub name. Sentences
            that do not state the fact are left out.
        format: Also write the training data in this format: alpaca, sharegpt or qa; may
            be repeated. Prompts with completions, texts and messages are always
            written.
    """

    strategy: Annotated[tuple[str, ...], Parameter(negative=())] = ()
    hops: base.Whole = 2
    hold_out: float = 0.0
    floor: float = 0.25
    replay: Path | None = None
    paraphraser: str = ""
    format: Annotated[tuple[str, ...], Parameter(negative=())] = ()

    def check(self) -> None:
        """Raise an error if a format is unknown, or an option requires a strategy that is missing.

        Raises:
            ConfigError: A format is unknown, or ``paraphraser`` is given without the
                strategy ``paraphrases`` or ``auto``.
        """
        from inweights.audit.write import FORMATS

        check_names("format", self.format, FORMATS)
        given = {*self.strategy}
        if self.paraphraser and not {"paraphrases", "auto"} & given:
            raise ConfigError("--paraphraser requires --strategy paraphrases")


@base.options
class Text:
    """Options that define the size and order of the training set.

    Attributes:
        budget: Size of the training set in tokens of --model, or in words if no model
            is given; with 0, each text occurs once.
        curriculum: joint (the stages of the file, or a single stage if the file has no
            stages), or sa (first the facts that make entities similar, then the other
            facts).
        model: A model to be fine-tuned, whose tokenizer is used to count tokens. The
            cost of fine-tuning, measured on 20 updates, is printed before anything is
            written.
        limit: Time limit or token limit for all epochs, such as --for 20min or --for
            200000tokens; requires --model. It sets the budget. Replayed text is not
            counted.
        seed: Seed of random selections.
    """

    budget: base.Whole = 0
    curriculum: str = "joint"
    model: str = ""
    limit: Annotated[str, Parameter(name="--for")] = ""
    seed: base.Whole = 0

    def check(self) -> None:
        """Raise an error if options for the size of the training set contradict each other.

        Raises:
            ConfigError: A ``limit`` (``--for``) is given together with a ``budget`` or
                without a ``model``, or is not written as ``20min`` or ``200000tokens``.
        """
        if self.limit and self.budget:
            raise ConfigError("--for sets the budget; leave out --budget")
        if self.limit and not re.fullmatch(r"[1-9]\d{0,11}(min|tokens)", self.limit):
            raise ConfigError(
                "--for must have a form such as 20min or 200000tokens, got "
                f"'{self.limit}'"
            )
        if self.limit and not self.model:
            raise ConfigError("--for requires --model")


def _planned(
    making: Callable[..., Augmented], text: Text, *, download: bool
) -> tuple[Augmented, lm.Cost | None]:
    """Return the texts that fit within the limit, and their cost if a model was given."""
    if not text.model:
        return making(budget=text.budget), None
    model = lm.load_model(text.model, download=download)

    def count(texts: Sequence[str]) -> list[int]:
        # The model also learns the token at the end of each text.
        return [len(model.tokens(one)) + 1 for one in texts]

    def costs(made: Augmented, each: float = 0.0) -> lm.Cost:
        rows = made.train.select("prompt", "completion", "stage").iter_rows()
        examples = [lm.Example(*row) for row in rows]
        return lm.cost_of(model, examples, lm.DEFAULT, each=each)

    made = making(budget=text.budget, tokens=count)
    if text.limit.endswith("min"):
        _refuse_too_short(model, made, text.limit)
    cost = costs(made)
    if not text.limit:
        return made, cost
    number, unit = re.sub(r"(\d+)", r"\1 ", text.limit).split()
    # Each token is read once per epoch. The measured time covers all epochs.
    each = cost.each / 60 if unit == "min" else lm.DEFAULT.epochs
    budget = int(int(number) / each)
    facts = made.train.filter(role="fact").unique("fact")["text"].to_list()
    least = sum(count(facts))
    if budget < least:
        raise ConfigError(
            f"--for {text.limit} is too small: the facts alone require "
            f"{math.ceil(least * each)} {unit}"
        )
    made = making(budget=budget, tokens=count)
    # The time per token was measured above, and is the same for fewer texts.
    return made, costs(made, cost.each)


def _refuse_too_short(model: lm.LanguageModel, made: Augmented, limit: str) -> None:
    """Raise an error, before timing updates, if a limit is too low for the facts alone."""
    facts = made.train.filter(role="fact").unique("fact", maintain_order=True)
    examples = [
        lm.Example(*row) for row in facts.select("prompt", "completion").iter_rows()
    ]
    minutes = lm.least_seconds(model, examples, lm.DEFAULT) / 60
    if minutes > int(limit.removesuffix("min")):
        raise ConfigError(
            f"--for {limit} is too small: the facts alone require at least "
            f"{math.ceil(minutes)} min, as estimated from one batch"
        )


@base.app.command
def augment(
    facts: str,
    /,
    *,
    out: Path,
    added: Added = Added(),
    text: Text = Text(),
    source: layouts.WordedSource = layouts.WordedSource(),
    json: base.Json = False,
) -> None:
    """Write training data for a file of facts, with held-out questions and a control data set.

    Args:
        facts: A file or folder of facts, as for 'inweights audit'.
        out: Folder to write.
        added: Options that select the texts to add, such as --strategy.
        text: Options for the size and order of the training set, such as --budget.
        source: Options that define how the facts are read and worded.
        json: Print JSON instead of text.

    Raises:
        ConfigError: An option is invalid or has no effect in combination with the
            others, a package is not installed, or the limit is too short for the facts.
        DataError: The facts, the model or another file cannot be read, or the folder
            already exists or cannot be written.
        RunError: The loss of a timed update is not a finite number.
    """
    from inweights.audit import augment as make
    from inweights.audit import write_augmented

    # Options are checked before the facts are read, which may take a minute.
    added.check()
    text.check()
    knowledge = source.read(facts)
    with console.progress() as watch:
        rewrite = None
        if added.paraphraser:
            model = lm.load_model(added.paraphraser, download=source.download)
            rewrite = lm.paraphraser(model, progress=watch)
        making = partial(
            make,
            knowledge,
            strategies=added.strategy,
            wording=source.wordings(knowledge),
            hops=added.hops,
            hold_out=added.hold_out,
            floor=added.floor,
            replay=added.replay,
            seed=text.seed,
            rewrite=rewrite,
            curriculum=text.curriculum,  # type: ignore[arg-type]
            watch=watch,
        )
        made, cost = _planned(making, text, download=source.download)
        if not json:
            console.augmented.cost(cost, text.limit)
    written = write_augmented(made, out, formats=added.format)
    console.augmented.augmented(made, written, json=json)
