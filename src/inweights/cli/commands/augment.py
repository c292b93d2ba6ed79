"""The command ``augment``: write training data from a user's own facts.

:class:`Added` and :class:`Text` are its groups of options; :func:`augment` calls
:func:`inweights.audit.augment` with them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from inweights import lm, worlds
from inweights.cli import console
from inweights.cli.commands import base
from inweights.errors import ConfigError, check_names

if TYPE_CHECKING:
    from inweights.audit import Augmented


@base.options
class Added:
    """Which texts are added to the facts.

    Attributes:
        strategy: Texts added to the facts: derive, steps, paraphrases, qa, passages,
            entities, reversals, identities or replay; may be repeated. auto selects by
            measured effects.
        want: Kinds of questions for which auto selects: recall, reverse, composition,
            steps; may be repeated. By default recall and composition.
        wordings: Number of wordings per text.
        hops: Largest number of facts in a derived chain.
        most: Largest number of chains of each length.
        hold_out: Share of the bridges whose chains are left out, to measure
            generalisation.
        floor: Least share of the text that states single facts; where strategies add
            more, the facts are stated again.
        replay: A text file with one text per line, for the strategy replay.
        failing_first: If --most limits the chains, take those first that are predicted
            to fail, in order of their margin.
        paraphraser: A model that rewrites each fact, for the strategy paraphrases: a
            folder, a GGUF file, @smollm2, or with --download a hub name. Sentences that
            do not state the fact are left out.
        chat: Use the chat template of the paraphraser.
        format: Also write the training data in this format: alpaca, sharegpt or qa; may
            be repeated. Prompts with completions, texts and messages are always
            written.
    """

    strategy: Annotated[tuple[str, ...], Parameter(negative=())] = ()
    want: Annotated[tuple[str, ...], Parameter(negative=())] = ()
    wordings: base.Whole = 3
    hops: base.Whole = 2
    most: base.Whole = 10_000
    hold_out: float = 0.0
    floor: float = 0.25
    replay: Path | None = None
    failing_first: base.Flag = False
    paraphraser: str = ""
    chat: base.Flag = False
    format: Annotated[tuple[str, ...], Parameter(negative=())] = ()

    def check(self) -> None:
        """Raise an error for options without the strategy that they need.

        Raises:
            ConfigError: An option lacks its strategy, or a format is unknown.
        """
        from inweights.audit.write import FORMATS

        check_names("format", self.format, FORMATS)
        given = {*self.strategy}
        if self.want and "auto" not in given:
            raise ConfigError("--want requires --strategy auto")
        if self.paraphraser and not {"paraphrases", "auto"} & given:
            raise ConfigError("--paraphraser requires --strategy paraphrases")
        if self.chat and not self.paraphraser:
            raise ConfigError("--chat requires --paraphraser")
        if self.failing_first and not {"derive", "steps", "auto"} & given:
            raise ConfigError("--failing-first requires --strategy derive or steps")


@base.options
class Text:
    """How large the training set is, and how it is written.

    Attributes:
        budget: Size of the training set in tokens of --tokenizer, or in words without
            one; 0 means each text once.
        curriculum: joint, or sa: first facts that make entities similar, then the
            others.
        wording: A TOML file with [statements], [phrases], [kinds.NAME] and [aliases].
        tokenizer: Folder of a model or tokenizer that counts tokens; without it words
            are counted.
        model: A model to be fine-tuned: the cost, measured on 20 updates, is printed
            before anything is written, and its tokenizer counts.
        limit: What all epochs may take, as --for 20min (with --model) or --for
            200000tokens, without the text that is replayed: sets the budget.
        seed: Seed of random selections.
    """

    budget: base.Whole = 0
    curriculum: str = "joint"
    wording: Path | None = None
    tokenizer: Path | None = None
    model: str = ""
    limit: Annotated[str, Parameter(name="--for")] = ""
    seed: base.Whole = 0

    def check(self) -> None:
        """Raise an error for options that exclude each other.

        Raises:
            ConfigError: Options exclude each other, or a limit is not valid.
        """
        if self.limit and self.budget:
            raise ConfigError("--for sets the budget; leave out --budget")
        if self.limit and not re.fullmatch(r"[1-9]\d{0,11}(min|tokens)", self.limit):
            raise ConfigError(
                f"--for must be as in 20min or 200000tokens, got '{self.limit}'"
            )
        if self.limit.endswith("min") and not self.model:
            raise ConfigError("--for in minutes requires --model")
        if self.limit and not (self.model or self.tokenizer):
            raise ConfigError("--for in tokens requires --model or --tokenizer")
        if self.model and self.tokenizer:
            raise ConfigError("--model counts tokens, too; leave out --tokenizer")


def _planned(
    making: Callable[..., Augmented], text: Text, *, download: bool
) -> tuple[Augmented, lm.Cost | None]:
    """What fits the limit, and what it costs where a model was given."""
    from inweights.audit import token_counter

    model = lm.load_model(text.model, download=download) if text.model else None
    count = token_counter(text.tokenizer) if text.tokenizer else None
    if model:  # and the end of each text, which is learnt, too
        count = lambda texts: [len(model.tokens(t)) + 1 for t in texts]  # noqa: E731

    def costs(made: Augmented, each: float = 0.0) -> lm.Cost | None:
        rows = made.train.select("prompt", "completion", "stage").iter_rows()
        examples = [lm.Example(*row) for row in rows]
        return lm.cost_of(model, examples, lm.DEFAULT, each=each) if model else None

    made = making(budget=text.budget, tokens=count)
    if model and text.limit.endswith("min"):
        _refuse_too_short(model, made, text.limit)
    cost = costs(made)
    if not (text.limit and count):
        return made, cost
    number, unit = re.sub(r"(\d+)", r"\1 ", text.limit).split()
    each = cost.each / 60 if cost and unit == "min" else lm.DEFAULT.epochs
    budget = int(int(number) / each)
    least = sum(count(made.train.filter(role="fact").unique("fact")["text"].to_list()))
    if budget < least:
        raise ConfigError(
            f"--for {text.limit} is too short: the facts alone take {math.ceil(least * each)}{unit}"
        )
    made = making(budget=budget, tokens=count)
    return made, costs(made, cost.each if cost else 0.0)


def _refuse_too_short(model: lm.LanguageModel, made: Augmented, limit: str) -> None:
    """Refuse a limit that is too short whatever the updates take, before they are measured."""
    facts = made.train.filter(role="fact").unique("fact", maintain_order=True)
    examples = [
        lm.Example(*row) for row in facts.select("prompt", "completion").iter_rows()
    ]
    minutes = lm.least_seconds(model, examples, lm.DEFAULT) / 60
    if minutes > int(limit.removesuffix("min")):
        raise ConfigError(
            f"--for {limit} is too short: the facts alone take at least {math.ceil(minutes)}min, "
            "by one batch"
        )


@base.app.command
def augment(
    facts: str,
    /,
    *,
    out: Path,
    added: Added = Added(),
    text: Text = Text(),
    source: base.Source = base.Source(),
    common: base.Common = base.Common(),
) -> None:
    """Write training data for a file of facts, with held-out questions and a control.

    Args:
        facts: A file or folder of facts, as for 'inweights audit'.
        out: Folder to write.
    """
    from inweights.audit import augment as make
    from inweights.audit import failing_chains, write_augmented

    added.check()
    text.check()
    knowledge = source.read(facts)
    first: list[tuple[int, int]] = []
    if added.failing_first:
        with console.solving(1e-3) as solving:
            first = failing_chains(knowledge, progress=solving)
    with console.progress() as watch:
        rewrite = None
        if added.paraphraser:
            model = lm.load_model(
                added.paraphraser, download=source.download, chat=added.chat
            )
            rewrite = lm.paraphraser(model, progress=watch)
        making = partial(
            make,
            knowledge,
            strategies=added.strategy,
            want=added.want or ("recall", "composition"),
            wording=worlds.Wording.read(text.wording, knowledge)
            if text.wording
            else None,
            wordings=added.wordings,
            hops=added.hops,
            most=added.most,
            hold_out=added.hold_out,
            floor=added.floor,
            replay=added.replay,
            seed=text.seed,
            first=first,
            rewrite=rewrite,
            curriculum=text.curriculum,  # type: ignore[arg-type]
            watch=watch,
        )
        made, cost = _planned(making, text, download=source.download)
        if not common.json:
            console.augmented.cost(cost, text.limit)
    console.augmented.augmented(
        made, write_augmented(made, out, formats=added.format), json=common.json
    )
