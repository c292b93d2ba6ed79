"""Commands about worlds and about users' facts, before any training."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from inweights.cli.commands.base import (
    Download,
    Flag,
    Json,
    Overrides,
    Plugins,
    Query,
    Whole,
    app,
)

__all__ = ["audit", "augment", "predict", "world"]


@app.command
def world(
    kind: str,
    /,
    *,
    set: Overrides = (),  # noqa: A002
    seed: Whole = 0,
    out: Path | None = None,
    json: Json = False,
    plugin: Plugins = (),
) -> int:
    """Build a world and show it, or write it as Parquet and JSON (also a Hugging Face dataset).

    Parameters
    ----------
    kind
        A kind of world, such as two-hop, or a folder with a world.
    set
        Change a setting, as in --set n=10; may be repeated.
    seed
        Root seed.
    out
        Folder to write.
    """
    from inweights.cli import console
    from inweights.lab.grammar.plugins import load_plugins
    from inweights.worlds import open_world, save_world

    load_plugins(plugin)
    made = open_world(kind, set, seed)
    console.world(made, save_world(made, out) if out else None, json=json)
    return 0


@app.command
def predict(
    world: str,
    /,
    *,
    set: Overrides = (),  # noqa: A002
    seed: Whole = 0,
    answers: str = "several",
    decay: float | None = None,
    gap: float = 1e-3,
    seconds: float = 60.0,
    tie: float = 0.02,
    query: Query = "",
    download: Download = False,
    advise: Annotated[
        bool,
        Parameter(name=["--advice", "--advise"], negative=["--no-advice", "--no-advise"]),
    ] = True,
    by: Literal["theory", "training"] = "theory",
    replicas: Whole = 8,
    intervals: Flag = False,
    all: Flag = False,  # noqa: A002
    page: Path | None = None,
    json: Json = False,
    plugin: Plugins = (),
) -> int:
    """Predict what a model trained on these facts will answer, without training it.

    For every query that the facts do not state: whether its answer follows, ties or fails, and what
    the model will assert without a right answer. If facts exclude each other, those that the
    prediction drops are listed.

    Parameters
    ----------
    world
        A kind of world, such as two-hop; a folder with a world; or facts, as for 'inweights audit'.
    set
        Change a setting of the world, as in --set n=10; may be repeated.
    seed
        Root seed of the world.
    answers
        several or one: whether a prompt may have several right answers, or they contradict each
        other.
    decay
        Weight decay of the training; if left out, the limit of long training without decay.
    gap
        Relative gap to certify.
    seconds
        Time limit for all programs together; solutions not finished are marked as not certified.
    tie
        Margins up to this absolute value are ties (facts have margin 1).
    advise
        Search for identities, reversals and counter-examples that correct failing queries.
    by
        theory or training. With training, small models are also trained on these facts, for a
        minute or more, and the share of them that answers each query is printed with its interval.
    replicas
        Number of replicas of each model, for --by training.
    intervals
        Prove an interval for each margin that holds at every optimum; the prediction then gets half
        of --seconds.
    all
        Print all queries instead of the first of each outcome.
    page
        Also write the prediction as one HTML file that opens offline.
    """
    from inweights.audit import forecast as forecast_facts
    from inweights.cli import console
    from inweights.config import apply_overrides
    from inweights.lab.grammar.plugins import load_plugins
    from inweights.theory import predict as forecast
    from inweights.theory.prediction.parts_in_time import check_seconds
    from inweights.worlds import Triples, open_world
    from inweights.worlds.knowledge.knowledge import is_source

    check_seconds(seconds)
    load_plugins(plugin)
    began = time.perf_counter()
    options: dict[str, Any] = {"answers": answers, "decay": decay, "gap": gap, "tie": tie}
    options["advise"] = advise
    if is_source(world):
        given = Triples(path=world, questions="all", query=query, download=download)
        config = apply_overrides(given, set)
        make = partial(forecast_facts, config.read(), config, seed=seed)
        left = seconds  # decides how many facts fit, which is to be the same each time
    else:
        make = partial(forecast, open_world(world, set, seed))
        left = max(seconds / 4, seconds - (time.perf_counter() - began))
    late = time.perf_counter() + left
    with console.solving(gap) as progress:
        prediction = make(seconds=left / 2 if intervals else left, progress=progress, **options)
    if intervals:
        with console.progress() as watch:
            prediction = prediction.with_intervals(
                tie=tie,
                seconds=max(left / 4, late - time.perf_counter()),
                progress=lambda i, n: watch(i, n, "intervals"),
            )
    trained = None
    if by == "training":
        from inweights.lab.studies.trained_prediction import predict_by_training

        part = prediction.solution.program.world
        with console.progress() as watch:
            trained = predict_by_training(part, replicas=replicas, seed=seed, progress=watch)
    console.prediction(prediction, json=json, every=all, trained=trained, page=page, name=world)
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
    query: Query = "",
    download: Download = False,
    json: Json = False,
    plugin: Plugins = (),
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
    from inweights.lab.grammar.plugins import load_plugins
    from inweights.worlds import read_knowledge

    load_plugins(plugin)
    knowledge = read_knowledge(facts, query=query, download=download)
    with console.progress() as watch, console.solving(1e-3) as progress:
        made = examine(
            knowledge, forecast=forecast, seconds=seconds, progress=progress, watch=watch
        )
    mended = mend(knowledge) if fix else None
    if fix and mended:
        write_mended(mended, fix)
    console.audit(made, json=json, page=page, name=facts, mended=mended, folder=fix)
    return 0


@app.command
def augment(
    facts: str,
    /,
    *,
    out: Path,
    strategy: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    want: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    wordings: Whole = 3,
    hops: Whole = 2,
    most: Whole = 10_000,
    hold_out: float = 0.0,
    replay: Path | None = None,
    failing_first: Annotated[bool, Parameter(negative=())] = False,
    paraphraser: str = "",
    chat: Annotated[bool, Parameter(negative=())] = False,
    budget: Whole = 0,
    curriculum: str = "joint",
    wording: Path | None = None,
    tokenizer: Path | None = None,
    query: Query = "",
    download: Download = False,
    seed: Whole = 0,
    json: Json = False,
    plugin: Plugins = (),
) -> int:
    """Write training data for a file of facts, with held-out questions and a control.

    Parameters
    ----------
    facts
        A file or folder of facts, as for 'inweights audit'.
    out
        Folder to write.
    strategy
        Texts added to the facts: derive, steps, paraphrases, qa, passages, reversals, identities or
        replay; may be repeated. auto selects by measured effects.
    want
        Kinds of questions for which auto selects: recall, reverse, composition, steps; may be
        repeated. By default recall and composition.
    wordings
        Number of wordings per text.
    hops
        Largest number of facts in a derived chain.
    most
        Largest number of chains of each length.
    hold_out
        Share of the bridges whose chains are left out, to measure generalisation.
    replay
        A text file with one text per line, for the strategy replay.
    failing_first
        If --most limits the chains, take those first that are predicted to fail, in order of their
        margin.
    paraphraser
        A model that rewrites each fact, for the strategy paraphrases: a folder, a GGUF file,
        @smollm2, or with --download a hub name. Sentences that do not state the fact are left out.
    chat
        Use the chat template of the paraphraser.
    budget
        Size of the training set in tokens of --tokenizer, or in words without one; 0 means each
        text once.
    curriculum
        joint, or sa: first facts that make entities similar, then the others.
    wording
        A TOML file with [statements] and [phrases] of relations.
    tokenizer
        Folder of a model or tokenizer that counts tokens; without it words are counted.
    seed
        Seed of random selections.
    """
    from inweights.audit import augment as make
    from inweights.audit import failing_chains, token_counter, write_augmented
    from inweights.cli import console
    from inweights.errors import ConfigError
    from inweights.lab.grammar.plugins import load_plugins
    from inweights.worlds import Wording, read_knowledge

    if want and "auto" not in strategy:
        raise ConfigError("--want requires --strategy auto")
    if paraphraser and not {"paraphrases", "auto"} & {*strategy}:
        raise ConfigError("--paraphraser requires --strategy paraphrases")
    if chat and not paraphraser:
        raise ConfigError("--chat requires --paraphraser")
    if failing_first and not {"derive", "steps", "auto"} & {*strategy}:
        raise ConfigError("--failing-first requires --strategy derive or steps")
    load_plugins(plugin)
    knowledge = read_knowledge(facts, query=query, download=download)
    first: list[tuple[int, int]] = []
    if failing_first:
        with console.solving(1e-3) as solving:
            first = failing_chains(knowledge, progress=solving)
    with console.progress() as watch:
        rewrite = None
        if paraphraser:
            from inweights.lm import load_model
            from inweights.lm import paraphraser as said_by

            lm = load_model(paraphraser, download=download, chat=chat)
            rewrite = said_by(lm, progress=watch)
        made = make(
            knowledge,
            strategies=strategy,
            want=want or ("recall", "composition"),
            wording=Wording.read(wording) if wording else None,
            wordings=wordings,
            hops=hops,
            most=most,
            hold_out=hold_out,
            replay=replay,
            budget=budget,
            curriculum=curriculum,  # type: ignore[arg-type]
            seed=seed,
            tokens=token_counter(tokenizer) if tokenizer else None,
            first=first,
            rewrite=rewrite,
            watch=watch,
        )
    console.augmented(made, write_augmented(made, out), json=json)
    return 0
