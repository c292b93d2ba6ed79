"""Positions and Mamba's block are settings of every recipe that trains on graphs."""

from __future__ import annotations

import pytest

import inweights as iw
from inweights.errors import ConfigError
from inweights.models.configs import MambaConfig
from inweights.recipes import get_recipe

#: The whole model of a path-star is a setting.
STAR = "stars.0.model."
ON_STARS = ("fig3", "fig4", "fig12", "fig33", "fig34", "fig35", "fig36")


def models_of(name: str, *overrides: str) -> list[object]:
    """Return the models that a recipe trains at scale smoke with some settings."""
    recipe = get_recipe(f"geometric-memory/{name}")
    settings, _, _ = recipe.resolve("smoke", overrides=overrides)
    return [trial.model for trial in recipe.plan(settings).trials]


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        *((name, STAR) for name in ON_STARS),
        ("fig13", STAR),
        ("fig16", "trees.0.star.model."),
    ],
)
def test_positions_of_a_path_star_are_a_setting(name: str, prefix: str) -> None:
    for given in ("sinusoidal", "none"):
        found = models_of(name, f"{prefix}positions={given}")
        assert given in {getattr(model, "positions", None) for model in found}
    unit = models_of(name, f"{prefix}position_std=1.0")
    assert 1.0 in {getattr(model, "position_std", None) for model in unit}


@pytest.mark.parametrize("name", ["table1", "fig5", "fig17-20", "fig32"])
@pytest.mark.parametrize(
    ("given", "positions", "std"),
    [
        ("small", "learned", None),
        ("unit", "learned", 1.0),
        ("sinusoidal", "sinusoidal", None),
        ("none", "none", None),
    ],
)
def test_positions_on_tiny_graphs_are_a_setting(
    name: str, given: str, positions: str, std: float | None
) -> None:
    found = models_of(name, f"variant.positions={given}")
    gpts = [model for model in found if isinstance(model, iw.GPTConfig)]
    assert gpts
    assert {(gpt.positions, gpt.position_std) for gpt in gpts} == {(positions, std)}


@pytest.mark.parametrize("name", ["fig5", "fig17-20", "fig32"])
def test_mamba_of_the_papers_code_is_a_setting(name: str) -> None:
    code = MambaConfig(
        residual=False,
        norm="layer",
        final_norm=False,
        convolution="uniform",
        first_steps="equal",
    )
    fields = ("residual", "norm", "final_norm", "convolution", "first_steps")
    for given, residual in (("code", False), ("code-residual", True)):
        found = models_of(name, f"variant.block={given}")
        mambas = [model for model in found if isinstance(model, MambaConfig)]
        assert mambas
        for mamba in mambas:
            assert mamba.residual is residual
            assert all(getattr(mamba, f) == getattr(code, f) for f in fields[1:])


def test_a_recipe_without_mamba_refuses_its_block() -> None:
    with pytest.raises(ConfigError, match="no effect: TinySSM is not among"):
        models_of("table1", "variant.block=code")


def test_what_changes_nothing_is_no_part_of_the_config() -> None:
    recipe = get_recipe("geometric-memory/fig5")
    usual = recipe.resolve("cpu")[2]
    changed = recipe.resolve("cpu", overrides=("variant.block=code",))[2]
    assert "variant" not in usual["settings"]
    assert changed["settings"]["variant"]["block"] == "code"
