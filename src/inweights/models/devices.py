"""Check whether torch can use a device on this machine: :func:`check_device`."""

import torch

from inweights.errors import ConfigError, unknown_name


def check_device(name: str) -> None:
    """Raise an error unless torch can use a device on this machine.

    Args:
        name: Name of the device, such as ``cpu``, ``cuda`` or ``cuda:1``. For a name
            without an index, the first device of the type is checked.

    Raises:
        ConfigError: torch does not know this type of device, or this machine has no
            such device.

    Example:
        >>> check_device("cpu")
        >>> check_device("cdua")
        Traceback (most recent call last):
        ...
        inweights.errors.ConfigError: unknown device 'cdua'; did you mean 'cuda'? Known: ...
    """
    kinds = {}
    for kind in ("cpu", "cuda", "mps"):
        kinds[kind] = getattr(torch, kind).device_count()
    try:
        device = torch.device(name)
        # Any other type of device for which torch has a module, such as torch.xpu, or a
        # registered backend.
        count = kinds.setdefault(
            device.type, getattr(torch, device.type).device_count()
        )
    except (RuntimeError, AttributeError):
        raise unknown_name("device", name, kinds) from None
    if (device.index or 0) >= count:
        raise ConfigError(
            f"this machine has no device '{name}' that torch can use; "
            f"available: {', '.join(kind for kind, count in kinds.items() if count)}"
        )
