"""Fine-tune a model from files to a folder, as ``inweights finetune`` does.

:func:`finetune_to` reads the model and the examples, runs
:func:`inweights.lm.finetune`, and writes the model, the losses and a model card.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from filelock import FileLock, Timeout

from inweights.config import digest, to_plain
from inweights.errors import DataError
from inweights.lm.model.data import Encoded, Example, encode, preview, read_examples
from inweights.lm.model.load import LanguageModel, load_model
from inweights.lm.model.state import fingerprint
from inweights.lm.model.unfinished import BegunTexts, lock_of, state_of, texts_of
from inweights.lm.tuning.card import model_card
from inweights.lm.tuning.epochs import About, keeping
from inweights.lm.tuning.fine_tune import DEFAULT, FineTune
from inweights.lm.tuning.stages import steps_of
from inweights.lm.tuning.tuning import FineTuned, finetune
from inweights.lm.tuning.writing import replayed
from inweights.seeds import Streams
from inweights.support.progress import Progress
from inweights.training.observers import Observer, telling
from inweights.worlds.readers.new_folder import new_folder, reason

#: Function that is called before training with the first examples as text, the numbers of
#: examples and of their tokens, the maximum number of updates, and the number of texts
#: that the model wrote itself.
Show = Callable[[str, int, int, int, int], None]


def finetune_to(
    out: str | Path,
    source: str | Path,
    data: str | Path | Sequence[Example],
    config: FineTune | None = None,
    *,
    part: str = "train",
    seed: int = 0,
    download: bool = False,
    device: str = "cpu",
    dtype: str = "float32",
    chat: bool = False,
    observers: Sequence[Observer] = (),
    keep_epochs: bool = False,
    show: Show | None = None,
    progress: Progress | None = None,
) -> FineTuned:
    """Fine-tune a model on a data set, and write it with its tokenizer and losses to a folder.

    The folder also contains a model card and, in ``adapter/``, the adapters of ``lora``
    in the format of ``peft``.

    If the same call is repeated after an interruption, it continues from the last
    stored state. Until the folder is complete, ``<out>.texts`` contains the texts that
    the model has written before the training, and ``<out>.state`` contains the state of
    the training. The state is written every five minutes, on SIGINT, SIGTERM or SIGHUP,
    and at the end. If ``accelerate launch`` started several processes, only the first
    one writes and reports.

    Args:
        out: Path of the folder, which must not exist.
        source: Source of the model, as for :func:`inweights.lm.load_model`.
        data: Examples, or the file or folder from which they are read
            (:func:`inweights.lm.read_examples`).
        config: Settings of the fine-tuning; by default :data:`~.fine_tune.DEFAULT`.
        part: ``train`` (by default) or ``control``, for a folder that ``inweights
            augment`` wrote.
        seed: Root seed of the order, the adapters, the model's own texts, and the
            weights of ``@tiny``; by default 0.
        download: Whether a model may be downloaded from the Hugging Face hub; by
            default False.
        device: Torch device of the model, by default ``cpu``. If accelerate has started
            several processes, it chooses the devices.
        dtype: Data type of the weights: ``float32``, ``bfloat16`` or ``float16``.
        chat: Whether to train with the chat template of an instruct model.
        observers: Observers of the training, such as a
            :class:`~inweights.training.Tracker`; by default none.
        keep_epochs: Whether to store the adapters (for ``full``, the model) after each
            epoch in ``<out>.epochs``, for :func:`inweights.lm.score_epochs`.
        show: ``None``, or a function that is called before training with five values:
            the first examples as text, with brackets around tokens to which the loss
            applies; the number of examples; the number of their tokens; the maximum
            number of updates; and the number of texts that the model wrote.
        progress: Function that is called with the number of finished items, their total
            number and a description, while the model writes texts and while it is
            trained; ``None`` for no progress reports.

    Returns:
        Losses and sizes, as returned by :func:`inweights.lm.finetune`.

    Raises:
        ConfigError: An option is invalid, or an optional package is not installed.
        DataError: The folder exists or another process is writing it, the folder, the
            texts or the epochs cannot be written, or the model or the data cannot be
            read.
        RunError: The stored state belongs to another run or is damaged, the loss is not
            a finite number, or the state cannot be written.
        KeyboardInterrupt: A signal stopped the training; the same call continues it.
    """
    target = Path(out)
    config = config or DEFAULT
    first = _first()
    state = _state(target)
    watching = observers if first else ()
    progress = progress if first else None
    with _alone(target):
        Streams(seed)  # raises an error for an invalid seed before a model is read
        place = Path(data) if isinstance(data, str | Path) else None
        if isinstance(data, str | Path):
            examples = read_examples(data, part, chat=chat)
        else:
            examples = list(data)
        about_run = {
            "name": target.name,
            "seeds": [seed],
            "model": str(source),
            "learner": to_plain(config),
        }
        with telling(watching, about_run) as tables:
            lm = load_model(
                source,
                download=download,
                device=device,
                dtype=dtype,
                chat=chat,
                seed=seed,
            )
            keep = None
            if keep_epochs and first:
                base = str(Path(source).resolve() if Path(source).exists() else source)
                about = About(
                    base=base,
                    method=config.method,
                    chat=chat,
                    dtype=dtype,
                    seed=seed,
                )
                keep = keeping(target, lm, about, fresh=not state.exists())
            begun = _begun(target, lm, examples, config, seed)
            own_texts = replayed(lm, examples, config, seed, progress, begun)
            if show and first:
                _show(show, lm, examples, config, own_texts)
            with new_folder(target) if first else nullcontext(target) as work:
                done = finetune(
                    lm,
                    [*examples, *own_texts],
                    config,
                    seed=seed,
                    checkpoint=state,
                    keep=True,
                    adapter=work / "adapter" if config.method == "lora" else None,
                    observers=watching,
                    passed=keep,
                    progress=progress,
                )
                tables["losses"] = done.losses
                if first:
                    lm.write(work)
                    done.losses.write_parquet(work / "losses.parquet")
                    card = model_card(
                        str(source),
                        place,
                        part,
                        config,
                        chat=chat,
                        losses=done.losses,
                        tokens=done.tokens,
                    )
                    (work / "README.md").write_text(card, encoding="utf-8")
        if first:
            _remove_unfinished(target)
        return done


def _begun(
    target: Path,
    lm: LanguageModel,
    examples: Sequence[Example],
    config: FineTune,
    seed: int,
) -> BegunTexts | None:
    """Return the file for texts that the model writes; ``None`` if there are several processes."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        return None
    rows = [(e.prompt, e.completion, e.stage) for e in examples]
    decides = [fingerprint(lm.model), rows, config.replay, config.epochs, seed, lm.chat]
    return BegunTexts(texts_of(target), digest(decides))


def _remove_unfinished(target: Path) -> None:
    """Remove the files from which an interrupted call would continue."""
    for path in (_state(target), texts_of(target)):
        path.unlink(missing_ok=True)


def _show(
    show: Show,
    lm: LanguageModel,
    examples: Sequence[Example],
    config: FineTune,
    own_texts: Sequence[Example],
) -> None:
    """Call ``show`` with some examples as text and with the sizes of the training."""
    encoded = encode(lm, examples, end=config.end)
    tokens = sum(len(row.ids) for row in encoded)
    text = preview(lm, _shown(encoded))
    show(text, len(encoded), tokens, steps_of(encoded, config), len(own_texts))


@contextmanager
def _alone(target: Path) -> Iterator[None]:
    """Lock a folder that does not exist yet, so that no other process writes it."""
    if not _first():
        yield
        return
    state = _state(target)
    lock = FileLock(lock_of(target), timeout=0)
    try:
        state.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise DataError(
            f"another process is writing {target}; wait until it ends"
        ) from None
    except OSError as error:
        raise DataError(f"cannot write {target}: {reason(error)}") from None
    try:
        if target.exists():
            # A process may have been killed after writing the model but before removing
            # these files.
            _remove_unfinished(target)
            raise DataError(
                f"{target} already exists; choose another folder or remove it first"
            )
        yield
    finally:
        Path(lock.lock_file).unlink(missing_ok=True)  # no process waits for this file
        lock.release()


def _state(target: Path) -> Path:
    """Return the path of the file with an interrupted training."""
    if not target.name:  # the path is '', '.' or '/'
        raise DataError(f"{target} already exists; choose another folder")
    return state_of(target)


def _first() -> bool:
    """Return whether this is the main process of accelerate, which writes and reports."""
    return int(os.environ.get("RANK", "0")) == 0


def _shown(encoded: Sequence[Encoded]) -> list[Encoded]:
    """Return the first examples of each stage, about five in total."""
    stages = sorted({row.stage for row in encoded})
    each = max(1, 5 // len(stages))
    shown: list[Encoded] = []
    for stage in stages:
        shown += [row for row in encoded if row.stage == stage][:each]
    return shown
