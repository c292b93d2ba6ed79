"""Write the list of commands that ``inweights --help`` prints, grouped by purpose.

:data:`GROUPS` contains each command once, with the file that registers it and a
summary, and :func:`overview` writes the list as text. Neither of them imports a
command, or a library that parses or prints.
"""

import textwrap
from typing import NamedTuple

#: Words that print the list if they are the only ones.
HELP = frozenset({"--help", "-h"})


class Command(NamedTuple):
    """An entry in the list of commands.

    Attributes:
        file: Module of ``inweights.cli.commands`` that registers the command.
        summary: Short description of the command.
    """

    file: str
    summary: str


#: Commands by name, in groups, each in the order in which it is usually used.
GROUPS: dict[str, dict[str, Command]] = {
    "Papers": {
        "list": Command("catalogue", "list recipes: figures and tables of the papers"),
        "describe": Command("catalogue", "show what a recipe states, costs and sets"),
        "run": Command(
            "experiments", "run a recipe: figures, a page, a verdict on every claim"
        ),
        "show": Command("results", "show the claims of a finished run, and its page"),
        "verify": Command(
            "verdicts", "show the verdicts of every recipe, or the claims of one"
        ),
        "claims": Command(
            "catalogue", "state claims before they are run; show their history"
        ),
        "cite": Command(
            "catalogue", "print BibTeX entries of the papers and of the project"
        ),
        "demo": Command(
            "experiments", "show the effect of identities on two-hop reasoning"
        ),
    },
    "Studies of your own": {
        "examples": Command(
            "first", "write files to start with: facts, edges, a study"
        ),
        "world": Command("facts", "build a world; show it, or write it as a data set"),
        "sweep": Command("experiments", "run a study that a TOML file describes"),
        "new": Command("first", "write a recipe, world, probe or study of your own"),
        "runs": Command("results", "list finished runs, newest first"),
        "compare": Command("results", "compare two runs: verdicts, scores, settings"),
        "export": Command(
            "results",
            "export a run: figures, claims, tables, a logbook page",
        ),
    },
    "Facts of your own": {
        "audit": Command(
            "facts", "show what can be composed from facts, and what prevents it"
        ),
        "predict": Command(
            "facts", "predict what a model trained on facts will answer"
        ),
        "augment": Command(
            "augment", "write training data, held-out questions and a control"
        ),
        "finetune": Command(
            "language", "fine-tune a pretrained language model on facts"
        ),
        "evaluate": Command(
            "language", "evaluate a language model on facts and their consequences"
        ),
        "gguf": Command("language", "write a language model for llama.cpp"),
        "compare-training": Command(
            "comparisons", "compare ways of teaching facts to a language model"
        ),
    },
    "Graphs and models of your own": {
        "atlas": Command("graphs", "show in 3-D how models store your graphs"),
        "explore": Command(
            "graphs", "write a page that trains a small model in the browser"
        ),
        "models": Command(
            "catalogue", "list the trained models that come with the library"
        ),
        "ask": Command("first", "ask a stored model one question"),
        "league": Command(
            "comparisons", "compare a model of your own with stored results"
        ),
    },
    "Machines": {
        "doctor": Command(
            "first", "show what is installed, and what features still need"
        ),
        "plan": Command(
            "machines", "write the tasks of a recipe, for any number of machines"
        ),
        "work": Command("machines", "run tasks of a plan, along with other workers"),
        "status": Command("machines", "show the progress of a plan"),
    },
}
COMMANDS: dict[str, Command] = {}
for _group in GROUPS.values():
    COMMANDS |= _group
#: First commands to try, and what they show.
_START = {
    "inweights demo": "the effect of identities, in a minute",
    "inweights list": "figures and tables of the papers",
    "inweights run identity-bridge/fig2": "one of them: figures, page, verdicts",
    "inweights examples": "write files to start with",
    "inweights audit examples/facts.csv": "what can be composed of facts",
    "inweights sweep examples/study.toml": "a study of your own",
}
_ABOUT = "Train a sequence model on facts, and find out whether it combines them."
#: Options of the program itself, and those that every command takes.
_OPTIONS = {
    "--help, -h": "show this list; after a command, its options",
    "--version": "show the version",
    "--install-completion": "install completion for this shell",
    "--debug": "show the traceback of an error",
    "--verbose, --log-file": "write a log to the error stream; to the FILE named",
    "--max-memory 8GB": "reject work that needs more memory, before it starts",
}


def overview(width: int = 80) -> str:
    """Return the list of commands as a string, grouped by purpose.

    Args:
        width: Maximum number of characters per line, 80 by default. Values below 40 are
            treated as 40.

    Returns:
        The usage line, followed by a title and one entry per command for each group of
        commands. There is no line break at the end.

    Example:
        >>> print(overview(60).splitlines()[0])
        Usage: inweights COMMAND
    """
    width = max(width, 40)
    sections = {"Start here": _START}
    for title, group in GROUPS.items():
        sections[title] = {name: command.summary for name, command in group.items()}
    sections["Options"] = _OPTIONS
    lines = ["Usage: inweights COMMAND", "", *textwrap.wrap(_ABOUT, width)]
    longest = max(map(len, COMMANDS))
    for title, entries in sections.items():
        left = max(longest, *map(len, entries)) + 4
        lines += ["", f"{title}:", *_columns(entries, left, width)]
    return "\n".join(lines)


def _columns(entries: dict[str, str], left: int, width: int) -> list[str]:
    """Return lines with names on the left and their wrapped texts in a second column."""
    below = left > width // 2  # if true, each text is printed below its name
    indent = " " * (6 if below else left)
    lines: list[str] = []
    for name, text in entries.items():
        wrapped = textwrap.wrap(
            text, width, initial_indent=indent, subsequent_indent=indent
        )
        if below:
            lines += [f"  {name}", *wrapped]
        else:
            first, *rest = wrapped
            lines += [f"  {name}".ljust(left) + first[left:], *rest]
    return lines
