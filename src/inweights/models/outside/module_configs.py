"""Configs of other people's modules: a factory that makes them, or trained ones with their weights.

:func:`~inweights.wrap` makes a :class:`WrapConfig` of a factory. Of modules that are
trained,
:func:`as_model` makes a model, whose :class:`TrainedConfig` names the weights by their
content and holds none; the modules themselves are kept by this process
(``instances.py``). It loads no torch.
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
        factory: ``factory(vocabulary, **options)`` returns a new module.
        options: Its keyword arguments.
        logits: ``logits(output)`` returns the logits, where the module's output is not
            theirs.
    """

    factory: Code
    options: dict[str, Any] = {}
    logits: Code | None = None

    def build(self, **start: Unpack[Start]) -> Wrapped:
        """Build the model, one replica a seed; it seeds torch, NumPy and ``random`` meanwhile.

        The initialisation is the module's own, and it gives logits for all tokens:
        ``inits`` and ``candidates`` are unused.

        Raises:
            ConfigError: The module does not read ``[B, T]`` tokens and give their
                logits, or cannot be trained replica by replica; says why.
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
                or what
                :func:`~inweights.save_model` wrote, with all of its replicas.
            tokens: As of :func:`wrap`.
            vocabulary: As of :func:`wrap`, and the number of tokens that the factory is
                given. By default, it is the only number for which the shapes match
                those of the file.
            answers: As of :func:`wrap`.

        Raises:
            DataError: The file cannot be read, or its names or shapes are not the
                module's.
            ConfigError: Several numbers of tokens fit, or the factory fails.

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
        """The hash of each file that an option names."""
        return files_of(self.options)

    @property
    def make(self) -> Callable[[int], Any]:
        """The factory with its options."""
        return partial(self.factory.load("vocabulary"), **deepcopy(self.options))

    @property
    def label(self) -> str:
        """Name of the model in tables."""
        name = self.factory.at.rpartition(":")[2].rpartition(".")[2]
        return str(self.options.get("model_type", name.strip("<>")))


class TrainedConfig(Config, tag_field="kind", tag="trained"):
    """Trained modules as an architecture, whose start is their weights.

    :func:`inweights.wrap` and :meth:`WrapConfig.load` make it; it is not written by
    hand.

    Attributes:
        label: Name of the modules' class.
        weights: Hash of the content of each module, one for each replica: its numbers,
            settings and source.
        vocabulary: Number of tokens of a world that it reads.
        outputs: Number of tokens for which the module itself returns logits.
        tokens: The module's token ids of each token of the world; empty where both are
            the same.
        names: Names of the world's tokens, where they were given; another world is
            refused.
        answers: Of names of several ids: ``first``: they count as answers by their
            first id; ``sum``: by the sum of the log-probabilities of all.
        logits: ``logits(output)`` returns the logits, where the module's output is not
            theirs.
        source: The factory (:class:`WrapConfig`) of modules whose weights were read
            from a file; ``None`` for modules that were given directly.
        path: That file; empty without one.
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
        """Names of the fields that do not change a run: only the weights' values do."""
        return ("source", "path")

    @property
    def contents(self) -> dict[str, str]:
        """Hash of the file of weights, by its path; empty for modules given directly."""
        return {self.path: fingerprint(self.path)} if self.path else {}

    @property
    def only_here(self) -> bool:
        """Whether no other process can make the modules: they were given as instances."""
        return self.source is None

    def build(
        self,
        *,
        vocabulary: int,
        seeds: int | Sequence[int],
        inits: Any = None,
        candidates: Any = None,
    ) -> Trained:
        """Build copies of the modules, one replica a seed; nothing is drawn.

        Args:
            vocabulary: Number of tokens of the world.
            seeds: Of one module every seed gets a copy. Of several, a seed is the place
                of one: 0 the first, and so on.
            inits: Unused: the start is the weights.
            candidates: Unused: there are logits for all tokens of the world.

        Raises:
            ConfigError: The module reads another number of tokens, a seed is not the
                index of a module, or the modules do not exist in this process.
        """
        del inits, candidates
        from inweights.models.outside.instances import modules_of
        from inweights.models.outside.several_tokens import tokens_differ
        from inweights.models.outside.trained_model import Trained

        if vocabulary != self.vocabulary:
            raise ConfigError(tokens_differ(self, vocabulary))
        return Trained(self, modules_of(self, self.places(as_seeds(seeds))))

    def places(self, seeds: Sequence[int]) -> list[int]:
        """Return the place of the module that each seed represents.

        Raises:
            ConfigError: A seed is not the place of one of the modules.
        """
        count = len(self.weights)
        if count == 1:
            return [0] * len(seeds)
        beyond = [seed for seed in seeds if seed >= count]
        if beyond:
            raise ConfigError(
                f"a seed is the place of one of the {count} trained modules, 0 to {count - 1}, got "
                f"{beyond[0]}; write seeds={count}"
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
        logits: As of :func:`inweights.wrap`.
        tokens: The module's token ids of the world's names.
        vocabulary: The world's vocabulary, or its number of tokens.
        answers: As of :func:`inweights.wrap`.
        source: The factory that made the modules, where their weights are of a file.
        path: That file.

    Raises:
        ConfigError: They are not modules of one architecture, or do not read token ids.
        DataError: A name of the vocabulary has no token id, or an id is none of the
            module.
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
