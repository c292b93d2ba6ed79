"""Begins a Ray cluster of one's own machine with what tasks need, and nothing that they wait for.

Ray has no settings for these, so functions of its own are replaced while a cluster begins. Where a
version of Ray has them no longer, the cluster begins all the same, seconds later.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib import import_module
from inspect import signature
from typing import Any
from unittest import mock

__all__ = ["bare"]

#: Processes that watch over machines and people. Ray waits for the first one.
_NEEDLESS = ("start_api_server", "start_log_monitor", "start_monitor")
#: Ports that a node waits for until its agents have told them.
_PORTS = ("metrics_agent_port", "metrics_export_port", "runtime_env_agent_port")
#: Seconds until a node that does not answer has failed: Ray's 30 are few on a busy machine.
_PATIENCE = 120


@contextmanager
def bare() -> Iterator[None]:
    """Let clusters and nodes that begin in the block do so quickly, or late on a busy machine."""
    from ray._private import node, services, utils

    replaced: tuple[tuple[Any, str, Callable[..., Any]], ...] = (
        *((node.Node, name, _nothing) for name in _NEEDLESS),
        (utils, "get_dashboard_dependency_error", _incomplete),
        (services, "start_raylet", _start_told),
        (services, "get_node", _look),
    )
    with ExitStack() as stack:
        for where, name, other in replaced:
            if own := getattr(where, name, None):
                stack.enter_context(mock.patch.object(where, name, partial(other, own)))
        yield


def _nothing(*_: Any, **__: Any) -> None:
    """Begin nothing."""


def _incomplete(_: Callable[..., Any]) -> Exception:
    """Say that no dashboard can be had: the agent of a node leaves out what it would ask."""
    return ImportError("no dashboard is wanted")


def _start_told(start: Callable[..., Any], *words: Any, **options: Any) -> Any:
    """Start a node that is told the ports of its agents, for which it else waits."""
    raylet: Any = import_module("ray._raylet")
    about = signature(start)
    if not about.parameters.keys() >= {*_PORTS} or not hasattr(raylet, "persist_port"):
        return start(*words, **options)
    with ExitStack() as stack:
        taken = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in _PORTS]
        ports = dict(zip(_PORTS, (one.getsockname()[1] for one in taken), strict=True))
    given = about.bind(*words, **options).arguments
    nowhere = (raylet.DASHBOARD_AGENT_LISTEN_PORT_NAME, -1)
    raylet.persist_port(given["session_dir"], given["node_id"], *nowhere)
    return start(*words, **(options | ports))


def _look(look: Callable[..., Any], *words: Any) -> Any:
    """Look for a node until it is there."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            return look(*words)
        except RuntimeError:
            if time.monotonic() > deadline:
                raise
