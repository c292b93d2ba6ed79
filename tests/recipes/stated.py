"""Record the claims of all recipes, one per line, before the runs that judge them.

``python -m tests.recipes.stated`` rewrites ``stated.tsv``. A change of a claim is visible
in its diff, next to the change of the code. A claim that changed after its judged run is a
different claim.

It also writes ``planned.tsv``, with a hash of each recipe's plan at scale smoke. A result
is found by recipe, version and settings, so a changed plan needs a new version.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from inweights.config import digest
from inweights.experiments.engine.plan import expand_plan
from inweights.recipes import get_recipe, recipe_names

RECORD = Path(__file__).with_name("stated.tsv")
PLANS = Path(__file__).with_name("planned.tsv")
COLUMNS = ("claim", "kind", "table", "column", "where", "minus", "each", "target")


def stated() -> str:
    lines = ["\t".join(COLUMNS)]
    for name in recipe_names():
        for claim in get_recipe(name).claims:
            score = claim.score
            bounds = (
                f" in {score.bounds[0]:g}..{score.bounds[1]:g}" if score.bounds else ""
            )
            kind = ("computed" if score.exact else "sampled") + bounds
            kind += f", {claim.judged}" * (claim.judged != "typical")
            kind += ", ours" * claim.ours + ", check" * claim.check
            fields = [claim.id, kind, score.table, score.column, plain(score.where)]
            fields += [plain(score.minus), " ".join(score.each), claim.target.text]
            lines.append("\t".join(fields))
    return "\n".join(lines) + "\n"


def planned() -> str:
    lines = ["recipe\tversion\tplan"]
    for name in recipe_names():
        recipe = get_recipe(name)
        work = expand_plan(recipe.plan(recipe.scales["smoke"]), [0], recipe.version)
        asked = digest([[one.name, *one.place, one.labels] for one in work.requests])
        lines.append(f"{name}\t{recipe.version}\t{asked}")
    return "\n".join(lines) + "\n"


def plain(where: dict[str, Any]) -> str:
    return json.dumps(where, sort_keys=True, ensure_ascii=False) if where else ""


if __name__ == "__main__":
    RECORD.write_text(stated(), encoding="utf-8")
    PLANS.write_text(planned(), encoding="utf-8")
