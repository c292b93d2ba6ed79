"""Check the parts of a trial: its world, model and learner.

:mod:`~.axes` calls :func:`check_part` for the parts of every condition of a sweep.
"""

from collections.abc import Mapping
from typing import Any

from inweights.errors import ConfigError
from inweights.models.outside.module_configs import TrainedConfig

#: Descriptions of what each part of a trial must be, for messages.
PARTS = {
    "world": "a config that builds one, such as iw.TwoHop(n=10) or iw.Facts('facts.csv'); or, "
    "without model and learner, a function: def experiment(seed, ...)",
    "model": "a config that builds one, such as iw.GPTConfig(); for a module of your own "
    "iw.wrap(lambda vocabulary: MyModule(vocabulary, width=64)), or iw.wrap(module) with the "
    "weights that it has",
    "learner": "a Curriculum, such as iw.learners.two_hop(), a Descent, an Optimum, or one of your "
    "own (training.register_learner)",
}


def check_part(name: str, part: Any) -> None:
    """Raise an error if a value cannot be a part of a trial.

    A world or model must be an object, not a class, with a method ``build``. A learner
    must be an object with at least two of ``build``, ``steps``, ``phases`` and
    ``learn``. What these methods return is not checked.

    Args:
        name: Name of the part: ``world``, ``model`` or ``learner``.
        part: The value to check; ``None`` is valid for the model.

    Raises:
        ConfigError: The value is not a config of this part. The message states which
            values are valid.
    """
    has = {*dir(part)} & {"build", "steps", "phases", "learn"}
    fits = len(has) > 1 if name == "learner" else "build" in has
    left_out = name == "model" and part is None
    if not left_out and (isinstance(part, type) or not fits):
        raise ConfigError(f"the {name} must be {PARTS[name]}; got {part!r}")


def config_of(model: Any) -> Any:
    """Return the config of a trained model; any other value is returned unchanged.

    A trained model is one whose attribute ``config`` is a ``TrainedConfig``, which
    :func:`inweights.wrap` creates from a module with its weights.

    Args:
        model: A model, a config or ``None``; or a list, a tuple or a mapping whose
            values are such objects.

    Returns:
        The config, or the unchanged value. For a list or tuple, a list of the results;
        for a mapping, a dictionary of the results, keyed by name.
    """
    if isinstance(model, Mapping):
        return {name: config_of(one) for name, one in model.items()}
    if isinstance(model, list | tuple):
        return list(map(config_of, model))
    config = getattr(model, "config", None)
    return config if isinstance(config, TrainedConfig) else model
