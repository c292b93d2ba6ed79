"""Look up config classes by the tag that files specify as ``kind``; users can register their own.

:class:`Kinds` is the registry behind worlds, models and learners.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from inweights.errors import ConfigError, check_names


class Kinds(dict[str, type[Any]]):
    """A registry of config classes: a dictionary from tag to class.

    Args:
        what: Kind of objects that the configs describe: ``world``, ``model`` or
            ``learner``.
        known: The library's own classes. A class without a tag is registered under its
            name in lower case.
        members: Names of the attributes and methods that a class must have to be
            registered by :meth:`add`, each with a description for error messages.
    """

    def __init__(
        self, what: str, known: Iterable[type[Any]], members: Mapping[str, str]
    ) -> None:
        """Register the library's own classes.

        Args:
            what: Kind of objects that the configs describe, such as ``world``.
            known: The classes. A class without a tag is registered under its name in
                lower case.
            members: Names of the attributes and methods that a class must have to be
                registered by :meth:`add`, each with a description for error messages.
        """
        # In files, a class without a tag is the default kind. Here, its name is its
        # tag.
        super().__init__(
            {
                kind.__struct_config__.tag or kind.__name__.lower(): kind
                for kind in known
            }
        )
        self._what = what
        self._members = members

    def find(self, name: str) -> type[Any]:
        """Return the config class that has the given tag.

        Args:
            name: The tag, such as ``gpt``.

        Raises:
            ConfigError: No class has this tag. The message suggests the most similar
                tag.
        """
        hint = f"To add your own {self._what}, call register_{self._what} with its config class."
        check_names(self._what, [name], self, hint=hint)
        return self[name]

    def add(self, kind: type[Any]) -> type[Any]:
        """Register a config class under its tag; can be used as a decorator.

        Args:
            kind: The config class, with a tag and the members that this registry
                requires.

        Returns:
            The class itself, unchanged.

        Raises:
            ConfigError: The class has no tag or lacks a required member, or another
                class has this tag. If that class has the same module and name, it is
                replaced without an error, as when a notebook cell is run again.
        """
        name = getattr(getattr(kind, "__struct_config__", None), "tag", None)
        if not isinstance(name, str) or not all(
            hasattr(kind, one) for one in self._members
        ):
            needed = " and ".join(self._members.values())
            raise ConfigError(
                f"{kind.__name__} must declare a tag in its class definition, as in "
                f"tag_field='kind', and define {needed}"
            )
        known = self.get(name, kind)
        # A module that is run again, as in a notebook, defines the same class again.
        if (known.__module__, known.__qualname__) != (
            kind.__module__,
            kind.__qualname__,
        ):
            raise ConfigError(
                f"a {self._what} '{name}' already exists; choose another tag"
            )
        self[name] = kind
        return kind
