"""Configs for other people's modules: for a factory that creates modules, and for trained ones.

:func:`~inweights.wrap` returns a :class:`WrapConfig` for a factory. :func:`as_model`
returns a model of trained modules, whose :class:`TrainedConfig` identifies the weights
by their hash; ``instances.py`` stores the modules. Nothing here imports torch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

from inweights.config import Config
from inweights.errors import ConfigError, check_names
from inweights.models.configs.model_config import Start
from inweights.models.outside.token_ids import Tokens, number_of, token_ids
from inweights.seeds import as_seeds
from inweights.support.keys.code import Code, code_of
from inweights.support.keys.content import fingerprint
from inweights.support.keys.named_files import files_of
from inweights.worlds.vocabulary import Vocabulary

if TYPE_CHECKING:
    from torch import nn

    from inweights.models.outside.trained_model import Trained
    from inweights.models.outside.wrapped import Wrapped


class WrapConfig(Config, tag_field="kind", tag="wrap"):
    """Config of a user's factory of modules; :func:`wrap` creates it.

    Attributes:
        factory: Reference to a function ``factory(vocabulary, **options)``.
        options: Keyword arguments of the factory.
        logits: Reference to a function ``logits(output)`` that returns the logits;
            ``None`` if the module's output is logits, or an object with ``.logits``.
    """

    factory: Code
    options: dict[str, Any] = {}
    logits: Code | None = None

    def build(self, **start: Unpack[Start]) -> Wrapped:
        """Build the model: call the factory once per seed, and stack the modules as replicas.

        The module draws its own initial values: torch, NumPy and ``random`` are seeded
        during the call of the factory, and their states are restored afterwards. The
        arguments are ``vocabulary`` (number of tokens) and ``seeds`` (root seeds, or
        their number); ``inits`` and ``candidates`` are ignored. All tokens have logits.
        A UserWarning is issued if the replicas cannot be called in a batch.

        Raises:
            ConfigError: There are no seeds, or one is not between 0 and ``2**63 - 1``;
                ``vocabulary`` is below 1; the factory fails, or returns the same module
                twice; or the module does not map token ids ``[B, T]`` to finite logits,
                uses randomness other than dropout, or stores batch statistics.
            Exception: Any error raised by the function ``logits``.
        """
        from inweights.models.outside.wrapped import Wrapped

        return Wrapped(
            self, vocabulary=start["vocabulary"], seeds=as_seeds(start["seeds"])
        )

    def load(
        self,
        path: str | Path,
        *,
        tokens: Tokens | None = None,
        vocabulary: Vocabulary | int | None = None,
        answers: Literal["first", "sum"] = "first",
    ) -> Trained:
        """Return the factory's module with the weights in a file, as a model.

        If a name has several token ids, a CautionWarning is issued.

        Args:
            path: A safetensors file: the module's ``state_dict``, or a file that
                :func:`~inweights.save_model` wrote (all of its replicas are read).
            tokens: The module's token ids, as ``{"ann": 17, "bob": [4, 2]}`` or as a
                list in the world's order; by default the ids of the world.
            vocabulary: The world's vocabulary, or its number of tokens. If ``tokens``
                is not given, this number is passed to the factory; by default it is the
                only number for which the shapes match the file.
            answers: Score of an answer with several ids: ``first`` (the score of the
                first id) or ``sum`` (the sum of the log-probabilities of all ids).

        Raises:
            DataError: The file cannot be read, its names or shapes do not match the
                module, or ``tokens`` do not match the world or the module.
            ConfigError: No number of tokens matches the file, or several do; the
                factory fails; or ``answers`` is unknown.

        Example:
            >>> import tempfile
            >>> from safetensors.torch import save_file
            >>> from torch import nn
            >>> def bigram(vocabulary):
            ...     return nn.Embedding(vocabulary, vocabulary)
            >>> path = Path(tempfile.mkdtemp()) / "weights.safetensors"
            >>> save_file(bigram(9).state_dict(), path)
            >>> import inweights as iw
            >>> iw.wrap(bigram).load(path).replicas
            1
        """
        from inweights.models.outside.weights_file import modules_from_file

        # If `tokens` is given, the module may have more tokens than the world.
        made_for = None
        if vocabulary is not None and tokens is None:
            made_for = number_of(vocabulary)
        modules = modules_from_file(self, str(path), made_for)
        read = None if self.logits is None else self.logits.load("output")
        return as_model(
            modules,
            logits=read,
            tokens=tokens,
            vocabulary=vocabulary,
            answers=answers,
            source=self,
            path=str(path),
        )

    @property
    def contents(self) -> dict[str, str]:
        """Hashes of the files that options name, keyed by path; DataError if it cannot read one."""
        return files_of(self.options)

    @property
    def make(self) -> Callable[[int], Any]:
        """Function that takes the number of tokens and calls the factory with its options.

        Raises:
            ConfigError: The factory is not in an imported module, or has changed.
        """
        return partial(self.factory.load("vocabulary"), **deepcopy(self.options))

    @property
    def label(self) -> str:
        """Name of the model in tables: the option ``model_type`` if set, or the factory's name."""
        name = self.factory.at.rpartition(":")[2].rpartition(".")[2]
        return str(self.options.get("model_type", name.strip("<>")))


class TrainedConfig(Config, tag_field="kind", tag="trained"):
    """Config of trained modules, created by :func:`inweights.wrap` or :meth:`WrapConfig.load`.

    The weights of the modules are the initial values of the model.

    Attributes:
        label: Name of the modules' class.
        weights: Hash of the content of each module (its tensors, settings and source
            code), one for each replica.
        vocabulary: Number of tokens of the worlds that the model reads.
        outputs: Number of tokens for which the module itself returns logits.
        tokens: The module's ids of the world's tokens; empty if the ids are the same.
        names: Names that the tokens of a world must have; empty if they are unknown.
        answers: Score of an answer with several ids: ``first`` (the score of the first
            id) or ``sum`` (the sum of the log-probabilities of all ids).
        logits: Reference to a function ``logits(output)`` that returns the logits;
            ``None`` if they can be found without it.
        source: Factory, if the weights were read from a file; otherwise ``None``.
        path: File of the weights; empty if they were not read from a file.
    """

    later = {"answers": "first"}

    label: str
    weights: tuple[str, ...]
    vocabulary: int
    outputs: int
    tokens: tuple[tuple[int, ...], ...] = ()
    names: tuple[str, ...] = ()
    answers: Literal["first", "sum"] = "first"
    logits: Code | None = None
    source: WrapConfig | None = None
    path: str = ""

    @property
    def idle(self) -> tuple[str, ...]:
        """Names of the fields that do not change the results of a run: ``source`` and ``path``."""
        return ("source", "path")

    @property
    def contents(self) -> dict[str, str]:
        """Hash of the weights file, keyed by its path; an unreadable file raises a DataError."""
        return {self.path: fingerprint(self.path)} if self.path else {}

    @property
    def only_here(self) -> bool:
        """Whether only this process can build the model, since its weights are not from a file."""
        return self.source is None

    def build(
        self,
        *,
        vocabulary: int,
        seeds: int | Sequence[int],
        inits: Any = None,
        candidates: Any = None,
    ) -> Trained:
        """Build copies of the modules, one replica per seed; nothing is drawn at random.

        Args:
            vocabulary: Number of tokens of the world.
            seeds: Root seed of each replica; a number ``n`` means the seeds 0 to
                ``n - 1``. If there is one module, each seed gets a copy of it. If there
                are several, a seed is the index of a module, counted from 0.
            inits: Ignored, since the initial values are the weights.
            candidates: Ignored, since all tokens of the world have logits.

        Raises:
            ConfigError: ``vocabulary`` differs from the config's, there are no seeds,
                a seed is not an index (with several modules), or a module is missing.
            DataError: The file of the weights cannot be read, or does not match.
        """
        del inits, candidates
        from inweights.models.outside.instances import modules_of
        from inweights.models.outside.several_tokens import tokens_differ
        from inweights.models.outside.trained_model import Trained

        if vocabulary != self.vocabulary:
            raise ConfigError(tokens_differ(self, vocabulary))
        return Trained(self, modules_of(self, self.places(as_seeds(seeds))))

    def places(self, seeds: Sequence[int]) -> list[int]:
        """Return the index of the module for each seed; always 0 if there is one module.

        Args:
            seeds: Root seeds; with several modules, indices of modules, counted from 0.

        Raises:
            ConfigError: There are several modules, and a seed is not the index of one.
        """
        count = len(self.weights)
        if count == 1:
            return [0] * len(seeds)
        beyond = [seed for seed in seeds if not 0 <= seed < count]
        if beyond:
            raise ConfigError(
                "for trained modules, each seed is the index of a module and must be from 0 to "
                f"{count - 1}, got {beyond[0]}; use seeds={count}"
            )
        return list(seeds)


def as_model(
    modules: nn.Module | Sequence[nn.Module],
    *,
    logits: Callable[[Any], Any] | None = None,
    tokens: Tokens | None = None,
    vocabulary: Vocabulary | int | None = None,
    answers: Literal["first", "sum"] = "first",
    source: WrapConfig | None = None,
    path: str = "",
) -> Trained:
    """Return a model with one replica for each trained module; see :func:`inweights.wrap`.

    Args:
        modules: One or more modules of one architecture.
        logits: Function that extracts the logits from a module's output, if needed.
        tokens: The module's ids, keyed by name or in the world's order; by default the
            ids of the world.
        vocabulary: The world's vocabulary, or its number of tokens; by default the
            number of ``tokens`` or, without ``tokens``, the module's number of tokens.
        answers: Score of an answer with several ids: ``first`` (the score of the first
            id) or ``sum`` (the sum of the log-probabilities of all ids).
        source: Factory, if the weights were read from a file; otherwise ``None``.
        path: File of the weights; empty if they were not read from a file.

    Raises:
        ConfigError: The modules are not of one architecture, cannot be replicas, or do
            not map token ids to finite logits; or ``answers`` is unknown.
        DataError: ``tokens`` and ``vocabulary`` do not match each other or the module.
    """
    from inweights.models.outside.instances import keep, modules_of, outputs_of
    from inweights.models.outside.trained_model import Trained

    check_names("value of answers", [answers], ("first", "sum"))
    label = "" if source is None else source.label
    weights, label = keep(modules, label)
    size = outputs_of(weights[0], logits, label)
    names, ids = token_ids(tokens, vocabulary, size, label)
    config = TrainedConfig(
        label=label,
        weights=weights,
        vocabulary=len(ids) or number_of(vocabulary, size),
        outputs=size,
        tokens=ids,
        names=names,
        answers=answers,
        logits=None if logits is None else code_of(logits),
        source=source,
        path=path,
    )
    return Trained(config, modules_of(config, range(len(weights))))
