"""Define the commands of the command line, in one file per subject, imported when needed.

:func:`do` runs a command and imports only its file. The list of all commands is in
:mod:`inweights.cli.overview`.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from cyclopts import App, CycloptsError

from inweights.cli.commands import base
from inweights.cli.overview import COMMANDS
from inweights.cli.wrong_words import explain
from inweights.errors import ConfigError

__all__ = ["complete_app", "do"]

_with_examples = set[str]()


def do(words: Sequence[str]) -> Any:
    """Load the plugins named in the arguments, and run a command.

    Args:
        words: Command-line arguments, without the program's name: the name of the
            command, followed by its arguments and options. At least one string.

    Returns:
        The value that the command returned: an exit code, or ``None`` for success. If
        ``--help`` or ``--version`` is given, the value has no meaning.

    Raises:
        ConfigError: There is no such command or option, a value is invalid, or a plugin
            cannot be loaded.
        InweightsError: The command failed. Any other exception of the command
            propagates, too.
    """
    command = COMMANDS.get(words[0])
    # If the first word is an option or an unknown command, all commands are registered,
    # so that the message can list them.
    if command is None:
        complete_app()
    else:
        _register(command.file)
    try:
        run, bound, _ = base.app.parse_args(
            # Wrong options raise an error, like other wrong input, instead of ending
            # the process.
            words,
            exit_on_error=False,
            print_error=False,
        )
    except CycloptsError as error:
        raise ConfigError(explain(error)) from error
    # Adds the groups of options of which no option was given.
    bound.apply_defaults()
    for group in bound.arguments.values():
        if isinstance(group, base.Common):
            from inweights.support.plugins import load_plugins

            load_plugins(group.plugin)
    return run(*bound.args, **bound.kwargs)


def complete_app() -> App:
    """Return the command-line application with all commands and their examples."""
    for command in COMMANDS.values():
        _register(command.file)
    return base.app


def _register(file: str) -> None:
    """Import a file of commands, and add two examples to the help of each."""
    from inweights.cli.examples import add_examples

    import_module(f"{__name__}.{file}")
    if file not in _with_examples:
        _with_examples.add(file)
        add_examples(
            base.app, [name for name, one in COMMANDS.items() if one.file == file]
        )
