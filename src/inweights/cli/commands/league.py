"""The command for the league of models."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from inweights.cli.commands.base import Choice, Common, How, app, choices


@app.command
def league(
    model: str = "",
    /,
    *,
    name: str = "",
    scale: str = "cpu",
    into: Path | None = None,
    replay: Path | None = None,
    choice: Choice = Choice(),
    how: How = How(),
    common: Common = Common(),
) -> int:
    """Run the league's table for a model of your own, and print its row beside the stored ones.

    Parameters
    ----------
    model
        module:factory or file.py:factory of a torch module, as for iw.wrap; its code is run. The
        stored rows alone are printed if left out.
    name
        What the table calls it.
    scale
        smoke (to see whether it runs) or cpu (minutes).
    into
        Folder in which the entry is written, below its name: config, scores and environment.
    replay
        Folder of an entry: train it again and compare its scores; name its module with --plugin.
    choice.set
        Change a setting, as in --set rate=1e-3 or --set entrant.options.width=64; may be repeated.
    how.jobs
        Number of parallel processes; 0 means one per core.
    how.fresh
        Discard an earlier run of the same model.
    """
    from inweights.cli import console
    from inweights.errors import ConfigError
    from inweights.laboratory import entries
    from inweights.support.plugins import load_plugins, module_of

    file, _, factory = model.rpartition(":")
    if model and not (file and factory):
        raise ConfigError(f"a model is given as module:factory, such as mine:make, got '{model}'")
    if replay is not None and (model or into is not None):
        raise ConfigError("--replay takes its model from the entry: leave MODEL and --into out")
    plugins = [*common.plugin, *([file] if file else [])]
    load_plugins(plugins)
    effort: dict[str, Any] = {
        "runs": how.runs,
        "device": how.device,
        "plugins": plugins,
        "fresh": how.fresh,
    }
    effort["jobs"] = how.jobs or console.cores(how.device, scale)
    outcome = None
    with console.progress() as progress:
        if replay is not None:
            scores = entries.replay(replay, progress=progress, **effort)
            return console.replayed(replay, scores, json=common.json)
        if model:
            words = ["league", model, "--scale", scale, *(["--name", name] if name else [])]
            outcome = entries.entered(
                _factory(module_of(file), factory), name=name, scale=scale,
                seeds=choice.numbers, overrides=choice.set, progress=progress,
                command=[*words, *choices(choice.seeds, choice.set, common.plugin)],
                **effort,
            )  # fmt: skip
    rows = entries.beside(outcome, scale, how.runs)
    written = entries.submit(outcome, into) if outcome is not None and into is not None else []
    console.standings(rows, outcome, written, json=common.json)
    return 0


def _factory(module: str, name: str) -> Any:
    """What makes the model, of a module that is loaded."""
    from inweights.errors import unknown_name

    known = vars(sys.modules[module])
    if name not in known:
        makers = [one for one, made in known.items() if callable(made)]
        raise unknown_name(f"factory in {module}", name, makers)
    return known[name]
