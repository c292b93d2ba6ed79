"""Add two examples to the help text of each command, below its first sentence."""

from collections.abc import Iterable
from pathlib import Path

from cyclopts import App

from inweights.config import load_toml

EXAMPLES: dict[str, list[str]] = load_toml(Path(__file__).with_suffix(".toml"))


def add_examples(app: App, names: Iterable[str]) -> None:
    """Insert the examples of commands into their help texts, below the first sentence.

    Args:
        app: The application with the commands; its help texts are modified in place.
        names: Names of the commands. ``examples.toml`` contains the examples of each.

    Raises:
        KeyError: A command has no examples in ``examples.toml``.
    """
    for name in names:
        lines = EXAMPLES[name]
        first, _, rest = app[name].help.partition("\n")
        shown = "\n".join(f"    {line}" for line in lines)
        app[name].help = f"{first}\n\n    ```sh\n{shown}\n    ```\n{rest}"
