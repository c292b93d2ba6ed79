"""Invent people and places that do not exist, so that no model knows anything about them."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

import inweights as iw
from inweights.errors import ConfigError
from inweights.lm.tuning.fine_tune import FineTune
from inweights.seeds import WORLD, Streams
from inweights.support.keys.content import contents_of
from inweights.worlds.knowledge.knowledge import Knowledge
from inweights.worlds.knowledge.words.wording import Wording

BORN = "born_in"
COUNTRY = "country"
#: How the facts are told; the second relation's words fit a person, too, for the (e1,
#: r2) prompt.
WORDING = Wording.read(Path(__file__).with_suffix(".toml"))
#: Cities that a small model knows the country of.
CITIES = {
    "Paris": "France", "Berlin": "Germany", "Rome": "Italy", "Madrid": "Spain",
    "Tokyo": "Japan", "Moscow": "Russia", "Cairo": "Egypt", "Beijing": "China",
    "Lyon": "France", "Munich": "Germany", "Milan": "Italy", "Barcelona": "Spain",
    "Osaka": "Japan", "Kazan": "Russia", "Alexandria": "Egypt", "Shanghai": "China",
}  # fmt: skip
_COUNTRIES = tuple(dict.fromkeys(CITIES.values()))
_ONSET = (*"bdfgklmnprstvz", "br", "dr", "gr", "kr", "st", "tr")
_VOWEL = ("a", "e", "i", "o", "u")
_END = ("n", "l", "r", "s", "th", "k", "m")


class Invented(iw.Config):
    """Config of invented people, who were born in towns, which are in countries.

    Attributes:
        people: Number of people, spread evenly over the towns.
        towns: Number of towns: the bridges.
        countries: Number of countries, which are real; the towns are spread evenly over
            them.
        second: ``invented``: towns have invented names, and the model is told their
            country. ``known``: they are real cities, and it is not told: the second hop
            is its own.
    """

    people: int = 24
    towns: int = 12
    countries: int = 6
    second: Literal["invented", "known"] = "invented"

    def __post_init__(self) -> None:
        if not 2 <= self.countries <= min(self.towns, len(_COUNTRIES)):
            raise ConfigError(
                f"countries must be from 2 to {min(self.towns, len(_COUNTRIES))}, not "
                f"{self.countries}"
            )
        if self.people < self.towns:
            raise ConfigError(
                f"{self.people} people are too few for {self.towns} towns"
            )
        if self.second == "known" and self.towns > len(CITIES):
            raise ConfigError(
                f"towns must be at most {len(CITIES)}, the number of known cities, got {self.towns}"
            )

    def build(self, seed: int) -> Knowledge:
        """Return the facts of one such world: of each person, then of each town.

        Where the second hop is known, the country of a city is a fact too; whoever
        trains leaves it out.
        """
        rng = Streams(seed).numpy(WORLD, "invented")
        drawn = names(rng)
        countries = _COUNTRIES[: self.countries]
        if self.second == "known":
            fitting = [c for c, country in CITIES.items() if country in countries]
            if len(fitting) < self.towns:
                raise ConfigError(
                    f"{self.countries} countries have {len(fitting)} known cities, fewer than "
                    f"the {self.towns} towns"
                )
            towns = fitting[: self.towns]
            lies = [CITIES[town] for town in towns]
        else:
            towns = [next(drawn) for _ in range(self.towns)]
            order = rng.permutation(self.towns)
            lies = [countries[i % self.countries] for i in order.tolist()]
        people = [f"{next(drawn)} {next(drawn)}" for _ in range(self.people)]
        born = rng.permutation(self.people) % self.towns
        facts = [
            (p, BORN, towns[t]) for p, t in zip(people, born.tolist(), strict=True)
        ]
        facts += [
            (town, COUNTRY, country) for town, country in zip(towns, lies, strict=True)
        ]
        return knowledge([*people, *towns, *countries], (BORN, COUNTRY), facts)


def knowledge(
    entities: Iterable[str],
    relations: Sequence[str],
    facts: Sequence[tuple[str, str, str]],
) -> Knowledge:
    """Return facts as :class:`Knowledge`, as if they were read from a file with one line per fact.

    Args:
        entities: Names of all entities.
        relations: Names of all relations.
        facts: ``(subject, relation, object)`` of each fact.
    """
    place = {name: i for i, name in enumerate(dict.fromkeys(entities))}
    triples = np.array([(place[s], relations.index(r), place[o]) for s, r, o in facts])
    lines = np.arange(1, len(facts) + 1, dtype=np.int64)
    return Knowledge(
        tuple(place), tuple(relations), triples, lines, np.zeros_like(lines)
    )


def names(rng: np.random.Generator) -> Iterator[str]:
    """Yield distinct names of two syllables.

    Example:
        >>> from itertools import islice
        >>> len(set(islice(names(np.random.default_rng(0)), 100)))
        100
    """
    seen = set()
    while True:
        parts = [rng.choice(part) for part in (_ONSET, _VOWEL, _ONSET, _VOWEL, _END)]
        name = "".join(parts).capitalize()
        if name not in seen:
            seen.add(name)
            yield name


class InventedSettings(iw.Config):
    """Settings of an experiment that fine-tunes a model on an invented world.

    Attributes:
        model: The model: a folder, a hub name in the local cache, or ``@smollm2``.
        device: Device of the model.
        world: The invented people and towns.
        tokens: Tokens of one pass, the same in every condition.
        tuning: Settings of fine-tuning.
    """

    model: str = "@smollm2"
    device: str = "cpu"
    world: Invented = Invented(people=24, towns=12, countries=6)
    tokens: int = 950
    tuning: FineTune = FineTune(
        rate=2e-3,
        epochs=7,
        batch_tokens=128,
        end=False,
    )

    @property
    def contents(self) -> dict[str, str]:
        """Hash of the model's files, by its name; empty for models that are made from a seed."""
        return contents_of(self.model)
