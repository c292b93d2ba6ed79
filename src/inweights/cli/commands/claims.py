"""Commands about the ledger of claims: state them before they are run, and see their history."""

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from inweights import laboratory
from inweights.cli import console
from inweights.cli.commands.base import app

claims_app = App(
    name="claims", help="State claims before they are run, and see what became of them."
)
app.command(claims_app)
Results = Annotated[
    Path | None, Parameter(help="Folder of the results; $INWEIGHTS_RESULTS, or ./results.")
]


@claims_app.command
def history(claim: str, /, *, scale: str = "cpu", results: Results = None) -> None:
    """Show every line of the ledger about a claim: versions, verdicts, other words.

    Args:
        claim: Its name; the last part is enough if it is unique.
        scale: cpu or paper.
    """
    console.history(laboratory.history(claim, scale, results=results))


@claims_app.command
def state(
    only: str = "", /, *, scale: str = "cpu", anew: str = "", results: Results = None
) -> None:
    """State the claims of the recipes in the ledger, before they are run.

    Adds a line for each claim that is new or changed: a changed score, target, rule, setting or
    version is a new version of the claim, with seeds of its own and a smaller error probability.
    Commit the ledger, then run.

    Args:
        only: Recipes whose name contains this.
        scale: cpu or paper: of the runs that will judge them.
        anew: A reason to state all claims anew that were not judged yet, as the same versions where
            score, target and rule are the same; for a change of the whole library that favours no
            claim.
    """
    with console.progress() as progress:
        lines = laboratory.state(scale, only=only, anew=anew, results=results, progress=progress)
    console.history(lines)


@claims_app.command
def withdraw(claim: str, /, *, why: str, scale: str = "cpu", results: Results = None) -> None:
    """Withdraw a claim: it is not judged any more, and stays on the board with its last verdict.

    Args:
        claim: Its full name.
        why: The reason, which the board shows.
        scale: cpu or paper.
    """
    console.history([laboratory.withdraw(claim, why, scale, results=results)])
