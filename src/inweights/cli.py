"""The command line. Thin: it parses, calls the library and prints."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, CycloptsError, Parameter

from inweights import __version__
from inweights.errors import InweightsError

if TYPE_CHECKING:
    from inweights.recipes.engine import Outcome

__all__ = ["app", "main"]

app = App(
    name="inweights",
    version=__version__,
    suppress_keyboard_interrupt=False,
    help=(
        "A laboratory for in-weights reasoning: teach a sequence model facts, then find out "
        "whether it combines facts that it never saw together. Add --debug for a traceback."
    ),
)

Json = Annotated[bool, Parameter(name="--json", negative=())]
Strict = Annotated[bool, Parameter(name="--strict", negative=())]
Fresh = Annotated[bool, Parameter(name="--fresh", negative=())]
Runs = Annotated[Path | None, Parameter(name="--runs")]
Plugins = Annotated[tuple[str, ...], Parameter(name="--plugin", negative=())]
Overrides = Annotated[tuple[str, ...], Parameter(name="--set", negative=())]


@app.command(name="list")
def list_recipes(*, json: Json = False, plugin: Plugins = ()) -> int:
    """List all recipes.

    Parameters
    ----------
    json
        Print one JSON array.
    plugin
        A Python module that adds recipes of your own; may be repeated.
    """
    from inweights import console
    from inweights.recipes import get_recipe, load_plugins, recipe_names

    load_plugins(plugin)
    console.recipes([get_recipe(name) for name in recipe_names()], json=json)
    return 0


@app.command
def run(
    recipe: str,
    /,
    *,
    scale: str = "cpu",
    seeds: int | None = None,
    set: Overrides = (),  # noqa: A002
    config: Path | None = None,
    runs: Runs = None,
    device: str = "cpu",
    jobs: int = 0,
    threads: int = 1,
    fresh: Fresh = False,
    json: Json = False,
    strict: Strict = False,
    plugin: Plugins = (),
) -> int:
    """Run a recipe: figures, a page, and a verdict on every claim.

    Parameters
    ----------
    recipe
        Its name, as in 'inweights list'.
    scale
        smoke (seconds), cpu (minutes on two cores) or paper (the paper's own sizes).
    seeds
        Number of replicates.
    set
        Change a setting, as in --set gpt.model.width=128; may be repeated.
    config
        A TOML file with settings.
    runs
        Folder of all runs; $INWEIGHTS_RUNS, or ./runs.
    device
        cpu or cuda.
    jobs
        Processes that train side by side; 0 takes the cores of this machine.
    threads
        Threads of each process.
    fresh
        Discard an earlier run of the same config.
    json
        Print one JSON object.
    strict
        Exit with 1 when a claim did not reproduce.
    plugin
        A Python module that adds recipes of your own; may be repeated.
    """
    from inweights import console, laboratory
    from inweights.config import load_toml
    from inweights.recipes import load_plugins

    load_plugins(plugin)
    changes = [*(console.flat(load_toml(config)) if config else ()), *set]
    with console.progress() as progress:
        outcome = laboratory.run(
            recipe,
            scale,
            seeds=seeds,
            overrides=changes,
            runs=runs,
            device=device,
            jobs=jobs or console.cores(device, scale),
            threads=threads,
            plugins=plugin,
            fresh=fresh,
            progress=progress,
        )
    return _finish(outcome, json=json, strict=strict)


@app.command
def demo(*, runs: Runs = None, fresh: Fresh = False, json: Json = False) -> int:
    """Show in a minute what identity does to two-hop reasoning.

    Parameters
    ----------
    runs
        Folder of all runs; $INWEIGHTS_RUNS, or ./runs.
    fresh
        Discard an earlier run.
    json
        Print one JSON object.
    """
    return run("demo/two-hop", runs=runs, fresh=fresh, json=json)


@app.command(name="runs")
def list_runs(*, runs: Runs = None, json: Json = False) -> int:
    """List the runs on this disk, newest first.

    Parameters
    ----------
    runs
        Folder of all runs; $INWEIGHTS_RUNS, or ./runs.
    json
        Print one JSON array.
    """
    from inweights import console
    from inweights.runs import RunStore

    console.runs(list(RunStore(runs)), json=json)
    return 0


@app.command
def show(
    run: str,
    /,
    *,
    scale: str = "cpu",
    runs: Runs = None,
    again: Annotated[bool, Parameter(name="--again", negative=())] = False,
    json: Json = False,
    strict: Strict = False,
) -> int:
    """Show the claims of a finished run, and where its page is.

    Parameters
    ----------
    run
        A recipe, or the first letters of a run's hash.
    scale
        Which run of a recipe.
    runs
        Folder of all runs; $INWEIGHTS_RUNS, or ./runs.
    again
        Judge and draw it again with the claims and figures of this version; nothing is trained.
    json
        Print one JSON object.
    strict
        Exit with 1 when a claim did not reproduce.
    """
    from inweights import laboratory

    outcome = laboratory.open_run(run, scale, runs=runs, again=again)
    return _finish(outcome, json=json, strict=strict)


@app.command
def verify(
    *,
    scale: str = "cpu",
    runs: Runs = None,
    json: Json = False,
    markdown: Annotated[bool, Parameter(name="--markdown", negative=())] = False,
    strict: Strict = False,
) -> int:
    """Show the board: every claim of every recipe, with its verdict so far.

    Parameters
    ----------
    scale
        smoke, cpu or paper.
    runs
        Folder of all runs; $INWEIGHTS_RUNS, or ./runs.
    json
        Print one JSON object.
    markdown
        Print Markdown, as in docs/board.md.
    strict
        Exit with 1 when a claim did not reproduce.
    """
    from inweights import console, laboratory

    claims = laboratory.board(scale, runs=runs)
    console.board(claims, scale, json=json, markdown=markdown)
    return _code(claims, strict)


@app.command
def world(
    kind: str,
    /,
    *,
    set: Overrides = (),  # noqa: A002
    seed: int = 0,
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
    json
        Print one JSON object.
    plugin
        A Python module that adds worlds of your own; may be repeated.
    """
    from inweights import console
    from inweights.recipes import load_plugins
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
    seed: int = 0,
    answers: str = "one",
    gap: float = 1e-3,
    seconds: float | None = None,
    tie: float = 0.02,
    advise: bool = True,
    all: Annotated[bool, Parameter(name="--all", negative=())] = False,  # noqa: A002
    json: Json = False,
    plugin: Plugins = (),
) -> int:
    """Predict which unseen questions will follow from the facts, before anything is trained.

    Solves the least nuclear norm under all facts, with a certificate, and reads every query's
    margin off the optimum; says which identities to add where queries fail.

    Parameters
    ----------
    world
        A kind of world, such as two-hop; a folder with a world; or a file of facts: CSV or TSV
        with subject, relation, object, or JSONL.
    set
        Change a setting of the world, as in --set n=10; may be repeated.
    seed
        Root seed of the world.
    answers
        one, or several: whether a prompt may have several right answers.
    gap
        Relative gap to certify.
    seconds
        Time limit of every solution; the best one so far is then printed as not certified.
    tie
        Margins of at most this size are ties (the facts have 1).
    advise
        Look for identities that make failing queries follow.
    all
        Print every query, not only the first of each outcome.
    json
        Print one JSON object.
    plugin
        A Python module that adds worlds of your own; may be repeated.
    """
    from inweights import console
    from inweights.recipes import load_plugins
    from inweights.theory import predict as forecast
    from inweights.worlds import open_world

    load_plugins(plugin)
    made = open_world(world, set, seed)
    with console.solving(gap) as progress:
        prediction = forecast(
            made,
            answers=answers,  # type: ignore[arg-type]
            gap=gap,
            seconds=seconds,
            tie=tie,
            advise=advise,
            progress=progress,
        )
    console.prediction(prediction, json=json, every=all)
    return 0


@app.command
def audit(
    facts: str,
    /,
    *,
    forecast: bool = True,
    seconds: float = 60.0,
    json: Json = False,
) -> int:
    """Audit facts of your own: what can be composed, what stands in the way, what to add.

    Parameters
    ----------
    facts
        A CSV, TSV, JSONL or Parquet file with subject, relation, object (and stage, if you train
        in stages); or @people, @chemistry.
    forecast
        Forecast every composition, where the set is small enough.
    seconds
        Time limit of each solution of the forecast.
    json
        Print one JSON object.
    """
    from inweights import console
    from inweights.audit import audit as examine
    from inweights.worlds import read_knowledge

    knowledge = read_knowledge(facts)
    with console.solving(1e-3) as progress:
        made = examine(knowledge, forecast=forecast, seconds=seconds, progress=progress)
    console.audit(made, json=json)
    return 0


@app.command
def augment(
    facts: str,
    /,
    *,
    out: Path,
    identity: bool = True,
    reverse: bool = False,
    paraphrase: int = 1,
    curriculum: str = "joint",
    wording: Path | None = None,
    seed: int = 0,
    json: Json = False,
) -> int:
    """Write training data from facts of your own, with identities, questions and a control.

    Parameters
    ----------
    facts
        A CSV, TSV, JSONL or Parquet file with subject, relation, object; or @people, @chemistry.
    out
        Folder to write.
    identity
        Add the identity of every bridge.
    reverse
        Tell every fact from its object, too.
    paraphrase
        In how many wordings each statement is made.
    curriculum
        joint, or sa: facts that make entities alike first, the others second.
    wording
        A TOML file with [statements] and [phrases] of relations.
    seed
        Decides what is drawn where there is too much.
    json
        Print one JSON object.
    """
    from inweights import console
    from inweights.audit import augment as make
    from inweights.audit import write_augmented
    from inweights.worlds import Wording, read_knowledge

    made = make(
        read_knowledge(facts),
        wording=Wording.read(wording) if wording else None,
        identity=identity,
        reverse=reverse,
        paraphrase=paraphrase,
        curriculum=curriculum,  # type: ignore[arg-type]
        seed=seed,
    )
    console.augmented(made, write_augmented(made, out), json=json)
    return 0


def _finish(outcome: Outcome, *, json: bool, strict: bool) -> int:
    from inweights import console

    console.outcome(outcome, json=json)
    return _code(outcome.claims, strict)


def _code(claims: Sequence[Any], strict: bool) -> int:
    return int(strict and any(claim.verdict == "not reproduced" for claim in claims))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, 2 for bad input, 1 for a failed run."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    words = [word for word in given if word != "--debug"]
    try:
        code = app(words, exit_on_error=False, print_error=False, result_action="return_value")
    except (CycloptsError, InweightsError) as error:
        if debug:
            raise
        print(f"inweights: {error}", file=sys.stderr)
        return error.exit_code if isinstance(error, InweightsError) else 2
    except KeyboardInterrupt:
        if debug:
            raise
        print("inweights: stopped; start it again and it goes on from here", file=sys.stderr)
        return 1
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    return code if isinstance(code, int) else 0
