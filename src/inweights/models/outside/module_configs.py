"""Configs of other people's modules: a factory that makes them, or trained modules.

:func:`~inweights.wrap` makes a :class:`WrapConfig` of a factory. From trained modules,
:func:`as_model` makes a model, whose :class:`TrainedConfig` identifies the weights by
their hash; the modules are stored in this process (``instances.py``). Nothing here
imports torch.
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
    """A factory of modules as an architecture; :func:`wrap` makes it.

    Attributes:
        factory: Function ``factory(vocabulary, **options)`` that returns a new module.
        options: Keyword arguments of the factory.
        logits: Function ``logits(output)`` that returns the logits; needed only if the
            module's output is neither logits nor an object with ``.logits``.
    """

    factory: Code
    options: dict[str, Any] = {}
    logits: Code | None = None

    def build(self, **start: Unpack[Start]) -> Wrapped:
        """Build the model, one replica per seed, each a new module of the factory.

        The module draws its own initial values: torch, NumPy and ``random`` are seeded
        during the call of the factory, and restored. The arguments are those of
        :meth:`~inweights.models.ModelConfig.build`; ``inits`` and ``candidates`` have
        no effect, and there are logits for all tokens.

        Raises:
            ConfigError: There are no seeds, ``vocabulary`` is below 1, the factory
                fails or returns one module twice, the module does not map token ids
                ``[B, T]`` to logits, or its replicas cannot be trained apart.
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
        """Return the factory's module with the weights of a file, as a model.

        Args:
            path: A safetensors file: the module's ``state_dict`` under its own names,
                or a file that :func:`~inweights.save_model` wrote, with all of its
                replicas.
            tokens: Token ids of each name of the world, as in :func:`wrap`.
            vocabulary: The world's vocabulary, or its number of tokens, as in
                :func:`wrap`. Without ``tokens`` it is also the number of tokens that
                the factory receives; by default, this is the only number for which the
                shapes match those of the file.
            answers: ``first`` or ``sum``, as in :func:`wrap`.

        Raises:
            DataError: The file cannot be read, or its names or shapes are not those of
                the module; or ``tokens`` do not fit, as in :func:`wrap`.
            ConfigError: No, or more than one, number of tokens fits, or the factory
                fails.

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

        # Where tokens are given, the module may know more of them than the world has.
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
        """Hash of each file that an option names, by path; DataError if one cannot be read."""
        return files_of(self.options)

    @property
    def make(self) -> Callable[[int], Any]:
        """Function of the number of tokens that calls the factory with its options.

        Raises:
            ConfigError: The factory is not in an imported module, or has changed.
        """
        return partial(self.factory.load("vocabulary"), **deepcopy(self.options))

    @property
    def label(self) -> str:
        """Name of the model in tables: that of the factory, or ``model_type`` of transformers."""
        name = self.factory.at.rpartition(":")[2].rpartition(".")[2]
        return str(self.options.get("model_type", name.strip("<>")))


class TrainedConfig(Config, tag_field="kind", tag="trained"):
    """Trained modules as an architecture, whose initial values are their weights.

    :func:`inweights.wrap` and :meth:`WrapConfig.load` make it; it is not written by
    hand.

    Attributes:
        label: Name of the modules' class.
        weights: Hash of the content of each module (its numbers, settings and source),
            one for each replica.
        vocabulary: Number of tokens of the worlds that it reads.
        outputs: Number of tokens for which the module itself returns logits.
        tokens: The module's token ids of each token of the world; empty if both are the
            same.
        names: Names of the world's tokens, if they were given; a world with other names
            is an error.
        answers: Score of names of several ids as answers: ``first`` or ``sum``, as in
            :func:`inweights.wrap`.
        logits: Function ``logits(output)`` that returns the logits; ``None`` if they
            can be found without it.
        source: The factory (:class:`WrapConfig`) of modules whose weights were read
            from a file; ``None`` for modules that were given directly.
        path: File of the weights; empty for modules that were given directly.
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
        """Names of the fields that do not change the results of a run, ``source`` and ``path``."""
        return ("source", "path")

    @property
    def contents(self) -> dict[str, str]:
        """Hash of the file of weights, if there is one, by its path; DataError if unreadable."""
        return {self.path: fingerprint(self.path)} if self.path else {}

    @property
    def only_here(self) -> bool:
        """Whether only this process can build the modules, since they were given as instances."""
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
            inits: Unused, since the initial values are the weights.
            candidates: Unused, since there are logits for all tokens of the world.

        Raises:
            ConfigError: The module reads another number of tokens, a seed is not the
                index of a module, there are no seeds, or the modules exist neither in
                this process nor in their file.
            DataError: The file of the weights cannot be read, or does not fit the
                module.
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
            seeds: Root seeds; of several modules, each is the index of one, from 0.

        Raises:
            ConfigError: A seed is not the index of a module.
        """
        count = len(self.weights)
        if count == 1:
            return [0] * len(seeds)
        beyond = [seed for seed in seeds if not 0 <= seed < count]
        if beyond:
            raise ConfigError(
                "a seed of trained modules must be the index of one of them, from 0 to "
                f"{count - 1}, got {beyond[0]}; write seeds={count}"
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
    """Return trained modules as a model, one replica each; see :func:`inweights.wrap`.

    Args:
        modules: One module, or several of one architecture.
        logits: Function of a module's output, as in :func:`inweights.wrap`.
        tokens: The module's token ids of the world's names.
        vocabulary: The world's vocabulary, or its number of tokens.
        answers: ``first`` or ``sum``, as in :func:`inweights.wrap`.
        source: The factory of modules whose weights were read from a file.
        path: Path of this file; empty without one.

    Raises:
        ConfigError: The modules are not of one architecture, cannot be replicas, or do
            not read token ids; or ``answers`` is another word.
        DataError: ``tokens`` or ``vocabulary`` do not fit each other or the module, as
            in :func:`inweights.wrap`.
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
