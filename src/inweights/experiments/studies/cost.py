"""Estimate the cost of a plan: runs, stored runs, steps, minutes and memory.

:func:`forecast` times a few steps of a few runs on this machine. Commands and
:meth:`Study.forecast <inweights.experiments.studies.sweep_object.Study.forecast>` show
its result, a :class:`Forecast`. :func:`expected_seconds` makes the same measurements
for the progress display of a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from inweights.experiments.engine.execution import ExecutionOptions
from inweights.experiments.engine.executors.expected import Expected, by_updates
from inweights.experiments.engine.plan import expand_plan, tasks_of
from inweights.experiments.engine.tasks import LearnTask, Task
from inweights.experiments.grammar.trial import Plan
from inweights.experiments.studies.cost_estimate import Forecast
from inweights.experiments.studies.timed_runs import BUDGET, TimedRuns, time_runs
from inweights.runs.tables.names import MODEL_PART
from inweights.runs.tables.store import Store
from inweights.training.learners.kinds import Curriculum

#: Estimated seconds on one core from which on the estimate also states the time of all
#: training runs on an H100.
SAID = 1800.0
#: Approximate seconds that a core needs for the product of one parameter and one fact
#: in an update, and estimated seconds of a run from which a few steps are timed before
#: it begins.
ARITHMETIC_SECONDS = 1.5e-10
WORTH_TIMING = 60.0
#: Memory of a process that has imported torch, in bytes.
BASE = 400 * 2**20


def forecast(
    plan: Plan,
    seeds: Sequence[int],
    store: Store,
    execution: ExecutionOptions | None = None,
    *,
    version: int = 1,
    budget: float = BUDGET,
) -> Forecast:
    """Estimate the cost of the missing runs of a plan by timing a few steps.

    Runs that are trained together form a group. Two to six groups of different sizes
    are timed, or the only group if there is just one. The longer all runs together
    take, the more groups are timed. For the other groups, the cost of a step is
    interpolated as a function of the product of the numbers of parameters and facts.
    Only training with a ``Curriculum`` is timed. Nothing is stored.

    Args:
        plan: The trials, measures and computations.
        seeds: Root seeds; there must be at least one.
        store: Store of the tables of individual runs. Runs that are already stored cost
            nothing.
        execution: Where and how the tasks would run; by default one after another in
            this process.
        version: The recipe's version, which is part of the key of every run; by default
            1.
        budget: Processor time in seconds after which no further group is timed, once
            two have been timed; by default 0.4. For long training runs a larger budget
            is used; see :func:`~.timed_runs.time_runs`.

    Returns:
        A :class:`Forecast` with the numbers of conditions, seeds, runs and stored runs,
        and with the time in minutes and the memory in bytes that the missing runs need.

    Raises:
        ConfigError: A config, or an option of a measure, cannot be encoded exactly; a
            trial with a ``Curriculum`` has no model or one that cannot be built; or a
            single run does not fit in the memory.
        DataError: A world cannot be built, or a phase names facts that its world does
            not contain.
    """
    execution = execution or ExecutionOptions()
    device = execution.device
    work = expand_plan(plan, seeds, version, keep_models=execution.keep_models)
    tasks = tasks_of(work, lambda owner, part: not store.has(owner, part), device)
    learning = [task for task in tasks if isinstance(task, LearnTask)]
    measuring = [
        task for task in learning if task.only_measures and _is_trained(task, store)
    ]
    training = [task for task in learning if task not in measuring]
    descents = [task for task in training if isinstance(task.learner, Curriculum)]
    found = time_runs(
        [task for task in descents if task.steps],
        execution.device,
        budget=budget,
        progress=execution.progress,
    )
    said = execution.device == "cpu" and found.seconds >= SAID
    together = min(execution.jobs, max(1, len(descents)))
    made = len(work.runs) + len(work.computations)
    return Forecast(
        conditions=len(plan.trials) + len(plan.computations),
        seeds=len(seeds),
        runs=made,
        stored=made
        - sum(len(task.runs) for task in learning)
        - (len(tasks) - len(learning)),
        measured=sum(len(task.runs) for task in measuring),
        trained=sum(len(task.runs) for task in training),
        steps=sum(task.steps for task in training),
        minutes=found.seconds / 60 / together if descents else None,
        stops=any(map(may_stop, descents)),
        untimed=len(tasks) - len(measuring) - len(descents),
        memory=together * (BASE + found.memory),
        jobs=together,
        h100=found.h100 / 60 if said else None,
    )


def may_stop(task: LearnTask) -> bool:
    """Return whether a phase of a training run can stop early, before its last step.

    Args:
        task: The task, whose learner must be a ``Curriculum``.
    """
    return any(not phase.stop.never for phase in task.learner.phases)  # type: ignore[union-attr]


def _is_trained(task: LearnTask, store: Store) -> bool:
    """Return whether the weights of all runs of a task are stored."""
    return all(store.has(run.key, MODEL_PART) for run in task.runs)


def expected_seconds(tasks: Sequence[Task]) -> list[Expected]:
    """Estimate how long tasks take on one core of this machine, for the progress display.

    If all training runs together take more than about a minute, as estimated from their
    sizes, a few steps of runs of several sizes are timed. Otherwise, or if the timing
    fails, all updates are assumed to take equally long. No errors are raised.

    Args:
        tasks: The tasks, in any order.

    Returns:
        One :class:`~.expected.Expected` for each task, in the given order. If steps
        were timed, ``measured`` is true and ``seconds`` is in seconds; otherwise it is
        the number of updates. In tasks without a ``Curriculum``, an update is assumed
        to take as long as the average update of the tasks with a ``Curriculum``.
    """
    # An error is ignored here, because it will occur again in the task itself, which
    # then fails while other tasks continue.
    with suppress(Exception):
        return _timed(tasks)
    return by_updates(tasks)


def _timed(tasks: Sequence[Task]) -> list[Expected]:
    """Return the result of :func:`expected_seconds`, passing on errors raised during training."""
    learning = [task for task in tasks if isinstance(task, LearnTask) and task.steps]
    descents = [task for task in learning if isinstance(task.learner, Curriculum)]
    found = TimedRuns.untimed(descents)
    if ARITHMETIC_SECONDS * found.arithmetic < WORTH_TIMING:
        return by_updates(tasks)
    found = time_runs(descents, "cpu")
    seconds = dict(zip((one.key for one in found.tasks), found.each, strict=True))
    per_update = found.seconds / sum(task.steps for task in descents)
    expected = []
    for task, one in zip(tasks, by_updates(tasks), strict=True):
        known = seconds.get(task.key, per_update * task.steps)
        expected.append(Expected(one.kind, known, measured=True))
    return expected
