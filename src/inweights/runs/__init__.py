"""Run folders: stored, found again, resumed. Knows no model."""

from inweights.runs.environment import environment
from inweights.runs.folder import (
    RunFolder,
    RunStore,
    default_root,
    read_tables,
    write_json,
    write_tables,
)

__all__ = [
    "RunFolder",
    "RunStore",
    "default_root",
    "environment",
    "read_tables",
    "write_json",
    "write_tables",
]
