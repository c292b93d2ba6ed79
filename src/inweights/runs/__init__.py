"""Run folders: stored, found again, resumed. Knows no model."""

from inweights.runs.environment import environment
from inweights.runs.files import (
    part_is_whole,
    read_json,
    read_part,
    read_tables,
    told,
    write_json,
    write_part,
    write_tables,
)
from inweights.runs.folder import RunFolder
from inweights.runs.store import RunStore, default_root

__all__ = [
    "RunFolder",
    "RunStore",
    "default_root",
    "environment",
    "part_is_whole",
    "read_json",
    "read_part",
    "read_tables",
    "told",
    "write_json",
    "write_part",
    "write_tables",
]
