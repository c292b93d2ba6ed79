"""The command that compares ways to give a language model facts."""

import re
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from inweights.cli import console
from inweights.cli.commands.base import (
    Choice,
    Common,
    Download,
    DryRun,
    Flag,
    How,
    Whole,
    app,
    choices,
    options,
)


@options
class Compared:
    """What is compared.

    Attributes:
        model: A folder, a GGUF file, a hub name, or @smollm2.
        way: untrained, retrieval, facts, entities or mixture; may be repeated. By default all.
        strategy: What the mixture adds to the facts, as for 'inweights augment'; may be repeated.
        hold_out: Share of the bridges whose chains no way states.
        tokens: Tokens of one pass, the same for each way; 0 takes the mixture once.
        questions: Number of questions of each kind, at most.
        wording: A TOML file with [statements], [phrases] and [kinds.NAME] of relations.
        chat: Use the chat template of an instruct model.
    """

    model: str
    way: Annotated[tuple[str, ...], Parameter(negative=())] = ()
    strategy: Annotated[tuple[str, ...], Parameter(negative=())] = ("auto",)
    hold_out: float = 0.2
    tokens: Whole = 0
    questions: Whole = 40
    wording: Path | None = None
    chat: Flag = False


@app.command
def compare_training(
    facts: str,
    /,
    *,
    compared: Compared,
    choice: Choice = Choice(),
    how: How = How(),
    download: Download = False,
    dry_run: DryRun = False,
    common: Common = Common(),
) -> int:
    """Compare ways to give a language model facts: fine-tuned in three, retrieved, untrained.

    All train on as many tokens and are asked the same questions. What it takes is printed before
    anything is trained. An interrupted command, given again, trains what is missing.

    Parameters
    ----------
    facts
        A file of facts, as for 'inweights audit', or @people, @chemistry.
    choice.seeds
        Number of seeds, or the seeds; 3 by default.
    choice.set
        Change a setting, as in --set tuning.epochs=20 or --set retrieved=4; may be repeated.
    how.jobs
        Number of parallel processes; 1 by default.
    how.fresh
        Discard an earlier run of the same settings.
    """
    from inweights import laboratory
    from inweights.config import to_plain
    from inweights.laboratory.training import WAYS, TrainingSettings, sizes, training_recipe
    from inweights.runs import RunStore
    from inweights.support.sources import Outside

    common.load()
    given = TrainingSettings(facts=Outside(name=facts), model=Outside(name=compared.model))
    own = {
        "wording": {"name": str(compared.wording or "")}, "ways": compared.way or tuple(WAYS),
        "strategy": compared.strategy, "hold_out": compared.hold_out, "tokens": compared.tokens,
        "questions": compared.questions, "device": how.device, "chat": compared.chat,
    }  # fmt: skip
    usual = to_plain(given)
    changed = {key: value for key, value in own.items() if value != usual[key]}
    changes = [*console.flat(changed), *choice.set]
    name = re.sub(r"[^\w-]+", "-", Path(facts).stem).strip("-") or "facts"
    recipe = training_recipe(f"training/{name}", given)
    settings, seeds, config = recipe.resolve("cpu", choice.numbers, changes)
    done = RunStore(how.runs).folder(recipe.name, config).complete
    if dry_run or not (done and not how.fresh):
        with console.progress() as progress:
            progress(0, 1, "measuring what it takes")
            found = sizes(settings, settings.load(download=download))
        if dry_run or not common.json:
            console.sizes(found, settings, seeds, json=common.json)
    if dry_run:
        return 0
    repeated = choices(choice.seeds, changes, common.plugin)
    with console.progress() as progress:
        outcome = laboratory.run(
            recipe, "cpu", seeds=seeds, overrides=changes, runs=how.runs, fresh=how.fresh,
            jobs=how.jobs or 1, plugins=common.plugin, progress=progress,
            command=("compare-training", facts, "--model", compared.model, *repeated),
        )  # fmt: skip
    console.ways(outcome, json=common.json)
    return 0
