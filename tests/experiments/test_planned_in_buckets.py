"""Workers of a plan in a bucket: killed processes, and an unavailable store."""

from __future__ import annotations

import secrets
import signal
import socket
import threading
import urllib.request
from contextlib import suppress
from functools import partial

import pytest
from tests.experiments.planning import stored_once, write
from tests.experiments.small import TRAININGS, Draws, Trainings
from tests.waiting import wait_until

from inweights.actions.plans import work
from inweights.actions.plans.files import Planned
from inweights.errors import WriteError
from inweights.experiments.engine.attempts import task
from inweights.experiments.engine.collect import collect
from inweights.experiments.engine.execution import ExecutionOptions
from inweights.runs.tables.files import open_files
from inweights.runs.tables.store import Store
from inweights.training.checkpoint import Checkpoint


class Proxy(threading.Thread):
    """A proxy for a server that is unavailable for a while: it first accepts some requests."""

    def __init__(self, port: int, taken: int = 20, refused: int = 5) -> None:
        super().__init__(daemon=True)
        self.port, self.taken, self.refused = port, taken, refused
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.own = self.listener.getsockname()[1]
        self.start()

    def run(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.taken -= 1
            if self.taken < 0 < self.refused:
                self.refused -= 1
                client.close()
                continue
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client: socket.socket) -> None:
        with client, socket.create_connection(("127.0.0.1", self.port)) as server:
            back = threading.Thread(target=self.pipe, args=(server, client))
            back.start()
            self.pipe(client, server)
            back.join()

    def pipe(self, a: socket.socket, b: socket.socket) -> None:
        with suppress(OSError):
            while data := a.recv(65536):
                b.sendall(data)
        with suppress(OSError):
            b.shutdown(socket.SHUT_WR)


@pytest.fixture(scope="module")
def server():
    """Yield the address of a moto server."""
    pytest.importorskip("obstore", reason="needs the extra 'cluster'")
    module = pytest.importorskip(
        "moto.server", reason="needs moto; 'make test' installs it"
    )
    server = module.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    yield server._server.server_address[1]
    server.stop()


@pytest.fixture
def bucket(server, monkeypatch) -> str:
    """Return the address of an empty bucket."""
    url = f"http://127.0.0.1:{server}"
    for name, value in {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    name = f"runs-{secrets.token_hex(4)}"
    urllib.request.urlopen(
        urllib.request.Request(f"{url}/{name}", method="PUT")
    ).close()
    return f"s3://{name}/here"


@pytest.fixture
def proxy(server, bucket, monkeypatch):
    """Return a proxy between the bucket and all processes that open it from now on."""
    proxy = Proxy(server)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{proxy.own}")
    yield proxy
    proxy.listener.close()


def worker(place: str, lease: str, steps: str = "inf") -> None:
    """Work on a plan with frequent checkpoints, and stop at a given point."""
    vars(task)["Checkpoint"] = partial(Checkpoint, every_steps=100)

    def progress(done: int, *_: object) -> None:
        if done > float(steps):
            threading.Event().wait()

    work(Planned(place, float(lease)), ExecutionOptions(progress=progress))


WORKER = "tests.experiments.test_planned_in_buckets:worker"
RUNS = 200


@pytest.mark.slow
def test_three_workers_one_bucket_one_killed(bucket, forks) -> None:
    """Each run is stored exactly once although one of three workers is killed."""
    made = write(bucket, seeds=RUNS, settings=Draws(seconds=0.05))
    workers = [forks.start(WORKER, bucket, 2) for _ in range(3)]
    wait_until(lambda: len(made.store.listed()) >= 20, unless=workers[0].end)
    workers[0].kill()
    assert [worker.wait() for worker in workers] == [-signal.SIGKILL, 0, 0]
    status = made.status()
    assert (status.done, status.failed) == (RUNS, 0)
    stored_once(made.store, RUNS)


@pytest.mark.slow
def test_a_bucket_that_does_not_exist_is_named(bucket) -> None:
    address = bucket.replace("s3://runs-", "s3://no-such-")
    with pytest.raises(WriteError, match=r"s3://no-such-.*cannot read or write"):
        open_files(address).create("mark", b"1")


@pytest.mark.slow
def test_a_store_that_is_away_for_a_while_is_waited_for(bucket, proxy) -> None:
    made = write(bucket, seeds=10)
    status = work(Planned(bucket, lease=1.0))
    assert proxy.refused == 0
    assert (status.done, status.failed) == (10, 0)
    stored_once(made.store, 10)


@pytest.mark.slow
def test_a_training_goes_on_from_its_checkpoint_in_the_bucket(
    bucket, tmp_path, forks
) -> None:
    """A worker is killed during training; the next one, with an empty disk, continues."""
    settings = Trainings(steps=300)
    made = write(bucket, TRAININGS, seeds=2, settings=settings)
    first = forks.start(WORKER, bucket, 1, 2 * 150)

    def states() -> list[str]:
        return [
            name
            for name in made.store.files.names("unfinished")
            if name.endswith("state")
        ]

    wait_until(states, unless=first.end)
    first.kill()
    assert first.wait() == -signal.SIGKILL
    assert made.status().done == 0
    seen: list[int] = []
    work(
        Planned(bucket, lease=1.0),
        ExecutionOptions(progress=lambda done, *_: seen.append(done)),
    )
    assert min(seen) > 2 * 100  # of two replicas; training did not begin at step 0
    plan = TRAININGS.plan(settings)
    mine = collect(plan, range(2), made.store)
    alone = collect(plan, range(2), Store(tmp_path))
    assert all(mine[name].equals(alone[name]) for name in alone)
    assert not made.store.files.names("unfinished")
