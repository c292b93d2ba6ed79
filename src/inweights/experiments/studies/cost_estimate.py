"""What a plan costs: :class:`Forecast`, which :func:`~.cost.forecast` returns and commands show."""

from dataclasses import dataclass

from inweights.support.progress import plural, roughly


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """Cost estimate of a plan.

    Attributes:
        conditions: Number of trials and computations.
        seeds: Number of root seeds of each.
        runs: Number of runs and computations in all.
        stored: How many of them are complete in the store.
        measured: How many runs are measured only, as their weights are stored.
        trained: How many runs are trained.
        steps: Number of their updates together.
        minutes: How long training and its measures take, by a few steps and
            measurements on this machine: on a CPU processor time, which other work on
            the machine does not lengthen. Other tasks than training are not in it.
            ``None`` where nothing could be tried out.
        stops: Whether trainings may end before their last step, and take less.
        untimed: Number of tasks that are no training.
        memory: Bytes that all processes take together at most, about.
        jobs: Number of processes.
        h100: Minutes of training on one H100, by the arithmetic of its steps, each of
            which takes 4 ms at least; ``None`` where a core takes less than half an
            hour.
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

    def __str__(self) -> str:
        parts = [
            f"{plural(self.conditions, 'condition')} × {plural(self.seeds, 'seed')}: "
            f"{plural(self.runs, 'run')}, {self.stored} stored"
        ]
        if self.measured:
            parts.append(f"{self.measured} to measure with kept weights")
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
                f"on one H100 about {roughly(60 * self.h100)} of training, by arithmetic"
            )
            parts.append("a run that was stopped goes on with the same command")
        return "; ".join(parts)
