"""Commands about worlds, and about facts of one's own before anything is trained."""

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
    """Make a world and show it, or write it as Parquet and JSON (a Hugging Face dataset, too).

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
    """Predict what a model will answer that is trained on these facts, before anything is.

    Says of every question that the facts leave open whether its answer follows, ties or fails, and
    what the model will assert that nobody told it. Facts that exclude each other are weighed, and
    those that have to be let go are named.

    Parameters
    ----------
    world
        A kind of world, such as two-hop; a folder with a world; or facts, as for 'inweights audit'.
    set
        Change a setting of the world, as in --set n=10; may be repeated.
    seed
        Root seed of the world.
    answers
        several, or one: whether a prompt may have several right answers, or these contradict.
    decay
        Weight decay of the training that is forecast; else the limit of long training without.
    gap
        Relative gap to certify.
    seconds
        Time limit of all solutions together; the best so far is then printed as not certified.
    tie
        Margins of at most this size are ties (the facts have 1).
    advise
        Look for identities, told reversals and counter-examples that change what goes wrong.
    by
        theory, or training: then small models are also trained on these facts, for a minute or
        more, and the share of them that answers each question is printed with its interval.
    replicas
        How many of each model are trained.
    intervals
        Prove an interval for each margin that holds at every optimum; the forecast has half of
        --seconds then.
    all
        Print every query, not only the first of each outcome.
    page
        Also write one HTML file that opens offline: what surprises first.
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
    """Audit facts of your own: what can be composed, what stands in the way, what to add.

    Parameters
    ----------
    facts
        A CSV, TSV, JSONL or Parquet file with subject, relation, object (and stage, if you train
        in stages); JSON of Wikidata; Turtle or N-Triples; a Hugging Face dataset folder, or a hub
        name; sqlite:///FILE or another database's address; TwoHopFact, SOCRATES or MQuAKE; or
        @people, @chemistry.
    forecast
        Forecast what follows, from a part where there are more facts than the time allows.
    seconds
        Time limit of the forecast.
    page
        Also write one HTML file that opens offline.
    fix
        Also write a mended copy, and a list of what was done to it, into this new folder.
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
    """Write training data from facts of your own, with held-out questions and a control.

    Parameters
    ----------
    facts
        A file or folder of facts, as for 'inweights audit'.
    out
        Folder to write.
    strategy
        What is told besides each fact: derive, steps, paraphrases, qa, passages, reversals,
        identities or replay; may be repeated. auto takes those that measurements speak for.
    want
        What auto is to have answered: recall, reverse, composition, steps; may be repeated. The
        first and the third if left out.
    wordings
        In how many wordings a strategy says the same.
    hops
        Facts of a chain that derive states the end of, at most.
    most
        Chains of each length that are told, at most.
    hold_out
        Share of the bridges whose chains are never told, to measure what is more than memory.
    replay
        A file of text, a line a text, for the strategy replay.
    failing_first
        Where --most bounds them, tell first those chains of two facts that the forecast says fail,
        the surest failure first.
    paraphraser
        A model that says each fact again, for the strategy paraphrases: a folder, a GGUF file,
        @smollm2, or with --download a hub name. Where the fact did not survive, it is left out.
    chat
        Ask the paraphraser in its chat template.
    budget
        Tokens of the training set, as --tokenizer counts them, else words; 0: each text once.
    curriculum
        joint, or sa: facts that make entities alike first, the others second.
    wording
        A TOML file with [statements] and [phrases] of relations.
    tokenizer
        Folder of a model, or of its tokenizer, by which tokens are counted; else words are.
    seed
        Decides what is drawn where there is too much.
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
