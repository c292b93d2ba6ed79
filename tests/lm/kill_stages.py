"""Fine-tune in forked processes, which wait at a stage to be killed there.

The module imports everything that is needed, so that the server of ``tests/forks.py``
imports it once.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from tests.lm.four_facts import tune_three

from inweights.lm import FineTune, finetune_to
from inweights.lm.model import load, tiny, unfinished
from inweights.lm.tuning import job, tuning

#: ``tiny`` imports transformers; ``tune_three`` is the function of several processes.
__all__ = ["CONFIG", "main", "tiny", "tune_three"]

CONFIG = FineTune(method="full", rate=1e-2, epochs=3, batch_tokens=64, replay=1.0)


def wait_here(mark: Path) -> None:
    """Report that the stage is reached, and wait until the process is killed."""
    mark.touch()
    while True:
        signal.pause()


def stop_at(stage: str, mark: Path) -> None:
    """Replace a function of the stage with one that does all or half of its work and waits."""
    if stage == "loading":
        real: Any = load.load_model

        def loading(*given: Any, **options: Any) -> Any:
            real(*given, **options)
            wait_here(mark)

        vars(job)["load_model"] = loading
    elif stage == "texts":
        keep = unfinished.BegunPart.keep
        written: list[int] = []

        def kept(self: Any, texts: dict[int, str], generator: Any) -> None:
            keep(self, texts, generator)
            written.append(len(texts))
            if len(written) == 2:
                wait_here(mark)

        unfinished.BegunPart.keep = kept  # type: ignore[method-assign]
    elif stage == "measuring":
        vars(tuning)["remembered"] = lambda *_: wait_here(mark)
    elif stage == "saving":
        load.LanguageModel.write = lambda *_: wait_here(mark)  # type: ignore[method-assign]


def main(out: str, data: str, stage: str, mark: str) -> None:
    """Fine-tune; stop at a stage and make the file ``mark``."""
    stop_at(stage, Path(mark))

    def progress(done: int, total: int, what: str) -> None:
        if stage == "training" and what.startswith("stage") and done == 2:
            os.kill(os.getpid(), signal.SIGTERM)

    finetune_to(out, "@tiny", data, CONFIG, progress=progress)
