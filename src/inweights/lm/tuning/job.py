"""Fine-tuning from files to a folder: what ``inweights finetune`` does."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from filelock import FileLock, Timeout

from inweights.config import to_plain
from inweights.errors import DataError
from inweights.lm.model.data import Encoded, Example, encode, preview, read_examples
from inweights.lm.model.load import load_model
from inweights.lm.tuning.card import model_card
from inweights.lm.tuning.epochs import About, keeping, lock_of
from inweights.lm.tuning.fine_tune import DEFAULT, FineTune
from inweights.lm.tuning.stages import steps_of
from inweights.lm.tuning.tuning import FineTuned, finetune
from inweights.lm.tuning.writing import replayed
from inweights.seeds import Streams
from inweights.support.progress import Progress
from inweights.training.observers import Observer, telling
from inweights.worlds.readers.new_folder import new_folder, reason

#: Called before training with the mask as text, examples, their tokens, updates at most, and texts
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
    """Fine-tune a model on a data set and write it, with its tokenizer and losses, to a folder.

    The folder has a card, and below ``adapter/`` what ``lora`` trained, as ``peft`` reads it.
    An interrupted call goes on where it was: its state is kept in ``<out>.state`` until the folder
    is there, and written when SIGINT, SIGTERM or SIGHUP come. Among several processes of
    ``accelerate launch`` the first one writes and shows.

    Args:
        out: Folder to write; must not exist.
        source: What :func:`inweights.lm.load_model` takes.
        data: Examples, or a file or folder of them (:func:`inweights.lm.read_examples`).
        config: How; ``DEFAULT`` if left out.
        part: ``train`` or ``control``, of a folder that ``inweights augment`` wrote.
        seed: Root seed.
        download: Whether a hub name may be fetched.
        device: Where the model lives; accelerate decides where it starts several processes.
        dtype: Type of the weights.
        chat: Whether in the chat template of an instruct model.
        observers: Who is told, such as a :class:`~inweights.training.Tracker`.
        keep_epochs: Whether the adapters (of ``full``, the model) after each epoch are kept in
            ``<out>.epochs``, for :func:`inweights.lm.score_epochs`.
        show: Told what the loss will see.
        progress: Reports texts that the model writes, and every update.

    Raises:
        DataError: The folder exists, or model or data cannot be read.
        RunError: The state is of another run, or the loss is not a number.
    """
    target, config, first = Path(out), config or DEFAULT, _first()
    state = _state(target)
    watching, progress = (observers, progress) if first else ((), None)
    with _alone(target):
        Streams(seed)  # refuses what is no seed, before a model is read
        examples = (
            read_examples(data, part, chat=chat) if isinstance(data, str | Path) else list(data)
        )
        told = {"name": target.name, "seeds": [seed], "model": str(source)}
        with telling(watching, {**told, "learner": to_plain(config)}) as tables:
            lm = load_model(
                source, download=download, device=device, dtype=dtype, chat=chat, seed=seed
            )
            keep = None
            if keep_epochs and first:
                base = str(Path(source).resolve() if Path(source).exists() else source)
                about = About(base=base, method=config.method, chat=chat, dtype=dtype, seed=seed)
                keep = keeping(target, lm, about, fresh=not state.exists())
            more = replayed(lm, examples, config, seed, progress)
            if show and first:
                encoded = encode(lm, examples, end=config.end)
                tokens, steps = sum(len(row.ids) for row in encoded), steps_of(encoded, config)
                show(preview(lm, _shown(encoded)), len(encoded), tokens, steps, len(more))
            with new_folder(target) if first else nullcontext(target) as work:
                adapter = work / "adapter" if config.method == "lora" else None
                done = finetune(
                    lm, [*examples, *more], config, seed=seed, checkpoint=state, keep=True,
                    adapter=adapter, observers=watching, passed=keep,
                    progress=progress,
                )  # fmt: skip
                tables["losses"] = done.losses
                if first:
                    lm.write(work)
                    done.losses.write_parquet(work / "losses.parquet")
                    place = Path(data) if isinstance(data, str | Path) else None
                    card = model_card(
                        str(source), place, part, config,
                        chat=chat, losses=done.losses, tokens=done.tokens,
                    )  # fmt: skip
                    (work / "README.md").write_text(card, encoding="utf-8")
        if first:
            state.unlink(missing_ok=True)
        return done


@contextmanager
def _alone(target: Path) -> Iterator[None]:
    """Work on a folder that is not there yet, and that no other process works on."""
    if not _first():
        yield
        return
    state = _state(target)
    lock = FileLock(lock_of(target), timeout=0)
    try:
        state.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise DataError(f"another process is writing {target}; wait until it ends") from None
    except OSError as error:
        raise DataError(f"cannot write {target}: {reason(error)}") from None
    try:
        if target.exists():
            state.unlink(missing_ok=True)  # of a process that was killed when all was written
            raise DataError(f"{target} exists already; choose another folder or remove it first")
        yield
    finally:
        Path(lock.lock_file).unlink(missing_ok=True)  # nobody waits for it
        lock.release()


def _state(target: Path) -> Path:
    """Where the state of an unfinished training is kept."""
    if not target.name:  # '', '.' or '/'
        raise DataError(f"{target} exists already; choose another folder")
    return target.with_name(f"{target.name}.state")


def _first() -> bool:
    """Whether this is the process that writes and shows, of those that accelerate started."""
    return int(os.environ.get("RANK", "0")) == 0


def _shown(encoded: Sequence[Encoded]) -> list[Encoded]:
    stages = sorted({row.stage for row in encoded})
    each = max(1, 5 // len(stages))
    return [row for s in stages for row in [r for r in encoded if r.stage == s][:each]]
