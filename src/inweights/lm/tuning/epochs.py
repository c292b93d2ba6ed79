"""Store the model after each epoch of a fine-tuning run, and evaluate the stored models.

:func:`keeping` stores them in ``<target>.epochs`` while
:func:`inweights.lm.finetune_to` trains. :func:`score_epochs` yields their scores, even
while the training is running.
"""

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
from filelock import FileLock, Timeout

from inweights.config import Config, decode, to_plain
from inweights.errors import ConfigError, DataError
from inweights.lm.exams.compare import summary
from inweights.lm.exams.evaluate import ask
from inweights.lm.exams.general import general_knowledge, kept
from inweights.lm.exams.questions import Question, read_exam
from inweights.lm.model.load import LanguageModel, load_model, readable
from inweights.lm.model.unfinished import lock_of
from inweights.lm.tuning.adapters import with_adapters
from inweights.support.limits import read_text
from inweights.support.progress import Progress
from inweights.worlds.readers.new_folder import new_folder

_ABOUT = "about.json"


class About(Config):
    """Description of a fine-tuning run whose epochs are stored.

    Attributes:
        base: Source of the original model.
        method: ``lora`` if the adapters of each epoch are stored, ``full`` if the whole
            model is stored.
        chat: Whether the model is trained with its chat template.
        dtype: Data type of the weights.
        seed: Root seed.
    """

    base: str
    method: str
    chat: bool
    dtype: str
    seed: int


def epochs_of(target: Path) -> Path:
    """Return the folder with the stored epochs of a fine-tuning run: ``<target>.epochs``.

    Args:
        target: Folder to which the fine-tuned model is written.

    Example:
        >>> epochs_of(Path("tuned")).name
        'tuned.epochs'
    """
    return target.with_name(f"{target.name}.epochs")


def keeping(
    target: Path, lm: LanguageModel, about: About, *, fresh: bool
) -> Callable[..., None]:
    """Return a function that stores the model after each epoch, for :func:`inweights.lm.finetune`.

    Args:
        target: Folder to which the fine-tuned model is written.
        lm: The model that is trained.
        about: Description that is stored with the epochs.
        fresh: Whether to remove the stored epochs of an earlier training first. The
            returned function would otherwise not replace them.

    Returns:
        A function to be passed to :func:`inweights.lm.finetune` as ``passed``. Its
        arguments are the number of the epoch, the number of epochs and the trained
        model. It does nothing if the epoch is already stored, and raises a DataError if
        the epoch cannot be written.

    Raises:
        DataError: The folder of the epochs cannot be written.
    """
    place = epochs_of(target)
    # Epochs that an earlier training of the same name stored are removed.
    if fresh and (place / _ABOUT).exists():
        shutil.rmtree(place)
    if not (place / _ABOUT).exists():
        with new_folder(place) as work:
            (work / _ABOUT).write_bytes(msgspec.json.encode(to_plain(about)))

    def keep(number: int, total: int, trained: Any) -> None:
        folder = place / f"{number}-of-{total}"
        if folder.exists():
            return  # stored before this training was interrupted
        # Another process may read epochs, so a folder appears only once it is complete.
        with new_folder(folder) as work:
            if about.method == "lora":
                trained.save_pretrained(str(work))
                readable(work)
            else:
                lm.write(work)

    return keep


def score_epochs(
    target: Path,
    questions: Sequence[Question] | Path,
    *,
    every: float = 2.0,
    device: str = "cpu",
    dtype: str = "",
    download: bool = False,
    progress: Progress | None = None,
) -> Iterator[dict[str, Any]]:
    """Evaluate a model before its fine-tuning and after each epoch, until the training ends.

    Args:
        target: Folder to which the fine-tuned model is written, or was written.
        questions: Questions, or the path of a file or folder that
            :func:`inweights.lm.read_exam` reads.
        every: Seconds between two checks for new epochs of a running training; by
            default 2.
        device: Torch device of the model; by default ``cpu``.
        dtype: Data type of the weights; by default (empty) the data type with which the
            model is trained.
        download: Whether a model may be downloaded from the Hugging Face hub; by
            default False.
        progress: Function that is called with the number of finished items, their total
            number and a description; ``None`` for no progress reports.

    Yields:
        One dictionary per epoch: ``epoch``, its number over all stages (0 before
        training); ``epochs``, the total number of epochs; ``accuracy``, keyed by the
        role of the questions; and, on questions and texts unrelated to the facts,
        ``general`` (share of correct answers), ``spilled``, ``repeats``, ``perplexity``
        and ``damage`` (:func:`inweights.lm.kept`). Nothing is yielded before the first
        epoch is stored.

    Raises:
        DataError: There is no such training, it stores no epochs, its description is
            damaged, or the model, the adapters or the questions cannot be read.
        ConfigError: This machine does not have the device, ``dtype`` is unknown, or
            ``peft`` is not installed.
    """
    place = epochs_of(target)
    about = _about(target, every)
    options: dict[str, Any] = {
        "device": device,
        "dtype": dtype or about.dtype,
        "chat": about.chat,
    }
    base = load_model(about.base, download=download, seed=about.seed, **options)
    if isinstance(questions, Path):
        questions = read_exam(questions, chat=about.chat)
    names = list(dict.fromkeys(chain.from_iterable(q.candidates for q in questions)))
    before = general_knowledge(base, names, progress=progress)

    def scored(number: int, total: int, lm: LanguageModel) -> dict[str, Any]:
        roles = (
            summary(ask(lm, questions, progress=progress))
            .select("role", "accuracy")
            .rows()
        )
        # The score of the base was measured above. With adapters, it is a different
        # model.
        now = before if lm is base and not number else general_knowledge(lm, names)
        lost = kept(before, now)
        rest = {name: lost[name][1] for name in ("repeats", "spilled", "perplexity")}
        general = {"general": lost["accuracy"][1], **rest, "damage": lost["damage"]}
        return {
            "epoch": number,
            "epochs": total,
            "accuracy": dict(roles),
            **general,
        }

    done = 0
    total = 0
    while True:
        # Checked before the epochs are listed, so that an epoch stored in between is
        # not missed.
        running = _at_work(target)
        for number, total, folder in _after(place, done):
            # The total number of epochs is known only from the name of an epoch's
            # folder.
            if not done:
                yield scored(0, total, base)
            if about.method == "full":
                yield scored(number, total, load_model(folder, **options))
            else:
                with with_adapters(base.model, folder):
                    yield scored(number, total, base)
            done = number
        if not running:
            return
        time.sleep(every)


def _about(target: Path, every: float) -> About:
    """Return the description of a training, waiting for it while the training is running."""
    place = epochs_of(target)
    while not (place / _ABOUT).exists():
        if not _at_work(target):
            raise DataError(
                f"there is no {place}; 'inweights finetune --keep-epochs' writes it next to "
                f"{target}"
            )
        time.sleep(every)
    try:
        return decode(
            About, msgspec.json.decode(read_text(place / _ABOUT), type=dict[str, Any])
        )
    except (msgspec.DecodeError, ConfigError) as error:
        raise DataError(f"{place / _ABOUT} is damaged: {error}") from None


def _after(place: Path, done: int) -> list[tuple[int, int, Path]]:
    """Return the stored epochs that have not been evaluated yet."""
    found = []
    for folder in place.iterdir():
        number, _, total = folder.name.partition("-of-")
        # Other names are those of the description, and of folders that are still being
        # written.
        if number.isdigit() and total.isdigit() and int(number) > done:
            found.append((int(number), int(total), folder))
    return sorted(found)


def _at_work(target: Path) -> bool:
    """Return whether a process is working on a fine-tuning run."""
    if not lock_of(target).exists():
        return False
    try:
        # The lock file of a killed process remains, so only a failed attempt to acquire
        # the lock shows that a process holds it.
        with FileLock(lock_of(target), timeout=0):
            return False
    except Timeout:
        return True
