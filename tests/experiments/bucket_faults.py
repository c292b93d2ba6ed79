"""A program that injects faults into a bucket while two workers process a plan in it.

``python -m tests.experiments.bucket_faults FAULTS [SEED] [HOW…]`` starts a proxy on
127.0.0.1 for moto's server and makes requests fail, chosen at random by their number:
answers ``500`` and ``503``, ``slow`` answers, uploads ``cut`` in the middle, and answers
that are ``lost`` after the server has processed the request, most often for conditional
writes. In the end every table has to be stored once and equal that of an undisturbed
process. With ``away``, there is no answer at all after some request. The workers then have
to end with one clear line after a bounded number of attempts, and the same call has to
continue when the bucket is available again. For each kind of fault, the program prints how
many requests failed, and which.
"""

from __future__ import annotations

import logging
import math
import os
import random
import re
import secrets
import socket
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from contextlib import suppress
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.experiments.small import DRAWS, TRAININGS, Draws, Trainings

from inweights.actions.plans import work, write_plan
from inweights.actions.plans.files import Planned
from inweights.errors import WriteError
from inweights.experiments import Plan
from inweights.experiments.engine.collect import collect
from inweights.runs.tables import patience
from inweights.runs.tables.store import Store

HOW = ("500", "503", "slow", "cut", "lost")
SEEDS, LEASE = 4, 2.0
#: Share of the requests that fail.
SHARE = 0.15
#: Seconds for which requests to an unavailable bucket are repeated. Pauses double from a
#: tenth of a second in obstore, and from half a second here. This gives log2(4 / .1) + 1
#: attempts of the former for each of log2(4 / .5) + 1 of the latter, by two workers with a
#: heartbeat each, for at most five operations: one that fails, and the released leases.
AWAY, MAX_TRIES = 4.0, 7 * 4 * 4 * 5


class Proxy(ThreadingHTTPServer):
    """A proxy for a server that makes some requests fail.

    Args:
        port: Port of the server.
        draw: Random numbers that determine which requests fail.
    """

    daemon_threads = True

    def __init__(self, port: int, draw: random.Random) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.port, self.draw = port, draw
        self.how, self.taken, self.away_from = "", 0, math.inf
        self.log: Counter[str] = Counter()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def next(self, method: str, path: str, conditional: bool) -> str:
        """Return how the next request is handled, and record it if it fails."""
        self.taken += 1
        if self.taken >= self.away_from:
            self.how = "away"
        wrong = self.how == "away" or self.draw.random() < SHARE * (
            4 if conditional else 1
        )
        possible = method == "PUT" or self.how not in ("cut", "lost")
        if not (self.how and wrong and possible):
            return ""
        what = re.sub(
            r"[0-9a-f]{8,}|\d{5,}", "*", path.partition("?")[0].split("/here")[-1]
        )
        self.log[f"{method}{' if none' * conditional} {what.split('-*')[0]}"] += 1
        return self.how

    def handle_error(self, *_: object) -> None:
        """Ignore connections that end, which is intended here."""


class Handler(BaseHTTPRequestHandler):
    """A request, which is forwarded or fails."""

    protocol_version = "HTTP/1.1"
    server: Proxy

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def handle_one(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        conditional = "If-None-Match" in self.headers
        how = self.server.next(self.command, self.path, conditional)
        if how == "away":
            self.end()
            return
        body = self.rfile.read(length // 2 if how == "cut" else length)
        if how == "cut":
            self.forward_raw(body)
            self.end()
        elif how in ("500", "503"):
            self.reply(int(how), {}, b"<Error><Code>InternalError</Code></Error>")
        else:
            if how == "slow":
                time.sleep(0.5)
            answer = self.forward(body)
            self.end() if how == "lost" else self.reply(*answer)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_one  # noqa: N815

    def forward(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        there = HTTPConnection("127.0.0.1", self.server.port)
        there.request(self.command, self.path, body, dict(self.headers))
        answer = there.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()

    def forward_raw(self, body: bytes) -> None:
        """Send part of an upload, and close the connection in the middle."""
        with socket.create_connection(("127.0.0.1", self.server.port)) as there:
            head = f"{self.command} {self.path} HTTP/1.1\r\n{self.headers}"
            there.sendall(head.encode() + body)

    def reply(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() not in (
                "content-length",
                "transfer-encoding",
                "connection",
                "date",
            ):
                self.send_header(name, value)
        self.send_header(
            "Content-Length", headers.get("Content-Length", str(len(body)))
        )
        self.end_headers()
        self.wfile.write(body)

    def end(self) -> None:
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)


def plans() -> Plan:
    """Return a plan of twelve training runs and four draws."""
    trained = TRAININGS.plan(Trainings(kinds=3, steps=20))
    return Plan(
        trials=trained.trials,
        measures=trained.measures,
        computations=DRAWS.plan(Draws()).computations,
    )


def bucket(port: int) -> str:
    """Return the address of an empty bucket."""
    name = f"runs-{secrets.token_hex(4)}"
    url = f"http://127.0.0.1:{port}/{name}"
    urllib.request.urlopen(urllib.request.Request(url, method="PUT")).close()
    return f"s3://{name}/here"


def two_workers(place: str) -> list[str]:
    """Run a plan with two workers, and return the errors with which they end."""
    said: list[str] = []

    def one() -> None:
        try:
            work(Planned(str(place), LEASE))
        except WriteError as error:
            said.append(str(error))

    workers = [threading.Thread(target=one) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return said


def check(place: str, alone: dict[str, Any]) -> None:
    """Check that each table is stored once and equals that of a single process."""
    store = Planned(str(place)).store
    names = [name for name in store.files.names("") if name.endswith(".parquet")]
    stored = Counter((name.split("/")[-2], name.rpartition("-")[0]) for name in names)
    assert set(stored.values()) == {1}, "a table is stored twice"
    assert len({owner for owner, _ in stored}) == 3 * SEEDS + SEEDS, "a run is lost"
    assert all(store.has(owner, part.rpartition("/")[2]) for owner, part in stored)
    mine = collect(plans(), range(SEEDS), store)
    assert all(mine[name].equals(alone[name], null_equal=True) for name in alone)


def tried(proxy: Proxy, port: int, how: str, alone: dict[str, Any]) -> str:
    """Run a plan while requests fail, and return how it ended."""
    place = bucket(port)
    if how == "away":
        write_plan(plans(), range(SEEDS), place, plugins=["tests.experiments.small"])
        before, proxy.away_from = (
            proxy.log.total(),
            proxy.taken + proxy.draw.randint(1, 150),
        )
        said = two_workers(place)
        proxy.how, proxy.away_from = "", math.inf
        assert all(
            "\n" not in line and "the same command goes on" in line for line in said
        ), said
        assert proxy.log.total() - before <= MAX_TRIES
    else:
        proxy.how = how
        write_plan(plans(), range(SEEDS), place, plugins=["tests.experiments.small"])
        said = two_workers(place)
        assert not said, said
    proxy.how = ""
    assert not two_workers(place)
    check(place, alone)
    return "one line" if said else "went on"


def main(faults: str, seed: str = "0", *hows: str) -> None:
    from moto.server import ThreadedMotoServer

    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    moto.start()
    port = moto._server.server_address[1]
    proxy = Proxy(port, random.Random(seed))
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        os.environ.pop(name, None)
    os.environ |= {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{proxy.server_address[1]}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    alone = collect(plans(), range(SEEDS), Store(tempfile.mkdtemp()))
    for how in hows or (*HOW, "away"):
        vars(patience)["PATIENCE"] = AWAY if how == "away" else 600.0
        ends: Counter[str] = Counter()
        proxy.log.clear()
        rounds = 0
        while (
            ends["one line"] < int(faults) / 4
            if how == "away"
            else proxy.log.total() < int(faults)
        ):
            rounds += 1
            ends[tried(proxy, port, how, alone)] += 1
        wrong = proxy.log.total()
        sys.stdout.write(
            f"{wrong} requests {how} in {rounds} plans, 0 differences: {dict(ends)}\n"
        )
        for what, count in sorted(proxy.log.items()):
            sys.stdout.write(f"{count:4} {what}\n")
        sys.stdout.flush()
    moto.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
