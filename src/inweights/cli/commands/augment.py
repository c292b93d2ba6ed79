"""The command that writes training data from facts of one's own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from inweights.cli.commands.base import Common, Flag, Source, Whole, app
from inweights.errors import ConfigError


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Added:
    """Texts that are added to the facts.

    Attributes:
        strategy: Texts added to the facts: derive, steps, paraphrases, qa, passages, reversals,
            identities or replay; may be repeated. auto selects by measured effects.
        want: Kinds of questions for which auto selects: recall, reverse, composition, steps; may be
            repeated. By default recall and composition.
        wordings: Number of wordings per text.
        hops: Largest number of facts in a derived chain.
        most: Largest number of chains of each length.
        hold_out: Share of the bridges whose chains are left out, to measure generalisation.
        replay: A text file with one text per line, for the strategy replay.
        failing_first: If --most limits the chains, take those first that are predicted to fail, in
            order of their margin.
        paraphraser: A model that rewrites each fact, for the strategy paraphrases: a folder, a GGUF
            file, @smollm2, or with --download a hub name. Sentences that do not state the fact are
            left out.
        chat: Use the chat template of the paraphraser.
    """

    strategy: Annotated[tuple[str, ...], Parameter(negative=())] = ()
    want: Annotated[tuple[str, ...], Parameter(negative=())] = ()
    wordings: Whole = 3
    hops: Whole = 2
    most: Whole = 10_000
    hold_out: float = 0.0
    replay: Path | None = None
    failing_first: Flag = False
    paraphraser: str = ""
    chat: Flag = False

    def check(self) -> None:
        """Refuse options without the strategy that they go with."""
        given = {*self.strategy}
        if self.want and "auto" not in given:
            raise ConfigError("--want requires --strategy auto")
        if self.paraphraser and not {"paraphrases", "auto"} & given:
            raise ConfigError("--paraphraser requires --strategy paraphrases")
        if self.chat and not self.paraphraser:
            raise ConfigError("--chat requires --paraphraser")
        if self.failing_first and not {"derive", "steps", "auto"} & given:
            raise ConfigError("--failing-first requires --strategy derive or steps")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Text:
    """How the training set is written.

    Attributes:
        budget: Size of the training set in tokens of --tokenizer, or in words without one; 0 means
            each text once.
        curriculum: joint, or sa: first facts that make entities similar, then the others.
        wording: A TOML file with [statements], [phrases] and [kinds.NAME] of relations.
        tokenizer: Folder of a model or tokenizer that counts tokens; without it words are counted.
        seed: Seed of random selections.
    """

    budget: Whole = 0
    curriculum: str = "joint"
    wording: Path | None = None
    tokenizer: Path | None = None
    seed: Whole = 0


@app.command
def augment(
    facts: str,
    /,
    *,
    out: Path,
    added: Added = Added(),
    text: Text = Text(),
    source: Source = Source(),
    common: Common = Common(),
) -> int:
    """Write training data for a file of facts, with held-out questions and a control.

    Parameters
    ----------
    facts
        A file or folder of facts, as for 'inweights audit'.
    out
        Folder to write.
    """
    from inweights.audit import augment as make
    from inweights.audit import failing_chains, token_counter, write_augmented
    from inweights.cli import console
    from inweights.worlds import Wording, read_knowledge

    added.check()
    common.load()
    knowledge = read_knowledge(facts, query=source.query, download=source.download)
    first: list[tuple[int, int]] = []
    if added.failing_first:
        with console.solving(1e-3) as solving:
            first = failing_chains(knowledge, progress=solving)
    with console.progress() as watch:
        rewrite = None
        if added.paraphraser:
            from inweights.lm import load_model, paraphraser

            lm = load_model(added.paraphraser, download=source.download, chat=added.chat)
            rewrite = paraphraser(lm, progress=watch)
        made = make(
            knowledge, strategies=added.strategy, want=added.want or ("recall", "composition"),
            wording=Wording.read(text.wording) if text.wording else None,
            wordings=added.wordings, hops=added.hops, most=added.most, hold_out=added.hold_out,
            replay=added.replay, budget=text.budget, seed=text.seed, first=first, rewrite=rewrite,
            curriculum=text.curriculum,  # type: ignore[arg-type]
            tokens=token_counter(text.tokenizer) if text.tokenizer else None, watch=watch,
        )  # fmt: skip
    console.augmented(made, write_augmented(made, out), json=common.json)
    return 0
