"""Two examples of each command, which ``--help`` shows below its first sentence."""

from pathlib import Path

from cyclopts import App

from inweights.config import load_toml

EXAMPLES: dict[str, list[str]] = load_toml(Path(__file__).with_suffix(".toml"))


def add_examples(app: App) -> None:
    """Put the examples below the first sentence of each command's help."""
    for name, lines in EXAMPLES.items():
        first, _, rest = app[name].help.partition("\n")
        shown = "\n".join(f"    {line}" for line in lines)
        app[name].help = f"{first}\n\n    ```sh\n{shown}\n    ```\n{rest}"
