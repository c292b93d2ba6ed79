"""What all tasks of a run have in common: where results go, and on what the work is done."""

from __future__ import annotations

import secrets
from pathlib import Path

import msgspec

from inweights.lab.store.tables import Store
from inweights.runs import environment
from inweights.support.links import within

__all__ = ["Job", "installed_version", "open_store", "store_below"]


def installed_version() -> str:
    """Return the version of the library on this machine."""
    return str(environment()["packages"]["inweights"])


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What all tasks of a run have in common.

    Attributes:
        store: Folder or address of the store.
        device: Where models live.
        threads: Threads of one process.
        plugins: Modules of others that tasks may name.
        lease: Seconds after which a task whose holder gave no sign is taken over; 0 where all
            processes are on this machine, whose system frees what a dead one held.
        owner: Names whoever hands out the tasks; it may give a task that it has lost to another
            process at once.
        version: The library's, which has to be that of every machine.
    """

    store: str
    device: str = "cpu"
    threads: int = 1
    plugins: tuple[str, ...] = ()
    lease: float = 0.0
    owner: str = msgspec.field(default_factory=lambda: secrets.token_hex(8))
    version: str = msgspec.field(default_factory=installed_version)


def open_store(job: Job) -> Store:
    """Return the store that a job fills."""
    return Store(job.store, lease=job.lease, owner=job.owner)


def store_below(place: str | Path) -> str:
    """Return the store of a plan, or of all runs, at a folder or address; a link is refused."""
    return f"{place}/store" if "://" in str(place) else str(within(place, "store"))
