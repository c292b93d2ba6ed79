"""Define the commands for pretrained language models: ``finetune``, ``evaluate`` and ``gguf``."""

from pathlib import Path
from typing import Any

from inweights import lm
from inweights.cli import console
from inweights.cli.commands import base
from inweights.config import apply_overrides
from inweights.errors import ConfigError


@base.options
class Loading:
    """Options that define how a language model is loaded, except the data type of its weights.

    Attributes:
        device: Torch device of the model: ``cpu`` or ``cuda``.
        download: Allow downloads from the hub.
        chat: Use the chat template of an instruct model.
    """

    device: base.Device = "cpu"
    download: base.Download = False
    chat: base.Flag = False


@base.options
class Tuning(base.Changes):
    """Options that define how a language model is fine-tuned.

    Attributes:
        part: Training set: train, or control (only the facts, with the same number of
            tokens).
        set: Change a setting, as in --set method=full or --set epochs=20; may be
            repeated.
        seed: Root seed.
        dtype: Data type of the weights: float32, bfloat16 or float16.
        tracker: Also log losses to tensorboard, wandb, trackio or mlflow; their files
            are written to OUT.trackers.
        keep_epochs: Store the weights after each epoch in OUT.epochs, for 'inweights
            evaluate OUT DATA --watch'.
    """

    part: str = "train"
    dtype: str = "float32"
    tracker: str = ""
    keep_epochs: base.Flag = False


@base.options
class Asking:
    """Options that select what to evaluate, and whether to write scores to the model card.

    Attributes:
        before: The original model, with which the given model is compared by paired
            tests and changes of probability.
        words: Evaluate generated answers in addition to the choice among candidates; on
            by default.
        abstain: Also ask questions that the facts do not answer, and count how often
            the model says that the answer is unknown and how often it invents an
            answer; with --before, also for the original model.
        card: Write the scores to the model card, README.md in its folder.
    """

    before: str | None = None
    words: bool | None = None
    abstain: base.Flag = False
    card: base.Flag = False

    def refuse_watch(self, *, chat: bool) -> None:
        """Raise an error if an option is given that has no effect on the scores of each epoch.

        Args:
            chat: Whether ``--chat`` was given.

        Raises:
            ConfigError: ``--before``, ``--card``, ``--chat``, ``--abstain``,
                ``--words`` or ``--no-words`` was given.
        """
        unfit = {
            "--before": self.before,
            "--card": self.card or None,
            "--chat": chat or None,
            "--words": self.words,
            "--abstain": self.abstain or None,
        }
        given = [name for name, value in unfit.items() if value is not None]
        if given:
            raise ConfigError(
                f"{' and '.join(given)} cannot be combined with --watch, which always ranks "
                "candidates in the format used for training, and compares each epoch with "
                "the original model"
            )


@base.options
class Otherwise:
    """Options for evaluating the epochs of a fine-tuning run, or a model on a server.

    Attributes:
        watch: Score each epoch of a fine-tuning run with --keep-epochs as it finishes,
            and compare it with the original model, in one line per epoch. The command
            ends when the training ends.
        endpoint: Base address of an OpenAI-compatible server, such as
            http://localhost:8080/v1, on which MODEL generates the answers. The key is
            read from OPENAI_API_KEY. Answers are stored in QUESTIONS.answers.jsonl; if
            the command is repeated, only the questions without a stored answer are
            sent.
    """

    watch: base.Flag = False
    endpoint: str = ""


@base.app.command
def finetune(
    model: str,
    data: Path,
    /,
    *,
    out: Path,
    tuning: Tuning = Tuning(),
    loading: Loading = Loading(),
    json: base.Json = False,
) -> None:
    """Fine-tune a pretrained language model on facts, or continue an interrupted run.

    To train with several processes, use: accelerate launch -m inweights finetune ...

    Args:
        model: A folder, a GGUF file, a hub name, or @smollm2 (a small model that is
            installed as a package).
        data: A folder that 'inweights augment' wrote, or a file of rows: prompt and
            completion, text, messages, ShareGPT, Alpaca, or question and answer.
        out: Folder to write, which must not exist yet.
        tuning: Options of the training, such as --set, --seed and --part.
        loading: Options of the model: --device, --download and --chat.
        loading.chat: Train with the chat template of an instruct model; in this case,
            also evaluate with --chat.
        json: Print JSON instead of text.

    Raises:
        ConfigError: An option or setting is invalid, or a package is not installed.
        DataError: The folder exists or another process writes it, or the model or the
            data cannot be read.
        RunError: The stored state belongs to another run or cannot be written, or the
            loss is not a finite number.
        KeyboardInterrupt: A signal stopped the training; the same command continues it.
    """
    config = apply_overrides(lm.DEFAULT, tuning.set)
    with console.progress() as progress:
        done = lm.finetune_to(
            out,
            model,
            data,
            config,
            part=tuning.part,
            seed=tuning.seed,
            dtype=tuning.dtype,
            observers=base.trackers(tuning.tracker, f"{out}.trackers", every=1),
            keep_epochs=tuning.keep_epochs,
            progress=progress,
            show=None if json else console.language.mask,
            **vars(loading),
        )
    console.language.finetuned(done, out, json=json)


@base.app.command
def evaluate(
    model: str,
    questions: Path,
    /,
    *,
    asking: Asking = Asking(),
    dtype: str | None = None,
    loading: Loading = Loading(),
    otherwise: Otherwise = Otherwise(),
    json: base.Json = False,
) -> None:
    """Evaluate a model on facts and their consequences, by multiple choice and generation.

    Args:
        model: A folder, a GGUF file, a hub name, or @smollm2.
        questions: A folder that 'inweights augment' wrote, or its file of questions.
        asking: Options that select what to evaluate, such as --before and --abstain.
        dtype: Data type of the weights: float32, bfloat16 or float16. By default
            float32; with --watch, the data type that was used in the training.
        loading: Options of the model: --device, --download and --chat.
        loading.chat: Use the chat template, for instruct models trained with --chat.
        otherwise: Options --watch and --endpoint.
        json: Print JSON instead of text.

    Raises:
        ConfigError: An option is invalid or has no effect in combination with the
            others, or a package is not installed.
        DataError: The model or the questions cannot be read, or the model card cannot
            be read or written.
        RunError: The server of ``--endpoint`` refuses the requests or cannot be
            reached.
        OSError: The answers of the server cannot be stored.
    """
    if otherwise.endpoint:
        _ask(otherwise.endpoint, model, questions, json=json)
        return
    if otherwise.watch:
        asking.refuse_watch(chat=loading.chat)
        _watch(Path(model), questions, dtype or "", loading, json=json)
        return
    if asking.card:
        lm.card_of(Path(model))  # raises an error before minutes are spent
    asked = lm.read_exam(questions, chat=loading.chat)
    foreseen = None
    why = ""
    unanswered = (
        lm.read_unanswerable(questions, chat=loading.chat) if asking.abstain else []
    )
    if questions.is_dir():
        with console.solving(1e-3) as solving:
            foreseen, why = lm.forecast_of(questions, asked, progress=solving)
    how: dict[str, Any] = {**vars(loading), "dtype": dtype or "float32"}
    with console.progress() as progress:
        models = {"after": lm.load_model(model, **how)}
        if asking.before:
            models = {"before": lm.load_model(asking.before, **how), **models}
        made = lm.evaluation(
            models["after"],
            asked,
            before=models.get("before"),
            words=asking.words is not False,
            forecast=foreseen,
            progress=progress,
        )
        if unanswered:
            made["abstention"] = lm.abstention(models, unanswered, progress=progress)
    console.language.evaluated(made, why=why, json=json)
    if asking.card:  # last, so that an error does not lose the printed results
        lm.add_scores(Path(model), made)


@base.app.command
def gguf(
    model: str,
    /,
    *,
    out: Path,
    bits: int = 16,
    download: base.Download = False,
) -> None:
    """Write a language model as one GGUF file, for llama.cpp and programs based on it.

    Args:
        model: A folder, such as one that 'inweights finetune' wrote, a hub name, or
            @smollm2.
        out: The file to write, such as tuned.gguf. It must not exist yet.
        bits: Bits per weight: 32, 16, 8 or 4. 'inweights evaluate tuned.gguf DATA'
            shows the effect of rounding.
        download: Allow downloads from the hub; otherwise only local files are read.

    Raises:
        ConfigError: The package ``gguf`` or ``transformers`` is not installed, or
            ``bits`` is not 32, 16, 8 or 4.
        DataError: The model cannot be read or is not supported, or the file exists or
            cannot be written.
    """
    loaded = lm.load_model(model, download=download)
    written = lm.write_gguf(loaded, out, bits=bits)
    console.language.written(written)


def _ask(url: str, model: str, questions: Path, *, json: bool) -> None:
    """Evaluate a model behind an address, after printing the number of requests."""
    from inweights.lm.exams.endpoint import Endpoint, ask_endpoint, requests_of

    endpoint = Endpoint(url, model)
    asked = lm.read_exam(questions, chat=True)
    kept = questions.with_name(f"{questions.name}.answers.jsonl")
    if not json:
        console.language.requests(*requests_of(endpoint, asked, kept), kept)
    with console.progress() as progress:
        made = ask_endpoint(endpoint, asked, kept, progress=progress)
    console.language.answered(made, json=json)


def _watch(
    model: Path, questions: Path, dtype: str, loading: Loading, *, json: bool
) -> None:
    with console.progress() as progress:
        scores = lm.score_epochs(
            model,
            questions,
            device=loading.device,
            dtype=dtype,
            download=loading.download,
            progress=progress,
        )
        for row in scores:
            console.language.epoch(row, json=json)
