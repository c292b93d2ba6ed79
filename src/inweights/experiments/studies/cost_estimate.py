"""Represent the estimated cost of a plan, returned by :func:`~.cost.forecast`."""

from dataclasses import dataclass

from inweights.support.progress import plural, roughly


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """Estimated cost of a plan.

    Attributes:
        conditions: Number of trials and computations.
        seeds: Number of root seeds of each trial.
        runs: Total number of runs and computations.
        stored: Number of runs and computations that are complete in the store.
        measured: Number of runs that only have to be measured, since their weights are
            stored.
        trained: Number of runs that have to be trained.
        steps: Total number of updates of the runs to be trained.
        minutes: Estimated duration of all training runs with their measures, in
            minutes, extrapolated from a few steps on this machine and divided by
            ``jobs``. On a CPU it is processor time, which does not depend on other work
            on the machine. Only training runs with a ``Curriculum`` are included;
            ``None`` if there are none.
        stops: Whether training runs may end before their last step, so that the time is
            an upper limit.
        untimed: Number of tasks that are not included in ``minutes``: computations, and
            training runs whose learner is not a ``Curriculum``.
        memory: Estimated memory of all processes together, in bytes.
        jobs: Number of processes that would work in parallel, at most one for each task
            with a ``Curriculum``.
        h100: Estimated minutes of training on one NVIDIA H100 GPU, computed from the
            number of arithmetic operations, with at least 4 ms per step. ``None`` if
            the device is an accelerator, or if one CPU core needs less than half an
            hour.
        timed: Day on which the steps were timed, such as ``2026-11-28``, if the
            estimate was stored earlier; empty if the steps were timed just now.
    """

    conditions: int
    seeds: int
    runs: int
    stored: int
    measured: int
    trained: int
    steps: int
    minutes: float | None
    stops: bool
    untimed: int
    memory: int
    jobs: int
    h100: float | None = None
    timed: str = ""

    def __str__(self) -> str:
        parts = [
            f"{plural(self.conditions, 'condition')} × {plural(self.seeds, 'seed')}: "
            f"{plural(self.runs, 'run')}, {self.stored} stored"
        ]
        if self.measured:
            parts.append(f"{self.measured} to measure with stored weights")
        parts.append(f"{self.trained} to train: {plural(self.steps, 'step')}")
        if self.minutes is not None:
            at_once = f" in {self.jobs} processes" if self.jobs > 1 else ""
            about = "at most" if self.stops else "about"
            parts.append(
                f"{about} {roughly(60 * self.minutes)} on this machine{at_once}"
            )
        if self.untimed:
            parts.append(f"{plural(self.untimed, 'task')} not timed")
        if self.trained:
            parts.append(f"{self.memory / 2**30:.1f} GiB of memory")
        if self.h100 is not None:
            parts.append(
                f"on one H100 about {roughly(60 * self.h100)} of training, from its operations"
            )
            parts.append("to continue a stopped run, repeat the same command")
        if self.timed:
            parts.append(
                f"timed on this machine on {self.timed} (with --fresh it is timed again)"
            )
        return "; ".join(parts)
