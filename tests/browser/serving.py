"""Runs `rematlas serve` in its own process, for tests.

with Serving(graph) as served:
    status, headers, body = served.ask("/state")
"""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import time

PROGRAM = os.environ.get("REMATLAS_PROGRAM", "rematlas")
PATIENCE = 120  # seconds; an answer that takes longer counts as missing


class Serving:
    def __init__(self, *files: object, options: tuple[str, ...] = ()) -> None:
        self.words = [PROGRAM, "serve", *map(str, files), "--port", "0", *options]

    def __enter__(self) -> "Serving":
        self.process = subprocess.Popen(self.words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.told = self.process.stdout.readline()
        if not self.told:
            raise AssertionError(self.process.stderr.read())
        if "--json" not in self.words:
            self.ssh = self.process.stdout.readline()
        self.address = json.loads(self.told)["address"] if "--json" in self.words else self.told.strip()
        self.port, self.token = re.fullmatch(
            r"http://127\.0\.0\.1:(\d+)/\?token=([0-9a-f]+)", self.address
        ).groups()
        self.port = int(self.port)
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()

    def end(self, number: int = signal.SIGTERM) -> int:
        """Sends the signal to the server. Returns its exit status."""
        self.process.send_signal(number)
        return self.process.wait(timeout=PATIENCE)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def raw(self, request: bytes) -> bytes:
        """Sends the bytes. Returns everything that arrives until the server closes the connection."""
        with self.connect() as connection:
            connection.sendall(request)
            answer = b""
            while part := connection.recv(65536):
                answer += part
            return answer

    def ask(
        self, path: str, question: object = None, method: str | None = None, **headers: str | None
    ) -> tuple[int, dict[str, str], bytes]:
        """Sends a request. Returns status, headers and body of the answer. `headers` replace the headers that
        the page sends; a header that is None is left out."""
        sent = {"Host": f"127.0.0.1:{self.port}", "Authorization": f"Bearer {self.token}"}
        body = None
        if question is not None:
            body = question if isinstance(question, bytes) else json.dumps(question).encode()
            sent |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.putrequest(
            method or ("GET" if body is None else "POST"), path, skip_host=True, skip_accept_encoding=True
        )
        for name, value in sent.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        told = answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        connection.close()
        return told

    def state(self, since: int | None = None) -> dict:
        status, _, body = self.ask("/state" if since is None else f"/state?since={since}")
        if status != 200:
            raise AssertionError(f"{status}: {body}")
        return json.loads(body)

    def start(self, path: str, question: object) -> int:
        """Starts a job. Returns its number."""
        status, _, body = self.ask(path, question)
        if status != 202:
            raise AssertionError(f"{status}: {body}")
        return json.loads(body)["job"]

    def wait_for(self, job: int, *phases: str) -> dict:
        """Waits until the job is in one of the phases. Returns the job."""
        revision, end = 0, time.monotonic() + PATIENCE
        while time.monotonic() < end:
            state = self.state(revision)
            revision = state["revision"]
            found = next(one for one in state["jobs"] if one["id"] == job)
            if found["phase"] in phases:
                return found
        raise AssertionError(f"job {job} is {found['phase']}: {found['words']}")
