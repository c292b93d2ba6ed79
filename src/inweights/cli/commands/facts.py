"""Define the commands ``world``, ``predict`` and ``audit``, which need no training.

``world`` builds a world. ``predict`` and ``audit`` examine a user's own facts by theory
and by counting.
"""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from inweights import worlds
from inweights.cli import console
from inweights.cli.commands import base, layouts
from inweights.errors import ConfigError
from inweights.theory.prediction.solving import Solving


@base.app.command
def world(
    kind: str,
    /,
    *,
    changes: base.Changes = base.Changes(),
    out: Path | None = None,
    card: base.Flag = False,
    common: base.Common = base.Common(),
) -> None:
    """Build a world and show it, or write it as Parquet and JSON files that Hugging Face can load.

    Args:
        kind: A kind of world, such as two-hop, or a folder with a world.
        changes: Options --set and --seed.
        changes.set: Change a setting, as in --set n=10; may be repeated.
        changes.seed: Root seed.
        out: Folder to write.
        card: Also write a card for Hugging Face and Croissant metadata into the folder,
            so that it can be published.
        common: Options --json and --plugin.

    Raises:
        ConfigError: There is no such world, a setting is invalid, or ``--card`` is
            given without ``--out``.
        DataError: A stored world or a file of facts is damaged, or the folder exists
            already or cannot be written.
    """
    if card and out is None:
        raise ConfigError(
            "--card requires --out FOLDER, the folder to which the card is written"
        )
    made = worlds.open_world(kind, changes.set, changes.seed)
    written = worlds.save_world(made, out, card=card) if out else None
    console.first.world(made, written, json=common.json)


@base.options
class HowSolved(Solving):
    """Options for the solver of a prediction, in addition to the settings of :class:`Solving`.

    Attributes:
        advise: Whether to search for identities, reversals and counter-examples that
            correct failing queries (``--no-advice`` skips the search).
        intervals: Whether to compute for each margin an interval that is proved to
            contain the margin at every optimum. This may take half of the time limit.
    """

    # `--help` shows the descriptions of attributes in the docstring of Solving.
    __doc__ = Solving.__doc__

    advise: Annotated[bool, Parameter(name="--advice")] = True
    intervals: base.Flag = False


@base.options
class Shown(base.Common):
    """Options that define how a prediction is shown.

    Attributes:
        all: Print all queries. By default, only the first queries of each outcome are
            printed.
        page: Also write the prediction as one HTML file that opens offline.
    """

    all: base.Flag = False
    page: Path | None = None


@base.app.command
def predict(
    world: str,
    /,
    *,
    changes: base.Changes = base.Changes(),
    solving: HowSolved = HowSolved(),
    source: layouts.Source = layouts.Source(),
    by: Literal["theory", "training"] = "theory",
    replicas: base.Whole = 8,
    shown: Shown = Shown(),
) -> None:
    """Predict what a model trained on these facts will answer, without training it.

    For every query that the facts do not state, the command predicts whether a correct
    answer has the largest logit (the query follows), shares the largest logit with a
    wrong answer (ties), or has a smaller logit (fails). For queries without a correct
    answer, it predicts the answer that the model will assert. If facts contradict each
    other, the command lists the facts that are left out of the prediction.

    Args:
        world: A kind of world, such as two-hop; a folder with a world; or facts, as for
            'inweights audit'.
        changes: Options --set and --seed.
        changes.set: Change a setting of the world, as in --set n=10; may be repeated.
        changes.seed: Root seed of the world.
        solving: Options of the solver, such as --seconds and --answers.
        source: Options that define how facts are read, such as --header and --query.
        by: theory or training. With training, small models are also trained on these
            facts, for a minute or more, and the share of these models that answers a
            query correctly is printed with its interval.
        replicas: Number of replicas of each model, for --by training.
        shown: Options --all, --page, --json and --plugin.

    Raises:
        ConfigError: There is no such world, or an option or a setting is invalid.
        DataError: The facts cannot be read, contradict each other and one answer per
            prompt is required, or do not allow training small models; or the page
            cannot be written.
        SolverError: ``--intervals`` is given, and no interval was found within the
            limits.
        RunError: A small model diverges at every learning rate that is tried, or the
            state of the solver cannot be written.
    """
    from inweights.audit import predict_source

    given = source.world(world)
    with console.progress() as watch:
        progress = console.by_gap(watch, solving.gap)
        prediction = predict_source(
            given,
            changes.set,
            seed=changes.seed,
            solving=solving,
            progress=progress,
            watch=watch,
        )
    trained = None
    if by == "training":
        from inweights.audit.prediction.by_training import predict_by_training

        # The prediction solves one program for each independent part of the facts. The
        # small models are trained on the first part.
        part = prediction.solution.program.world
        with console.progress() as watch:
            trained = predict_by_training(
                part, replicas=replicas, seed=changes.seed, progress=watch
            )
    console.forecast.prediction(
        prediction,
        json=shown.json,
        every=shown.all,
        trained=trained,
        page=shown.page,
        name=world,
    )


@base.options
class Written:
    """Options that select files to write in addition to the printed text.

    Attributes:
        page: Also write one HTML file that opens offline.
        fix: Also write a corrected copy and a list of the changes to this new folder.
        near: With --fix, also rename names that differ by one or two letters if the
            facts suggest it.
    """

    page: Path | None = None
    fix: Path | None = None
    near: base.Flag = False


@base.app.command
def audit(
    facts: str,
    /,
    *,
    forecast: bool = True,
    seconds: float = 60.0,
    written: Written = Written(),
    source: layouts.WordedSource = layouts.WordedSource(),
    json: base.Json = False,
) -> None:
    """Examine a file of facts: list possible compositions and obstacles to them, and give advice.

    Args:
        facts: A CSV, TSV, JSONL, JSON or Parquet file with subject, relation, object
            (and stage, if you train in stages); JSON of Wikidata; Turtle, N-Triples,
            N-Quads or JSON-LD; GraphML, GEXF, GML or an export of Neo4j; a Hugging Face
            dataset folder, or a hub name; sqlite:///FILE or another database's address;
            TwoHopFact, SOCRATES, MQuAKE or CounterFact; or @people or @chemistry.
        forecast: Predict which compositions follow; if the time is too short for all
            facts, the prediction covers a part of them.
        seconds: Time limit of the prediction in seconds.
        written: Options that select files to write: --page, --fix and --near.
        source: Options that define how the facts are read and worded.
        json: Print JSON instead of text.

    Raises:
        ConfigError: An option or the file of wordings is invalid, a package is not
            installed, or ``--near`` is given without ``--fix``.
        DataError: The facts cannot be read, or the page or the corrected copy cannot be
            written.
    """
    from inweights.audit import audit as examine
    from inweights.audit import mend, write_mended

    if written.near and not written.fix:
        raise ConfigError("--near requires --fix")
    knowledge = source.read(facts)
    with console.progress() as watch, console.solving(1e-3) as progress:
        made = examine(
            knowledge,
            forecast=forecast,
            seconds=seconds,
            wording=source.wordings(knowledge),
            progress=progress,
            watch=watch,
        )
    # The facts are mended after the audit, which describes the file as it was.
    mended = mend(knowledge, near=written.near) if written.fix else None
    if written.fix and mended:
        write_mended(mended, written.fix)
    console.audits.audit(
        made,
        json=json,
        page=written.page,
        name=facts,
        mended=mended,
        folder=written.fix,
    )
