"""Former names still work, with a warning that states the new name."""

from importlib import import_module

import pytest

import inweights as iw
from inweights import actions, experiments, training
from inweights.experiments.engine.execution import ExecutionOptions
from inweights.experiments.engine.executors.ray import Ray
from inweights.experiments.grammar.protocols.compare import compare

PACKAGES = {"lab": "experiments", "laboratory": "actions"}


@pytest.mark.parametrize(("former", "present"), PACKAGES.items())
def test_a_renamed_package_is_found_by_its_former_name(
    former: str, present: str
) -> None:
    package = import_module(f"inweights.{present}")
    name = package.__all__[0]
    with pytest.warns(
        DeprecationWarning, match=rf"inweights\.{former} is now called .*{present}"
    ):
        assert getattr(getattr(iw, former), name) is getattr(package, name)
    forwarding = import_module(f"inweights.{former}")
    with pytest.warns(
        DeprecationWarning, match=rf"inweights\.{former} is now called .*{present}"
    ):
        assert getattr(forwarding, name) is getattr(package, name)
    with pytest.raises(AttributeError, match="no_such_name"):
        forwarding.no_such_name  # noqa: B018


def test_a_renamed_function_is_found_by_its_former_name() -> None:
    with pytest.warns(
        DeprecationWarning, match=r"is now called inweights\.training\.answer_columns"
    ):
        assert training.answers_of is training.answer_columns  # type: ignore[attr-defined]


def test_names_of_the_engine(tmp_path) -> None:
    with pytest.warns(DeprecationWarning, match="is now called 'execution'"):
        assert (
            list(actions.settle(minutes=0, runs=tmp_path, effort=ExecutionOptions()))
            == []
        )
    with pytest.warns(DeprecationWarning, match="recipe_for"):
        assert actions.asked_for is actions.recipe_for  # type: ignore[attr-defined]
    with pytest.warns(DeprecationWarning, match="SavedModel"):
        assert experiments.KeptModel is experiments.SavedModel  # type: ignore[attr-defined]


def test_the_executor_of_ray_is_found_at_its_former_place() -> None:
    cluster = import_module("inweights.experiments.engine.cluster")
    with pytest.warns(DeprecationWarning, match=r"executors\.ray\.Ray"):
        assert cluster.Ray is Ray
    with pytest.raises(AttributeError, match="no_such_name"):
        cluster.no_such_name  # noqa: B018


def test_the_comparison_with_a_protocol_is_found_at_its_former_place() -> None:
    former = import_module("inweights.experiments.grammar.differences")
    with pytest.warns(DeprecationWarning, match=r"protocols\.compare"):
        assert former.compare is compare
    with pytest.raises(AttributeError, match="no_such_name"):
        former.no_such_name  # noqa: B018
