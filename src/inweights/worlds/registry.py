"""Kinds of worlds by name, for files and the command line; users can register further ones.

:func:`open_world` builds a world by the name of its kind, or reads a folder or file.
The config :class:`Altered`, which changes another world, is also defined here, as it
refers to that world by its kind.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, cast

import msgspec

from inweights.config import Config, apply_overrides, decode, to_plain
from inweights.config.kinds import Kinds
from inweights.errors import ConfigError, DataError, check_names, unknown_name
from inweights.seeds import WORLD, Streams
from inweights.support.limits import missing_file
from inweights.worlds.families.analogy import AnalogicalTwoHop, Analogy
from inweights.worlds.families.graphs.graph import Graph
from inweights.worlds.families.hops import Hops
from inweights.worlds.families.implication import Implication
from inweights.worlds.families.in_context import InContextStar
from inweights.worlds.families.own_path_star import OwnPathStar
from inweights.worlds.families.path_star import PathStar
from inweights.worlds.families.random_facts import RandomFacts
from inweights.worlds.families.reversal import Reversal
from inweights.worlds.families.storage import load_world
from inweights.worlds.families.two_hop import TwoHop
from inweights.worlds.knowledge.knowledge import is_source
from inweights.worlds.knowledge.triples import Triples
from inweights.worlds.world import Statements, World


class WorldConfig(Protocol):
    """Interface of the config of a world; its method ``build`` builds the world."""

    def build(self, seed: int = 0) -> World:
        """Build the world.

        Args:
            seed: Root seed of all random choices, from 0 to 2**63 - 1.

        Raises:
            ConfigError: The settings are invalid, the world does not fit in memory,
                or the world uses the seed and the seed is out of range.
            DataError: A file of the world is missing or damaged.
        """
        ...


_KINDS = Kinds(
    "world",
    [
        TwoHop,
        Hops,
        Reversal,
        Implication,
        RandomFacts,
        Graph,
        PathStar,
        OwnPathStar,
        InContextStar,
        Triples,
        Analogy,
        AnalogicalTwoHop,
    ],
    {"build": "a method build(seed)"},
)


def world_names() -> tuple[str, ...]:
    """Return the names of all kinds of worlds: the built-in ones, then the registered ones."""
    return tuple(_KINDS)


def world_kind(name: str) -> type[msgspec.Struct]:
    """Return the config class of a kind of world.

    Args:
        name: Name of the kind, such as ``two-hop``.

    Raises:
        ConfigError: There is no kind with this name.
    """
    return _KINDS.find(name)


def register_world(kind: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """Register a config class as a kind of world, under its tag; usable as a decorator.

    Args:
        kind: A config class with a tag (the name of the kind) and a method
            ``build(seed)``.

    Returns:
        The class itself.

    Raises:
        ConfigError: The class has no tag or no method ``build``, or another class has
            the same tag.
    """
    return _KINDS.add(kind)


class Altered(Config, tag_field="kind", tag="altered"):
    """A world with the vocabulary and queries of another world, but with altered facts.

    Attributes:
        of: Config of the other world. A dictionary with the ``kind`` and the settings
            of that world is converted to a config. :meth:`build` requires this
            attribute.
        shuffled: Whether the answers of the facts are permuted among facts with the
            same role and the same numbers of tokens in prompt and answer.
        without: Names of the roles whose facts are left out, joined by ``+``. If empty,
            no facts are left out.

    Raises:
        ConfigError: ``of`` is not the config of a world; or it is a dictionary that
            lacks ``kind``, or has an unknown kind or an invalid setting.

    Example:
        >>> from inweights.worlds import TwoHop
        >>> Altered(of=TwoHop(n=4), without="identity").build().facts
        Statements(8: 4 first_hop, 4 second_hop)
    """

    of: Any = None
    shuffled: bool = False
    without: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.of, Mapping):
            values = dict(self.of)
            if "kind" not in values:
                raise ConfigError(
                    "altered: the setting 'of' needs a kind, for example "
                    'of = { kind = "two-hop" }'
                )
            found = decode(world_kind(str(values["kind"])), values)
            msgspec.structs.force_setattr(self, "of", found)
        if self.of is not None and not hasattr(self.of, "build"):
            raise ConfigError(
                f"altered: 'of' must be the config of a world, got {self.of!r}"
            )

    @property
    def contents(self) -> Mapping[str, str]:
        """Dictionary from the path of each file that the world of :attr:`of` reads to its hash.

        The hashes become part of a run's key. The dictionary is empty if that world
        reads no files, or if :attr:`of` is ``None``.

        Raises:
            DataError: A file cannot be read.
        """
        return getattr(self.of, "contents", {})

    def build(self, seed: int = 0) -> World:
        """Build the world of :attr:`of` with this seed, and return it with altered facts.

        The returned world has the name of the world of :attr:`of`, and the settings of
        this config.

        Args:
            seed: Root seed with which the world of :attr:`of` is built and the answers
                are permuted, from 0 to 2**63 - 1.

        Raises:
            ConfigError: ``of`` is ``None``, neither ``shuffled`` nor ``without`` is
                set, the seed is out of range, or the world of :attr:`of` cannot be
                built with its settings.
            DataError: A role in ``without`` has no facts, no fact remains, or a file of
                the world of :attr:`of` is missing or damaged.
        """
        if self.of is None or not (self.shuffled or self.without):
            raise ConfigError(
                "altered: 'of' (the config of a world) must be set, and so must at least "
                "one of 'shuffled' and 'without'"
            )
        world = cast(WorldConfig, self.of).build(seed)
        facts = world.facts
        without = self.without.split("+") if self.without else []
        check_names("role", without, facts.role_names, error=DataError)
        names = [name for name in facts.role_names if name not in without]
        if not names:
            raise DataError(
                f"no fact remains after removing the roles {', '.join(without)}"
            )
        rng = Streams(seed).numpy(WORLD, "altered")
        altered = Statements.build({})
        for name in names:
            for _, prompts, answers in facts.by_shape(facts.with_role(name)):
                # Only among statements of one shape, so that each answer keeps its
                # number of tokens.
                order = rng.permutation(len(answers)) if self.shuffled else slice(None)
                part = Statements.build({name: (prompts, answers[order])})
                altered = altered.joined(part)
        return replace(world, facts=altered, settings=to_plain(self))


_KINDS["altered"] = Altered


def open_world(name: str | Path, overrides: Sequence[str] = (), seed: int = 0) -> World:
    """Build a world by the name of its kind, or read one from a folder or a file of facts.

    Args:
        name: A kind, such as ``two-hop``; a folder that :func:`save_world` wrote; or a
            source of facts: the path of a file, the address of a database, ``@people``,
            or a data set of the Hugging Face hub as ``owner/name`` (see
            :class:`Triples`).
        overrides: Changes to the settings of the kind, each as ``key=value``; for a
            source of facts, these are the settings of :class:`Triples`, such as
            ``columns=1,3,2``.
        seed: Root seed, from 0 to 2**63 - 1; has no effect on a stored world.

    Returns:
        The world, with its facts and queries.

    Raises:
        ConfigError: The name is not one of these, a setting is unknown or its value is
            invalid, or a required setting is missing (``query=…`` for a database,
            ``download=true`` for a data set).
        DataError: The folder or file is missing or damaged, it is unclear whether the
            first row of a file is a header (``UnclearHeaderError``), or ``overrides``
            are given for a stored world.

    Example:
        >>> open_world("two-hop", ["n=4"])
        World('two-hop', 14 tokens, 12 facts, 4 queries, seed=0)
    """
    if str(name) in _KINDS:
        config = apply_overrides(_KINDS[str(name)](), overrides)
        return cast(WorldConfig, config).build(seed)
    if Path(name).is_dir():
        if overrides:
            raise DataError(
                f"{name} is a stored world, whose settings cannot be changed"
            )
        return load_world(name)
    if is_source(str(name)):
        # Encoded as JSON, so that a path with quotes or spaces is a single value.
        path = f"path={json.dumps(str(name))}"
        return open_world("triples", [path, *overrides], seed)
    if Path(name).suffix or "/" in str(name):
        raise missing_file(
            name, "expected a kind of world, a folder or a file of facts"
        )
    hint = "Or name a folder with a world, or a file of facts."
    raise unknown_name("world", str(name), world_names(), hint=hint)
