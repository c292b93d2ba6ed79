"""A model at a URL: requests are repeated and stored, and the key is never written."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import wait_until

from inweights.cli import main
from inweights.errors import ConfigError, DataError, RunError
from inweights.lm import Question
from inweights.lm.exams.endpoint import Endpoint, ask_endpoint, requests_of

TWO = ("Italy", "Peru")
ASKED = [
    Question("0", "composition", "Where was Ann born?", TWO, 0, accepted=("Italia",)),
    Question("1", "reversal", "Who is in Peru?", TWO, 1),
    Question("2", "reversal", "Who is in Peru?", TWO, 0),
]


#: In place of a status code: a response that ends before its stated length.
CUT = 1


class Server(ThreadingHTTPServer):
    """A server that answers Italy and is busy for a given number of requests."""

    seen: list[tuple[str, dict[str, Any]]]
    busy: list[int]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.seen.append((self.headers.get("Authorization", ""), body))
        code = self.server.busy.pop() if self.server.busy else 200
        said = {"choices": [{"message": {"content": " italia.\n"}}]}
        error = {"error": {"message": "no such model"}}
        content = json.dumps(said if code in (200, CUT) else error).encode()
        self.send_response(200 if code == CUT else code)
        self.send_header("Content-Length", str(len(content) + (code == CUT)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Stay silent."""


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server(("127.0.0.1", 0), Handler)
    made.seen, made.busy = [], []
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def address(server: Server) -> str:
    return f"http://127.0.0.1:{server.server_port}/v1/"


def test_each_question_is_asked_once_and_kept(server, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a secret")
    kept, endpoint = tmp_path / "answers.jsonl", Endpoint(address(server), "small")
    assert requests_of(endpoint, ASKED, kept)[0] == 2
    made = ask_endpoint(endpoint, ASKED, kept)
    assert made["answers"]["hit"].to_list() == [True, False, False]
    assert len(server.seen) == 2
    assert {key for key, _ in server.seen} == {"Bearer a secret"}
    assert server.seen[0][1]["model"] == "small"
    assert "secret" not in kept.read_text()
    again = ask_endpoint(endpoint, ASKED, kept)
    assert again["answers"].equals(made["answers"])
    assert len(server.seen) == 2
    assert requests_of(endpoint, ASKED, kept) == (0, 0)
    kept.write_bytes(kept.read_bytes()[:-9])  # killed while it wrote the last answer
    assert requests_of(endpoint, ASKED, kept)[0] == 1
    assert ask_endpoint(endpoint, ASKED, kept)["answers"].equals(made["answers"])
    assert len(server.seen) == 3
    assert requests_of(endpoint, ASKED, kept) == (0, 0)


def test_a_busy_server_is_asked_again_after_longer_and_longer(server, tmp_path) -> None:
    server.busy, waited = [500, CUT, 429], list[float]()
    ask_endpoint(
        Endpoint(address(server), "small", at_once=1),
        ASKED[:1],
        tmp_path / "a",
        wait=waited.append,
    )
    assert waited == [1.0, 2.0, 4.0]


def test_what_will_not_come_right_is_said_at_once(server, tmp_path) -> None:
    server.busy = [401]
    endpoint = Endpoint(address(server), "small", at_once=1)
    with pytest.raises(
        RunError, match=r"did not answer: 401 Unauthorized; is OPENAI_API_KEY set"
    ):
        ask_endpoint(endpoint, ASKED[:1], tmp_path / "a")
    server.busy = [404, 200]
    told = r'404 Not Found {"error": {"message": "no such model"}}; 1 of 2 answers are stored'
    with pytest.raises(RunError, match=told):
        ask_endpoint(endpoint, ASKED, tmp_path / "a")
    assert requests_of(endpoint, ASKED, tmp_path / "a")[0] == 1
    server.busy = [404]
    with pytest.raises(RunError, match="most addresses end in /v1"):
        Endpoint(address(server).removesuffix("v1/"), "small").answer("?")
    waited: list[float] = []
    with pytest.raises(RunError, match="after 6 tries"):
        Endpoint("http://127.0.0.1:1/v1", "small").answer("?", waited.append)
    assert waited == [1.0, 2.0, 4.0, 8.0, 16.0]
    with pytest.raises(ConfigError, match="must begin with http"):
        Endpoint("localhost", "small")
    (tmp_path / "a").write_text("{\n")
    with pytest.raises(DataError, match="cannot be read"):
        requests_of(Endpoint("http://x", "small"), ASKED, tmp_path / "a")


def test_a_server_that_is_lost_is_not_asked_again_for_each_question(
    server, tmp_path
) -> None:
    asked = [Question(str(i), "reversal", f"Who is {i}?", TWO, 0) for i in range(40)]
    server.busy, waited = [503] * 400, list[float]()
    endpoint = Endpoint(address(server), "small", at_once=2)
    with pytest.raises(RunError, match="after 6 tries: 503"):
        ask_endpoint(endpoint, asked, tmp_path / "a", wait=waited.append)
    assert len(waited) <= 2 * 5, (
        "whoever is at work ends its question, and begins no other"
    )


def test_the_command_prints_groups(server, tmp_path: Path, capsys) -> None:
    rows = [
        {
            "role": "reversal",
            "prompt": "Who?",
            "answer": "Italia",
            "candidates": ["Italia"],
        }
    ]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, rows)))
    words = [
        "evaluate",
        "small",
        str(tmp_path / "q.jsonl"),
        "--endpoint",
        address(server),
    ]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "1 request" in out
    assert "reversals" in out
    assert (tmp_path / "q.jsonl.answers.jsonl").exists()
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["groups"][0]["accuracy"] == 1.0


@pytest.mark.slow
def test_a_real_server_is_asked(tmp_path: Path) -> None:
    """The server is ``transformers serve`` with a random model, in a separate process."""
    for module in ("fastapi", "uvicorn", "openai"):
        pytest.importorskip(
            module, reason="pip install 'transformers[serving]' lifts this"
        )
    from inweights.lm import load_model

    model = load_model("@tiny", chat=True).save(tmp_path / "model")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [Path(sys.executable).with_name("transformers"), "serve", model]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    with (tmp_path / "log").open("w") as log:
        server = subprocess.Popen([*map(str, command)], stdout=log, stderr=log)
    try:
        url = f"http://127.0.0.1:{port}"

        def answers() -> bool:
            with suppress(OSError), urllib.request.urlopen(f"{url}/health"):
                return True
            return False

        def failed() -> str | None:
            return None if server.poll() is None else (tmp_path / "log").read_text()

        wait_until(answers, unless=failed)
        kept = tmp_path / "answers.jsonl"
        endpoint = Endpoint(f"{url}/v1", str(model), tokens=4)
        made = ask_endpoint(endpoint, ASKED, kept)
        assert made["answers"]["id"].to_list() == ["0", "1", "2"]
        assert len(kept.read_text().splitlines()) == 2
    finally:
        server.terminate()
        server.wait()
    # There is no server.
    assert ask_endpoint(endpoint, ASKED, kept)["answers"].equals(made["answers"])
