"""Where models live."""

from __future__ import annotations

import torch

from inweights.errors import ConfigError, unknown_name

__all__ = ["check_device"]


def check_device(name: str) -> None:
    """Refuse a device that this machine does not have.

    Args:
        name: As torch names it: ``cpu``, ``cuda``, ``cuda:1``, ``mps``.

    Raises:
        ConfigError: There is no such device, here or at all.

    Example:
        >>> check_device("cpu")
        >>> check_device("cdua")
        Traceback (most recent call last):
        ...
        inweights.errors.ConfigError: unknown device 'cdua'; did you mean 'cuda'? Known: ...
    """
    here = {"cpu": 1, "cuda": torch.cuda.device_count(), "mps": int(_has_mps())}
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    if device is None or device.type not in here:
        raise unknown_name("device", name, here)
    if (device.index or 0) >= here[device.type]:
        raise ConfigError(
            f"this machine has no device '{name}' that torch can use; "
            f"it has {', '.join(kind for kind, count in here.items() if count)}"
        )


def _has_mps() -> bool:
    return torch.backends.mps.is_available()
