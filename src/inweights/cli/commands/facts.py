"""Commands about worlds, and about facts of one's own before anything is trained."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from inweights.cli.commands.base import Flag, Whole, app
from inweights.cli.commands.groups import Changes, Common, Source
from inweights.errors import ConfigError
from inweights.theory.prediction.solving import Solving

__all__ = ["audit", "augment", "predict", "world"]


@app.command
def world(
    kind: str,
    /,
    *,
    changes: Changes = Changes(),
    out: Path | None = None,
    common: Common = Common(),
) -> int:
    """Build a world and show it, or write it as Parquet and JSON (also a Hugging Face dataset).

    Parameters
    ----------
    kind
        A kind of world, such as two-hop, or a folder with a world.
    changes.set
        Change a setting, as in --set n=10; may be repeated.
    changes.seed
        Root seed.
    out
        Folder to write.
    """
    from inweights.cli import console
    from inweights.worlds import open_world, save_world

    common.load()
    made = open_world(kind, changes.set, changes.seed)
    console.world(made, save_world(made, out) if out else None, json=common.json)
    return 0


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class HowSolved(Solving):
    __doc__ = Solving.__doc__

    advise: Annotated[
        bool, Parameter(name=["--advice", "--advise"], negative=["--no-advice", "--no-advise"])
    ] = True
    intervals: Flag = False


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Shown(Common):
    """How a prediction is shown.

    Attributes:
        all: Print all queries instead of the first of each outcome.
        page: Also write the prediction as one HTML file that opens offline.
    """

    all: Flag = False
    page: Path | None = None


@app.command
def predict(
    world: str,
    /,
    *,
    changes: Changes = Changes(),
    solving: HowSolved = HowSolved(),
    source: Source = Source(),
    by: Literal["theory", "training"] = "theory",
    replicas: Whole = 8,
    shown: Shown = Shown(),
) -> int:
    """Predict what a model trained on these facts will answer, without training it.

    For every query that the facts do not state: whether its answer follows, ties or fails, and what
    the model will assert without a right answer. If facts exclude each other, those that the
    prediction drops are listed.

    Parameters
    ----------
    world
        A kind of world, such as two-hop; a folder with a world; or facts, as for 'inweights audit'.
    changes.set
        Change a setting of the world, as in --set n=10; may be repeated.
    changes.seed
        Root seed of the world.
    by
        theory or training. With training, small models are also trained on these facts, for a
        minute or more, and the share of them that answers each query is printed with its interval.
    replicas
        Number of replicas of each model, for --by training.
    """
    from inweights.audit import predict_source
    from inweights.cli import console
    from inweights.worlds import Triples

    shown.load()
    given = Triples(path=world, questions="all", query=source.query, download=source.download)
    with console.progress() as watch:
        progress = console.by_gap(watch, solving.gap)
        prediction = predict_source(
            given, changes.set, seed=changes.seed, solving=solving, progress=progress, watch=watch
        )
    trained = None
    if by == "training":
        from inweights.audit.trained_prediction import predict_by_training

        part = prediction.solution.program.world
        with console.progress() as watch:
            trained = predict_by_training(
                part, replicas=replicas, seed=changes.seed, progress=watch
            )
    console.prediction(
        prediction, json=shown.json, every=shown.all, trained=trained, page=shown.page, name=world
    )
    return 0


@app.command
def audit(
    facts: str,
    /,
    *,
    forecast: bool = True,
    seconds: float = 60.0,
    page: Path | None = None,
    fix: Path | None = None,
    source: Source = Source(),
    common: Common = Common(),
) -> int:
    """Examine a file of facts: what can be composed, what prevents it, what to add.

    Parameters
    ----------
    facts
        A CSV, TSV, JSONL or Parquet file with subject, relation, object (and stage, if you train
        in stages); JSON of Wikidata; Turtle or N-Triples; a Hugging Face dataset folder, or a hub
        name; sqlite:///FILE or another database's address; TwoHopFact, SOCRATES or MQuAKE; or
        @people, @chemistry.
    forecast
        Predict which compositions follow; in parts if the time does not allow all facts at once.
    seconds
        Time limit of the prediction.
    page
        Also write one HTML file that opens offline.
    fix
        Also write a corrected copy and a list of the changes to this new folder.
    """
    from inweights.audit import audit as examine
    from inweights.audit import mend, write_mended
    from inweights.cli import console
    from inweights.worlds import read_knowledge

    common.load()
    knowledge = read_knowledge(facts, query=source.query, download=source.download)
    with console.progress() as watch, console.solving(1e-3) as progress:
        made = examine(
            knowledge, forecast=forecast, seconds=seconds, progress=progress, watch=watch
        )
    mended = mend(knowledge) if fix else None
    if fix and mended:
        write_mended(mended, fix)
    console.audit(made, json=common.json, page=page, name=facts, mended=mended, folder=fix)
    return 0


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
        wording: A TOML file with [statements] and [phrases] of relations.
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
