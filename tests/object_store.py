"""An S3 server on loopback (moto's), and a proxy before it that fails as networks do."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

_SERVER = """
import logging, sys, time
import boto3
from moto.server import ThreadedMotoServer
logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
host, port = server.get_host_and_port()
client = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}", region_name="us-east-1")
client.create_bucket(Bucket="bucket")
print(port, flush=True)
sys.stdin.read()
"""
_KEYS = {
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
}


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The address of a server, with a bucket that is called so."""
    pytest.importorskip("obstore")
    pytest.importorskip("moto")
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", _SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **_KEYS},
    )
    assert process.stdout is not None
    port = process.stdout.readline().strip()
    assert port, "moto's server does not start"
    yield f"http://127.0.0.1:{port}"
    process.kill()
    process.communicate()


@pytest.fixture
def bucket(server: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A place of the test's own in the bucket."""
    for name, value in {**_KEYS, "AWS_ENDPOINT_URL": server}.items():
        monkeypatch.setenv(name, value)
    return f"s3://bucket/{abs(hash(request.node.nodeid)):x}"


@pytest.fixture
def through(bucket: str, server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """The same behind a proxy, which a test tells how to fail."""
    proxy = Proxy(server)
    monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.address)
    yield proxy
    proxy.close()


class Proxy:
    """Passes requests on to a server, and fails those for which `fails` returns how.

    "500" answers so, "reset" breaks the connection off, "stall" goes silent, "truncate" cuts the
    answer's body short.
    """

    def __init__(self, server: str) -> None:
        self.target = server.removeprefix("http://")
        self.fails: Callable[[int, str, str], str] = lambda number, method, path: ""
        self.count, self.failed = 0, 0
        self._lock = threading.Lock()
        self._ended = threading.Event()
        handler = type("Handler", (_Handler,), {"proxy": self})
        self._http = _Server(("127.0.0.1", 0), handler)
        self.address = f"http://127.0.0.1:{self._http.server_address[1]}"
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def how(self, method: str, path: str) -> str:
        with self._lock:
            self.count += 1
            fails = self.fails(self.count, method, path)
            self.failed += bool(fails)
            return fails

    def wait(self) -> None:
        """Until whoever asked has gone."""
        self._ended.wait(30)

    def close(self) -> None:
        self._ended.set()
        self._http.shutdown()
        self._http.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, address: Any) -> None:
        pass  # clients go when they are failed


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    proxy: Proxy

    def log_message(self, *args: Any) -> None:
        pass

    def _pass(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        how = self.proxy.how(self.command, self.path)
        if how == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            self.connection.close()
            self.close_connection = True
            return
        if how == "stall":
            self.proxy.wait()
            self.close_connection = True
            return
        if how == "500":
            self.send_response(500)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        connection = http.client.HTTPConnection(self.proxy.target, timeout=60)
        connection.request(self.command, self.path, body, dict(self.headers))
        answer = connection.getresponse()
        data = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                self.send_header(name, value)
        length = len(data) if self.command != "HEAD" else int(answer.getheader("Content-Length", 0))
        self.send_header("Content-Length", str(length))
        self.end_headers()
        if how == "truncate":
            self.wfile.write(data[: len(data) // 2])
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
        else:
            self.wfile.write(data)
        connection.close()

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _pass  # noqa: N815
