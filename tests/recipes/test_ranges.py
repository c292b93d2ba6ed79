"""Settings outside of their documented range are refused before training."""

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import numpy as np
import pytest

from inweights.config import (
    Config,
    apply_overrides,
    decode,
    digest,
    identity,
)
from inweights.config.ranges import (
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    UnitFloat,
)
from inweights.errors import ConfigError
from inweights.recipes import get_recipe, recipe_names

#: How the docstrings state a limit, and a value just outside of it.
LIMITS: tuple[tuple[str, Callable[[int, float], float]], ...] = (
    (r"\b(?:at least|from) ([\d,]+)\b", lambda limit, step: limit - step),
    (r"\babove ([\d,]+)\b", lambda limit, step: limit),
    (r"\bfrom \d+ to ([\d,]+)\b(?! ?[⁰¹²³⁴-⁹])", lambda limit, step: limit + step),
    (r"\bbelow ([\d,]+)\b", lambda limit, step: limit),
)


def descriptions(kind: type[msgspec.Struct]) -> dict[str, str]:
    """Return the description of every field under ``Attributes`` of a docstring."""
    text = inspect.getdoc(kind) or ""
    entries = re.split(r"\n(?=    \w+: )", text.partition("Attributes:")[2])
    found = {}
    for entry in entries:
        name, _, about = entry.strip().partition(": ")
        found[name] = re.sub(r"\s+", " ", about)
    return found


def numbers(config: Any) -> Iterator[tuple[tuple[str, ...], Any, str]]:
    """Yield the path, the value and the description of every number, also in nested configs."""
    about = descriptions(type(config))
    for field in config.__struct_fields__:
        value = getattr(config, field)
        if isinstance(value, msgspec.Struct):
            for path, number, description in numbers(value):
                yield (field, *path), number, description
        example = value[0] if isinstance(value, tuple) and value else value
        if isinstance(example, int | float) and not isinstance(example, bool):
            yield (field,), value, about.get(field, "")


def changed(config: Any, path: tuple[str, ...], value: Any) -> Any:
    """Return a config with another value at a path of field names."""
    first, *rest = path
    if rest:
        value = changed(getattr(config, first), tuple(rest), value)
    return msgspec.structs.replace(config, **{first: value})


def outside() -> Iterator[tuple[str, tuple[str, ...], Any]]:
    """Yield each recipe and setting with a value outside of the documented range."""
    for name in recipe_names():
        settings = next(iter(get_recipe(name).scales.values()))
        for path, value, description in numbers(settings):
            example = value[0] if isinstance(value, tuple) else value
            # Later sentences describe other things than the range.
            sentence = re.split(r"[.;] [A-Z]", description)[0]
            step = 1 if isinstance(example, int) else 0.5
            for pattern, beyond in LIMITS:
                if found := re.search(pattern, sentence):
                    limit = int(found[1].replace(",", ""))
                    wrong = type(example)(beyond(limit, step))
                    yield name, path, (wrong,) if isinstance(value, tuple) else wrong


CASES = list(outside())


@pytest.mark.parametrize(
    ("name", "path", "wrong"),
    [
        pytest.param(name, path, wrong, id=f"{name}-{'.'.join(path)}={wrong}")
        for name, path, wrong in CASES
    ],
)
def test_a_value_outside_of_its_range_is_refused_before_training(
    name: str, path: tuple[str, ...], wrong: Any
) -> None:
    recipe = get_recipe(name)
    settings = next(iter(recipe.scales.values()))
    with pytest.raises(ConfigError):
        recipe.plan(changed(settings, path, wrong))


class Numbers(Config):
    """One field for each type of number that has a range."""

    every: PositiveInt = 10
    skipped: NonNegativeInt = 0
    rate: PositiveFloat = 0.1
    decay: NonNegativeFloat = 0.0
    share: UnitFloat = 0.5
    widths: tuple[PositiveInt, ...] = (1, 2)
    limit: PositiveFloat | None = None


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("every", 0, "every must be at least 1, got 0"),
        ("skipped", -1, "skipped must be at least 0, got -1"),
        ("rate", 0.0, "rate must be above 0, got 0.0"),
        ("decay", -1.0, "decay must be at least 0, got -1.0"),
        ("share", 1.5, "share must be at most 1, got 1.5"),
        ("share", float("nan"), "share must be at least 0, got nan"),
        ("widths", (1, 0), "widths[1] must be at least 1, got 0"),
        ("widths", np.array([4, -4]), "widths[1] must be at least 1, got -4"),
        ("limit", 0, "limit must be above 0, got 0"),
    ],
)
def test_the_message_names_the_field_the_range_and_the_value(
    field: str, value: Any, says: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"Numbers.{says}")):
        Numbers(**{field: value})
    plain = value.tolist() if isinstance(value, np.ndarray) else value
    with pytest.raises(ConfigError, match=f"^{re.escape(says)}$"):
        decode(Numbers, {field: plain})


def test_a_value_given_on_the_command_line_is_checked() -> None:
    assert apply_overrides(Numbers(), ["every=1"]).every == 1
    with pytest.raises(ConfigError, match="every must be at least 1, got 0"):
        apply_overrides(Numbers(), ["every=0"])


def test_a_range_does_not_change_the_key_of_a_config() -> None:
    """Stored runs remain readable if the type of a field gains a range."""

    class Plain(Config):
        every: int = 10

    class Ranged(Config):
        every: PositiveInt = 10

    assert digest(identity(Plain(every=3))) == digest(identity(Ranged(every=3)))
