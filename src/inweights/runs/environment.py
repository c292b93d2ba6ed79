"""Record the software and the machine of a run: versions, commits and processor.

:func:`environment` is stored with every run; :func:`repositories` and :func:`file_at`
read git.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

#: Seconds after which git is stopped; a run does not wait longer for it.
_PATIENCE = 5
_LIBRARY = Path(__file__).resolve().parents[1]


def environment(commits: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a record of this process's software and machine: versions, commits and processor.

    The record contains no user names, host names or paths. It describes torch and
    linear-algebra libraries only if this process has loaded them; nothing is imported
    for this purpose.

    Args:
        commits: Commits to record, in the form returned by :func:`repositories`. If
            ``None`` (the default), that function is called. If the mapping is empty, no
            commits are recorded.

    Returns:
        Dictionary of JSON values with the keys ``python`` (version); ``packages`` (a
        dictionary from name to version, of the library and of the installed packages on
        which it depends, directly or indirectly); ``repositories`` (``commits``, or the
        result of :func:`repositories`); ``system`` (such as ``Linux``); ``machine``
        (architecture, such as ``x86_64``); ``processor`` (its name, or the architecture
        if the system has no name for it); ``cores`` (number of logical cores, 0 if
        unknown); ``blas``, a list with the ``library``, ``version``, ``kernel`` and
        number of ``threads`` of each loaded linear-algebra or OpenMP library; and
        ``torch``, a dictionary with the CPU instruction set that torch uses
        (``instructions``), its number of ``threads`` and the name of its linear-algebra
        library (``blas``). This dictionary is empty if torch is not loaded.

    Example:
        >>> sorted(environment({}))[:4]
        ['blas', 'cores', 'machine', 'packages']
    """
    from threadpoolctl import threadpool_info

    return {
        "python": platform.python_version(),
        "packages": dict(_packages()),
        "repositories": dict(repositories() if commits is None else commits),
        "system": platform.system(),
        "machine": platform.machine(),
        "processor": _processor(),
        "cores": os.cpu_count() or 0,
        "blas": [
            {
                "library": one["internal_api"],
                "version": one["version"],
                "kernel": one.get("architecture"),
                "threads": one["num_threads"],
            }
            for one in threadpool_info()
        ],
        "torch": _torch(),
    }


def version_of(package: str) -> str:
    """Return the installed version of a package, or ``not installed``.

    Args:
        package: Name under which ``pip`` installs the package.

    Raises:
        ValueError: ``package`` is an empty string.

    Example:
        >>> version_of("no-such-package")
        'not installed'
    """
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def repositories() -> dict[str, dict[str, Any]]:
    """Return the commits of the library's checkout and of the current folder's git repository.

    Returns:
        Dictionary with the entry ``inweights``, if the library runs from a checkout,
        and the entry ``current folder``, if the current folder is in a different
        repository. A repository without a commit is left out; both entries are left out
        if git is missing or takes longer than five seconds. Each entry is a dictionary
        with ``commit`` (the full hash) and ``clean`` (whether all tracked files are as
        committed; ``None`` if that is unknown).
    """
    found: dict[str, dict[str, Any]] = {}
    own = _top(_LIBRARY)
    # If the roots differ, the library is installed inside another repository.
    if own is not None and own == _LIBRARY.parents[1]:
        found["inweights"] = _state(own)
    here = _top(Path.cwd())
    if here is not None and here != own:
        found["current folder"] = _state(here)
    return {name: state for name, state in found.items() if state["commit"]}


def file_at(commit: str, path: Path) -> bytes | None:
    """Return the content of a file at a commit of its repository.

    Args:
        commit: Hash of a commit (7 to 64 hexadecimal digits), or ``HEAD``.
        path: Path of the file in the working tree. The file need not exist there, but
            its folder must.

    Returns:
        The content of the file. ``None`` if git is not installed or takes longer than
        five seconds, if the folder does not exist or is outside a repository, if
        ``commit`` has a different form, or if the commit does not contain the file.
        Only text files are returned unchanged: bytes that cannot be decoded in the
        encoding of the system (usually UTF-8) are replaced, and all line endings become
        line feeds.

    Example:
        >>> file_at("not-a-commit", Path("README.md")) is None
        True
    """
    folder = path.resolve().parent
    if not folder.is_dir() or not re.fullmatch(r"[0-9a-f]{7,64}|HEAD", commit):
        return None
    content = _git(folder, "show", f"{commit}:./{path.name}", strip=False)
    return None if content is None else content.encode()


def _top(folder: Path) -> Path | None:
    """Return the top folder of a folder's git repository, or ``None`` if there is none."""
    answer = _git(folder, "rev-parse", "--show-toplevel")
    return Path(answer).resolve() if answer else None


def _state(top: Path) -> dict[str, Any]:
    """Return the commit of a repository, and whether its tracked files are as committed."""
    # 'git status' runs the programs that are configured as filters. It is not called if
    # the repository's own config has filters, since the repository may be somebody
    # else's.
    filters = _git(
        top, "config", "--show-scope", "--name-only", "--get-regexp", r"^filter\."
    )
    clean = None
    if filters is not None and not re.search(
        r"^(local|worktree)\b", filters, re.MULTILINE
    ):
        changed = _git(
            top,
            "-c",
            "core.fsmonitor=false",
            "--no-optional-locks",
            "status",
            "--porcelain",
            "--untracked-files=no",
            "--ignore-submodules=all",
        )
        clean = None if changed is None else not changed
    return {
        "commit": _git(top, "rev-parse", "--verify", "--quiet", "HEAD"),
        "clean": clean,
    }


def _git(folder: Path, *words: str, strip: bool = True) -> str | None:
    """Return the output of git; ``None`` if git is missing, fails or takes too long."""
    program = shutil.which("git")
    if program is None:
        return None
    # Variables such as GIT_DIR, which git sets for hooks, would select another
    # repository.
    env = {
        name: value for name, value in os.environ.items() if not name.startswith("GIT_")
    }
    try:
        done = subprocess.run(  # noqa: S603 - a fixed program, no shell
            [program, "-C", str(folder), *words],
            env=env,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    # 'git config' exits with 1 if no setting matches, which is not an error here.
    nothing_matches = "config" in words and done.returncode == 1
    if done.returncode != 0 and not nothing_matches:
        return None
    return done.stdout.strip() if strip else done.stdout


@lru_cache(maxsize=1)
def _packages() -> tuple[tuple[str, str], ...]:
    """Return versions of all installed packages that the library needs, directly or indirectly.

    Installed optional packages are included, except those for building and testing the
    library.
    """
    found: dict[str, str] = {}
    pending = ["inweights"]
    while pending:
        name = re.sub(r"[-_.]+", "-", pending.pop()).lower()
        if name in found:
            continue
        try:
            package = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            if name == "inweights":
                found[name] = "not installed"
            continue
        # The parser of importlib.metadata takes milliseconds per package, since it also
        # parses the long description.
        head = (package.read_text("METADATA") or "").partition("\n\n")[0]
        version = re.search(r"^Version: *(\S+)", head, re.MULTILINE)
        found[name] = version[1] if version else package.version
        needs = re.findall(r"^Requires-Dist: *(.+)", head, re.MULTILINE)
        for requirement in needs if version else package.requires or ():
            needed, _, marker = requirement.partition(";")
            for_development = re.search(r"""["'](dev|docs)["']""", marker)
            own_extra = name == "inweights" and not for_development
            if own_extra or "extra" not in marker:
                pending.append(re.split(r"[^\w.-]", needed.strip(), maxsplit=1)[0])
    return tuple(sorted(found.items()))


@lru_cache(maxsize=1)
def _processor() -> str:
    """Return the name of the processor, or its architecture if the system has no name for it."""
    try:
        about = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        about = ""
    named = re.search(r"^model name\s*:\s*(.+)$", about, re.MULTILINE)
    name = named[1] if named else platform.processor() or platform.machine()
    return name.strip().replace("w/", "with")


def _torch() -> dict[str, Any]:
    """Return torch's instruction set, threads and linear algebra; empty if torch is not loaded."""
    torch = sys.modules.get("torch")
    if torch is None:
        return {}
    blas = re.search(r"BLAS_INFO=(\w+)", torch.__config__.show())
    return {
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "blas": blas[1] if blas else "",
    }
