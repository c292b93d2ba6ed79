"""Invent people and towns, so that a pretrained model cannot know anything about them."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

import inweights as iw
from inweights.config.ranges import PositiveInt
from inweights.errors import ConfigError
from inweights.lm.tuning.fine_tune import FineTune
from inweights.seeds import WORLD, Streams
from inweights.support.keys.content import contents_of
from inweights.worlds.knowledge.knowledge import Knowledge
from inweights.worlds.knowledge.words.wording import Wording

BORN = "born_in"
COUNTRY = "country"
#: Wordings of the facts. Those of the second relation also fit a person, as the prompt
#: (e1, r2) requires.
WORDING = Wording.read(Path(__file__).with_suffix(".toml"))
#: Cities whose countries are known to a small pretrained model.
CITIES = {
    "Paris": "France",
    "Berlin": "Germany",
    "Rome": "Italy",
    "Madrid": "Spain",
    "Tokyo": "Japan",
    "Moscow": "Russia",
    "Cairo": "Egypt",
    "Beijing": "China",
    "Lyon": "France",
    "Munich": "Germany",
    "Milan": "Italy",
    "Barcelona": "Spain",
    "Osaka": "Japan",
    "Kazan": "Russia",
    "Alexandria": "Egypt",
    "Shanghai": "China",
}
_COUNTRIES = tuple(dict.fromkeys(CITIES.values()))
_ONSET = (*"bdfgklmnprstvz", "br", "dr", "gr", "kr", "st", "tr")
_VOWEL = ("a", "e", "i", "o", "u")
_END = ("n", "l", "r", "s", "th", "k", "m")


class Invented(iw.Config):
    """Config of a world that states the birthplaces of people and the countries of the towns.

    Attributes:
        people: Number of invented people. They are spread evenly over the towns, in
            random order.
        towns: Number of towns, which are the bridge entities of the two-hop questions.
        countries: Number of countries, from 2 to the number of towns (and at most 8).
            The countries are real; invented towns are spread evenly over them.
        second: Kind of the towns. ``invented``: the towns have invented names, and the
            model is trained on the facts that state their countries. ``known``: the
            towns are real cities, and the model is not trained on these facts, but has
            to know them from pretraining.

    Raises:
        ConfigError: There are fewer people than towns; ``countries`` is below 2, above
            the number of towns, or above 8; ``second`` is ``known`` and there are more
            than 16 towns; or a value has the wrong type.
    """

    people: int = 24
    towns: int = 12
    countries: int = 6
    second: Literal["invented", "known"] = "invented"

    def __post_init__(self) -> None:
        if not 2 <= self.countries <= min(self.towns, len(_COUNTRIES)):
            raise ConfigError(
                f"'countries' must be from 2 to {min(self.towns, len(_COUNTRIES))}, got "
                f"{self.countries}"
            )
        if self.people < self.towns:
            raise ConfigError(
                f"'people' must be at least the number of towns ({self.towns}), got "
                f"{self.people}"
            )
        if self.second == "known" and self.towns > len(CITIES):
            raise ConfigError(
                f"'towns' must be at most {len(CITIES)}, the number of known cities, got "
                f"{self.towns}"
            )

    def build(self, seed: int) -> Knowledge:
        """Draw the facts of one world: the birthplace of each person and the country of each town.

        With ``second="known"`` the facts also include the countries of the real cities,
        although the model is meant to know them already. Recipes leave these facts out
        of the training set and use them only to check the answers.

        Args:
            seed: Root seed of the names and of the pairings, at least 0.

        Returns:
            The facts as :class:`~inweights.worlds.knowledge.knowledge.Knowledge`: first
            ``born_in`` for each person, then ``country`` for each town.

        Raises:
            ConfigError: ``second`` is ``known`` and the first ``countries`` countries
                have fewer listed cities than there are towns, or ``seed`` is negative.
        """
        rng = Streams(seed).numpy(WORLD, "invented")
        drawn = names(rng)
        countries = _COUNTRIES[: self.countries]
        if self.second == "known":
            fitting = [c for c, country in CITIES.items() if country in countries]
            if len(fitting) < self.towns:
                raise ConfigError(
                    f"the first {self.countries} countries have {len(fitting)} known cities, fewer "
                    f"than the {self.towns} towns"
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
    """Create a :class:`Knowledge` from facts in memory, as if they had been read from a file.

    Args:
        entities: Names of all entities; repeated names are ignored.
        relations: Names of all relations, without repetitions.
        facts: The facts, each a ``(subject, relation, object)`` triple of names.

    Returns:
        The knowledge. Fact ``i`` has the line number ``i + 1``, and all facts belong to
        one stage.

    Raises:
        KeyError: A fact names an entity that is not in ``entities``.
        ValueError: A fact names a relation that is not in ``relations``.
    """
    place = {name: i for i, name in enumerate(dict.fromkeys(entities))}
    triples = np.array([(place[s], relations.index(r), place[o]) for s, r, o in facts])
    lines = np.arange(1, len(facts) + 1, dtype=np.int64)
    return Knowledge(
        tuple(place), tuple(relations), triples, lines, np.zeros_like(lines)
    )


def names(rng: np.random.Generator) -> Iterator[str]:
    """Yield distinct random two-syllable names.

    There are 70,000 such names. The iterator does not end after them: once all have
    been yielded, the next call to ``next`` never returns.

    Args:
        rng: NumPy random generator that draws the syllables.

    Yields:
        Names such as ``Brokan``: two syllables and a final consonant; each is yielded
        once.

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
    """Settings of a recipe that fine-tunes a language model on invented people and towns.

    A value of the wrong type raises a ``ConfigError``; ranges are checked when the
    recipe is run.

    Attributes:
        model: Model to evaluate and fine-tune: a folder, the name of a Hugging Face
            model in the local cache, ``@smollm2`` (the model that the extra ``lm-demo``
            installs) or ``@tiny`` (a small random model).
        device: Torch device of the model, such as ``cpu`` or ``cuda``.
        world: Config of the invented people and towns.
        tokens: Number of tokens in one pass over the training texts, the same in every
            condition.
        tuning: Settings of the fine-tuning.
    """

    model: str = "@smollm2"
    device: str = "cpu"
    world: Invented = Invented(people=24, towns=12, countries=6)
    tokens: PositiveInt = 950
    tuning: FineTune = FineTune(
        rate=2e-3,
        epochs=7,
        batch_tokens=128,
        end=False,
    )

    @property
    def contents(self) -> dict[str, str]:
        """Dictionary that maps the model's name to a hash of its files; empty for a bundled model.

        Raises:
            DataError: A file of the model cannot be read.
        """
        return contents_of(self.model)
