"""What ``inweights compare-training`` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inweights.cli.console.base import out, print_json, say, table
from inweights.cli.console.results import outcome
from inweights.support.progress import duration, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inweights.lab.engine.outcome import Outcome
    from inweights.laboratory.training import Size, TrainingSettings

_FORMS = {"perplexity": "{:.1f}", "tokens": "{:,.0f}", "updates": "{:,.0f}", "question": "{:.0f}"}
_FORMS |= {"training": "{:.1f}", "asking": "{:.1f}"}
_NAMES = {"question": "tokens of a question", "new name": "answered with a new name"}


def sizes(
    found: Sequence[Size], settings: TrainingSettings, seeds: Sequence[int], *, json: bool
) -> None:
    """Print what the comparison takes on this machine, before it is made."""
    if json:
        print_json([one._asdict() for one in found])
        return
    listed = table("way", "rows", "tokens of a pass", "updates", "a seed", "seeds", "in all")
    total = 0.0
    for one in found:
        times = len(seeds) if one.rows else 1
        each = one.preparation + one.training + one.asking
        total += times * each
        cells = [f"{n:,}" if one.rows else "" for n in (one.rows, one.tokens, one.updates)]
        listed.add_row(one.way, *cells, duration(each), str(times), duration(times * each))
    out.print(listed)
    out.print(
        f"about {duration(total)} on this machine, by 20 updates and a few questions; "
        f"{plural(settings.tuning.epochs, 'epoch')} (--set tuning.epochs=N)\n"
    )


def ways(done: Outcome, *, json: bool) -> None:
    """Print what each way gives, what it costs, and what it keeps of earlier knowledge."""
    overview = done.tables["overview"]
    if json:
        page = str(done.folder.path / "page.html")
        print_json({"page": page, "measured": overview, "cautions": done.cautions})
        return
    for (kind,), rows in overview.group_by("kind", maintain_order=True):
        listed = table(str(kind), *overview.columns[2:])
        for _, name, *values in rows.rows():
            form = _FORMS.get(name, "{:.2f}")
            cells = ("" if value is None else form.format(value) for value in values)
            listed.add_row(_NAMES.get(name, name), *cells)
        out.print(listed)
        out.print()
    say(("means over seeds; accuracy: among candidates; cost: of one seed\n", "dim"))
    outcome(done, json=False)
