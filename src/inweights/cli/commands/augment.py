"""The command that writes training data from facts of one's own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from inweights.cli.commands.base import Flag, Whole, app
from inweights.cli.commands.groups import Common, Source
from inweights.errors import ConfigError

__all__ = ["Added", "Text", "augment"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Added:
    """What is told besides each fact.

    Attributes:
        strategy: What is told besides each fact: derive, steps, paraphrases, qa, passages,
            reversals, identities or replay; may be repeated. auto takes those that measurements
            speak for.
        want: What auto is to have answered: recall, reverse, composition, steps; may be repeated.
            The first and the third if left out.
        wordings: In how many wordings a strategy says the same.
        hops: Facts of a chain that derive states the end of, at most.
        most: Chains of each length that are told, at most.
        hold_out: Share of the bridges whose chains are never told, to measure what is more than
            memory.
        replay: A file of text, a line a text, for the strategy replay.
        failing_first: Where --most bounds them, tell first those chains of two facts that the
            forecast says fail, the surest failure first.
        paraphraser: A model that says each fact again, for the strategy paraphrases: a folder, a
            GGUF file, @smollm2, or with --download a hub name. Where the fact did not survive, it
            is left out.
        chat: Ask the paraphraser in its chat template.
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
            raise ConfigError("--want goes with --strategy auto, which is not given")
        if self.paraphraser and not {"paraphrases", "auto"} & given:
            raise ConfigError("--paraphraser goes with --strategy paraphrases, which is not given")
        if self.chat and not self.paraphraser:
            raise ConfigError("--chat goes with --paraphraser, which is not given")
        if self.failing_first and not {"derive", "steps", "auto"} & given:
            raise ConfigError("--failing-first goes with --strategy derive or steps, not given")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Text:
    """How the training set is written.

    Attributes:
        budget: Tokens of the training set, as --tokenizer counts them, else words; 0: each text
            once.
        curriculum: joint, or sa: facts that make entities alike first, the others second.
        wording: A TOML file with [statements] and [phrases] of relations.
        tokenizer: Folder of a model, or of its tokenizer, by which tokens are counted; else words
            are.
        seed: Decides what is drawn where there is too much.
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
    """Write training data from facts of your own, with held-out questions and a control.

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
            knowledge,
            strategies=added.strategy,
            want=added.want or ("recall", "composition"),
            wording=Wording.read(text.wording) if text.wording else None,
            wordings=added.wordings,
            hops=added.hops,
            most=added.most,
            hold_out=added.hold_out,
            replay=added.replay,
            budget=text.budget,
            curriculum=text.curriculum,  # type: ignore[arg-type]
            seed=text.seed,
            tokens=token_counter(text.tokenizer) if text.tokenizer else None,
            first=first,
            rewrite=rewrite,
            watch=watch,
        )
    console.augmented(made, write_augmented(made, out), json=common.json)
    return 0
