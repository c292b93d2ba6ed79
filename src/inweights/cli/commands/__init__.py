"""The commands of the command line, one file for each subject, imported when it is needed.

:func:`do` runs a command and imports its file alone. The list that ``inweights --help`` prints
imports none: :data:`COMMANDS` has each command's group and first sentence.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from cyclopts import App

from inweights.cli.commands import base

__all__ = ["COMMANDS", "complete_app", "do"]

#: Each command, the file that registers it, and the first sentence of its docstring.
COMMANDS: dict[str, tuple[str, str]] = {
    "ask": (
        "first",
        "Ask a stored model one question: the first answers of each replica, with probabilities.",
    ),
    "atlas": (
        "graphs",
        "Show how models store graphs: writes an interactive 3-D page, and a verdict.",
    ),
    "audit": (
        "facts",
        "Examine a file of facts: what can be composed, what prevents it, what to add.",
    ),
    "augment": (
        "augment",
        "Write training data for a file of facts, with held-out questions and a control.",
    ),
    "cite": ("catalogue", "Print BibTeX entries of the project and of a recipe's paper."),
    "claims": ("catalogue", "State claims before they are run, and see what became of them."),
    "compare": ("results", "Compare two runs: verdicts, scores, and different settings."),
    "compare-training": (
        "comparisons",
        "Compare ways to give a language model facts: fine-tuned in three, retrieved, untrained.",
    ),
    "demo": (
        "experiments",
        "Show the effect of identities on two-hop reasoning, in about a minute.",
    ),
    "describe": (
        "catalogue",
        "Describe a recipe: what it shows, its cost, and every setting by scale.",
    ),
    "doctor": (
        "first",
        "Show what is installed here, where runs are stored, and what to install for what.",
    ),
    "evaluate": (
        "language",
        "Evaluate a language model on facts and what follows: by candidates and generated answers.",
    ),
    "examples": ("first", "Write files to start from: facts.csv, edges.csv and study.toml."),
    "explore": (
        "graphs",
        "Write an interactive page that trains a small model in the browser, offline.",
    ),
    "export": (
        "results",
        "Export a run for a paper: figures as PDF, claims as LaTeX, tables as CSV.",
    ),
    "finetune": (
        "language",
        "Fine-tune a pretrained language model on facts; an interrupted run continues when "
        "repeated.",
    ),
    "league": (
        "comparisons",
        "Run the league's table for a model of your own, and print its row beside the stored ones.",
    ),
    "list": ("catalogue", "List recipes, one line each."),
    "models": (
        "catalogue",
        "List the trained models that come with the library; iw.load(NAME) opens one.",
    ),
    "new": (
        "first",
        "Write a recipe, world, probe or study of your own that works, with its test.",
    ),
    "plan": (
        "machines",
        "Write the tasks of a recipe to a plan, for 'inweights work' on any number of machines.",
    ),
    "predict": (
        "facts",
        "Predict what a model trained on these facts will answer, without training it.",
    ),
    "run": ("experiments", "Run a recipe: figures, a page, and a verdict on every claim."),
    "runs": ("results", "List finished runs, newest first, with changed settings and dates."),
    "show": ("results", "Show the claims of a finished run, and the path of its page."),
    "status": ("machines", "Show the progress of a plan, read from its files."),
    "sweep": (
        "experiments",
        "Run the study described by a TOML file: a world, model and learner, varied; writes a "
        "page.",
    ),
    "verify": (
        "results",
        "Show the results table: verdicts of every recipe, or the claims of one.",
    ),
    "work": (
        "machines",
        "Run tasks of a plan, along with any number of other workers, until none is left.",
    ),
    "world": (
        "facts",
        "Build a world and show it, or write it as Parquet and JSON (also a Hugging Face dataset).",
    ),
}
HELP = {"--help", "-h"}
_with_examples = set[str]()


def do(words: Sequence[str]) -> Any:
    """Run a command.

    Args:
        words: The command and its options; none, or ``--help`` alone, for the list of
            commands.

    Returns:
        What the command returned: an exit code, or None.
    """
    if HELP.issuperset(words):
        return base.do(words, overview())
    file, _ = COMMANDS.get(words[0], (None, ""))
    if file is None:  # an option, or a name that is wrong: all names are known to the answer
        complete_app()
    else:
        _register(file)
    return base.do(words, base.app)


def complete_app() -> App:
    """Return the application with all commands."""
    for file, _ in COMMANDS.values():
        _register(file)
    return base.app


def overview() -> App:
    """Return an application that shows the list of commands and imports none of them."""
    app = base.make_app(help_format="plaintext")
    for name, (file, sentence) in COMMANDS.items():
        app.command(f"{__name__}.{file}:{name}", name=name, help=sentence)
    return app


def _register(file: str) -> None:
    """Import a file of commands, and put two examples into the help of each."""
    from inweights.cli.examples import add_examples

    import_module(f"{__name__}.{file}")
    if file not in _with_examples:
        _with_examples.add(file)
        add_examples(base.app, [name for name, (home, _) in COMMANDS.items() if home == file])
