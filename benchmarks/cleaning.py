"""Plant errors in files of synthetic companies, and count how many ``audit --fix`` finds.

Each file has 120 to 300 facts about people (some of whose names differ in one letter),
teams, sites and countries. The seed determines type and place of 12 errors: letters that
are changed, removed, inserted or swapped, two changed letters, accents, initials, second
values, repeated rows, blanks, and missing rows of symmetric or inverse relations.

    python -m benchmarks.cleaning [--files 20] [--json]
"""

from __future__ import annotations

import argparse
import csv
import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from inweights.audit import mend
from inweights.worlds import read_knowledge

FIRST = [
    "Hugo",
    "Ada",
    "Bjørn",
    "Zoë",
    "Ravi",
    "Olga",
    "Tomáš",
    "Nnamdi",
    "Siobhán",
    "José",
]
FIRST += [
    "Ingrid",
    "Karim",
    "Lucia",
    "Marta",
    "Pavel",
    "Anna",
    "Anne",
    "Jonas",
    "Jonah",
]
LAST = [
    "Lindqvist",
    "Moreau",
    "O'Brien",
    "Nakamura",
    "Svensson",
    "Kowalski",
    "Fernández",
]
LAST += ["Petersen", "Pedersen", "Okafor"]
TOWNS = {
    "Stockholm": "Sweden",
    "Göteborg": "Sweden",
    "Dublin": "Ireland",
    "Galway": "Ireland",
    "Reykjavik": "Iceland",
    "Akureyri": "Iceland",
    "Warsaw": "Poland",
    "Kraków": "Poland",
}
TEAMS = [f"{bird} Team" for bird in ("Heron", "Falcon", "Sparrow", "Kestrel")]
ERRORS = (
    "replace",
    "drop",
    "double",
    "swap",
    "two",
    "accent",
    "initial",
    "second value",
    "repeat",
    "blank",
    "symmetric",
    "inverse",
)
Row = tuple[str, str, str]


def company(rng: np.random.Generator) -> list[Row]:
    """Return the rows of a file without errors."""
    names = [f"{first} {last}" for first in FIRST for last in LAST]
    people = rng.permutation(names)[: rng.integers(14, 34)].tolist()
    towns = rng.permutation(list(TOWNS))[:6].tolist()
    rows = [(town, "country", TOWNS[town]) for town in towns]
    rows += [(team, "based in", town) for team, town in zip(TEAMS, towns, strict=False)]
    for i, person in enumerate(people):
        rows.append((person, "works in", TEAMS[i % 4]))
        rows.append((person, "born in", str(rng.choice(towns))))
        rows.append(
            (person, "born on", f"19{rng.integers(60, 99)}-0{rng.integers(1, 9)}-11")
        )
        if i >= 4:
            rows += [
                (person, "reports to", people[i % 4]),
                (people[i % 4], "manages", person),
            ]
    for one, other in zip(people[::2], people[1::2], strict=False):
        rows += [(one, "neighbour", other), (other, "neighbour", one)]
    return rows


def misspelt(name: str, how: str, rng: np.random.Generator) -> str:
    """Return a name with an error after its first letters."""
    first, _, last = name.partition(" ")
    if how == "initial":
        return f"{first[0]}. {last}"
    k = int(rng.integers(len(name) - min(len(last) or len(name), 5), len(name) - 1))
    if how == "two":
        return misspelt(misspelt(name, "replace", rng), "replace", rng)
    if how == "accent":
        return name.translate(str.maketrans("aeouø", "áéöúo"))
    letter = str(rng.choice([c for c in "abdeiklmnorstuvw" if c != name[k]]))
    changed = {
        "replace": name[:k] + letter + name[k + 1 :],
        "drop": name[:k] + name[k + 1 :],
        "double": name[:k] + name[k] + name[k:],
        "swap": name[:k] + name[k + 1] + name[k] + name[k + 2 :],
    }
    return changed[how]


def planted(rng: np.random.Generator) -> tuple[list[Row], set[tuple[str, ...]]]:
    """Return a file with errors, and the kind, names or fact of each error."""
    rows, errors = company(rng), set[tuple[str, ...]]()
    touched: set[int] = set()
    names = {name for s, _, o in rows for name in (s, o)}
    used = Counter(name for s, _, o in rows for name in (s, o))
    for how in rng.choice(ERRORS, 12).tolist():
        relation = {
            "symmetric": "neighbour",
            "inverse": "manages",
            "second value": "works in",
            "blank": "born in",
        }.get(how)
        places = [
            i
            for i, row in enumerate(rows)
            if i not in touched
            and row[1] != "born on"
            and relation in (None, row[1])
            and (how != "initial" or row[1] == "reports to")
        ]
        i = int(rng.choice(places))
        s, r, o = rows[i]
        if how in ("symmetric", "inverse"):
            pair = [k for k, row in enumerate(rows) if row[0] == o and row[2] == s]
            if not pair or pair[0] in touched:
                continue
            other = pair[0]
            errors.add(("missing", s, r, o))
            touched |= {i, other}
            rows[i] = ("", "", "")
        elif how == "repeat":
            touched.add(len(rows))
            rows.append((s, r, o))
            errors.add(("left out", s, r, o))
        elif how == "blank":
            rows[i] = (s, r, "n/a")
            errors.add(("set apart", s, r))
        elif how == "second value":
            touched.add(len(rows))
            rows.append((s, r, next(team for team in TEAMS if team != o)))
            errors.add(("several values", s, r))
        else:
            column = 2 if how == "initial" else int(rng.choice([0, 2]))
            name = (s, r, o)[column]
            wrong = misspelt(name, how, rng)
            if wrong in names or used[name] < 2:
                continue
            names.add(wrong)
            rows[i] = (wrong, r, o) if column == 0 else (s, r, wrong)
            errors.add(("renamed", wrong, name))
        touched.add(i)
    return [row for row in rows if row[0]], errors


def found(rows: list[Row], folder: Path) -> set[tuple[str, ...]]:
    """Return the errors in ``changes.csv`` and ``missing.csv``; names only if they are renamed."""
    path = folder / "facts.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    made = mend(read_knowledge(path), near=True)
    said: set[tuple[str, ...]] = set()
    for _, change, before, after, why in made.changes.iter_rows():
        if change == "renamed":
            said.add((change, before, after))
        elif change == "left out":
            said.add((change, *before.split(", ")))
        elif " values (" in why:
            said.add(("several values", *before.split(", ")[:2]))
        elif change == "set apart":
            said.add((change, *before.split(", ")[:2]))
    return said | {("missing", s, r, o) for s, r, o, _ in made.missing.iter_rows()}


def measured(*, files: int = 20, seed: int = 0, tell: bool = False) -> dict[str, Any]:
    """Return recall and precision, in total and by kind; ``tell`` prints missed errors."""
    counts: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory() as place:
        for number in range(seed, seed + files):
            rows, errors = planted(np.random.default_rng(number))
            said = found(rows, Path(place))
            for what, those in (
                ("found", errors & said),
                ("missed", errors - said),
                ("wrong", said - errors),
            ):
                counts.update((error[0], what) for error in those)
                if tell and what != "found" and those:
                    print(number, what, sorted(those))
    total = {
        what: sum(n for (_, w), n in counts.items() if w == what)
        for what in ("found", "missed", "wrong")
    }
    return {
        "files": files,
        **total,
        "recall": round(total["found"] / (total["found"] + total["missed"]), 3),
        "precision": round(total["found"] / (total["found"] + total["wrong"]), 3),
        "kinds": {f"{kind}: {what}": n for (kind, what), n in sorted(counts.items())},
    }


def main() -> None:
    """Print the scores."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--files", type=int, default=20)
    reader.add_argument("--seed", type=int, default=0)
    reader.add_argument("--json", action="store_true")
    given = reader.parse_args()
    print(
        json.dumps(
            measured(files=given.files, seed=given.seed, tell=not given.json), indent=1
        )
    )


if __name__ == "__main__":
    main()
