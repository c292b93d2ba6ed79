"""Report on the installation and the packages that each feature needs (:func:`doctor`)."""

import os
import re
import shutil
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from inweights.runs import RunStore
from inweights.runs.environment import environment, version_of
from inweights.support.extras import EXTRAS
from inweights.support.limits import memory_limit, usable_cores, written

_BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "firefox",
    "open",
    "xdg-open",
)


class Finding(NamedTuple):
    """One line of the report of :func:`doctor`.

    Attributes:
        what: Subject of the line, such as ``torch``, ``GPU``, or ``[hf]`` for an
            optional extra of the package.
        state: What was found, such as a version.
        fine: True if nothing has to be changed, False if something must be changed, and
            ``None`` if that depends on the user's intentions.
        hint: What to do, as a sentence; empty if there is nothing to do.
    """

    what: str
    state: str
    fine: bool | None = True
    hint: str = ""


def doctor(runs: str | Path | None = None) -> list[Finding]:
    """Report on the installed packages, the folder of runs, and optional packages.

    The function imports torch. It changes no files.

    Args:
        runs: Folder of all runs, whose free space and write permission are reported; by
            default ``$INWEIGHTS_RUNS``, or ``./runs`` if that is not set.

    Returns:
        One :class:`Finding` for each line of the report.

    Raises:
        ConfigError: The environment variable ``INWEIGHTS_MAX_MEMORY`` is not a size.

    Example:
        >>> [finding.what for finding in doctor()][:3]
        ['inweights', 'torch', 'GPU']
    """
    import torch

    about = environment()
    python = f"{version_of('inweights')} on Python {about['python']}, {about['system']}"
    found = [Finding("inweights", python)]
    cuda = torch.version.cuda
    threads = torch.get_num_threads()
    build = f"{torch.__version__}, {f'CUDA {cuda}' if cuda else 'CPU build'}, {threads} threads"
    found.append(Finding("torch", build))
    why = "the driver does not respond" if cuda else "this torch is a CPU build"
    gpu: tuple[str, bool | None, str] = ("none", None, f"{why}; most recipes need none")
    if torch.cuda.is_available():
        gpu = (torch.cuda.get_device_name(), True, "use it with --device cuda")
    found.append(Finding("GPU", *gpu))
    kernels = {
        f"{one['library']} {one['version'] or ''}".strip() for one in about["blas"]
    }
    found.append(Finding("linear algebra", ", ".join(sorted(kernels)) or "unknown"))
    found.append(
        Finding(
            "machine", f"{usable_cores()} cores, {written(memory_limit())} of memory"
        )
    )
    found.append(_place(RunStore(runs).root))
    opens = next((name for name in _BROWSERS if shutil.which(name)), "")
    hint = "" if opens else "pages are files: copy them to a machine that has a browser"
    found.append(
        Finding("browser", opens or "none found", True if opens else None, hint)
    )
    return [*found, *_extras()]


def _place(folder: Path) -> Finding:
    """Report in which folder runs are stored, and whether it can be written."""
    above = folder
    while not above.exists() and above != above.parent:
        above = above.parent
    if not os.access(above, os.W_OK):
        hint = "choose another with --runs or $INWEIGHTS_RUNS"
        return Finding("runs", f"{folder.resolve()}, not writable", False, hint)
    free = written(shutil.disk_usage(above).free)
    return Finding("runs", f"{folder.resolve()}, {free} free")


def _extras() -> list[Finding]:
    """Return one line of the report for each optional extra."""
    try:
        lines = metadata.requires("inweights") or []
    # The library runs from a source tree and is not installed.
    except metadata.PackageNotFoundError:
        return []
    found = []
    for extra, (_, purpose) in EXTRAS.items():
        of = re.compile(rf"extra\s*==\s*['\"]{extra}['\"]")
        wanted = [line for line in lines if of.search(line)]
        names = [re.split(r"[\s\[<>=!~;(]", line, maxsplit=1)[0] for line in wanted]
        lacking = [name for name in names if version_of(name) == "not installed"]
        if lacking:
            hint = f"for {purpose}: pip install 'inweights[{extra}]'"
            found.append(
                Finding(f"[{extra}]", f"without {', '.join(lacking)}", None, hint)
            )
        elif names:
            found.append(Finding(f"[{extra}]", "installed"))
    return found
