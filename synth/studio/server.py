"""The studio's server: of this machine's own browser alone, on 127.0.0.1.

    GET  /TOKEN/            the page; /TOKEN/studio.css, /TOKEN/*.js
    GET  /TOKEN/start       all that it begins with
    GET  /TOKEN/normal?photo=0[&small=1]
    POST /TOKEN/low, about, recipe, read, text, save     JSON in; a PNG, a text or JSON out
    POST /TOKEN/photo?name=NAME                          a photograph's bytes in

Every request names the token, which only who started the studio is told, and this very host: a page
of another site can neither guess the one nor, by a name that it lets point here, pass for the other
(DNS rebinding).
"""

from __future__ import annotations

import hmac
import json
import secrets
import socket
import sys
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from typing import Any
from urllib.parse import parse_qs, unquote

from ...errors import ConfigError, GloamError
from .workbench import MOST_BYTES, Workbench

HOST = "127.0.0.1"
_MOST_JSON = 1 << 20
_FILES = {
    "": ("page.html", "text/html; charset=utf-8"),
    "studio.css": ("studio.css", "text/css; charset=utf-8"),
    **{
        name: (name, "text/javascript; charset=utf-8")
        for name in ("studio.js", "controls.js", "pictures.js", "server.js")
    },
}
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:;"
        " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_IDLE = 60.0  # seconds until a connection without requests is closed


class StudioServer(ThreadingHTTPServer):
    """Serves a workbench until it is shut down.

    port: 0 for any that is free.

    address: to open in a browser.

    Raises ConfigError when the port is taken.
    """

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, bench: Workbench, port: int = 0) -> None:
        self.bench, self.token = bench, secrets.token_urlsafe(24)
        try:
            super().__init__((HOST, port), _Handler)
        except (OSError, OverflowError) as error:
            raise ConfigError(f"--port {port}: {error}", key="port", value=port) from error
        self.hosts = tuple(f"{name}:{self.server_port}" for name in (HOST, "localhost"))
        self.address = f"http://{self.hosts[0]}/{self.token}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of connections that a browser gave up."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = _IDLE
    server: StudioServer

    def setup(self) -> None:
        super().setup()
        # Answers are a header and a body: without this the second waits for the first's receipt.
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def do_GET(self) -> None:
        self._answered(self._get)

    def do_POST(self) -> None:
        self._answered(self._post)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the page shows errors."""

    def _answered(self, answer: Callable[[str, dict[str, str]], None]) -> None:
        # Not by urlsplit, which takes `//[` for the address of another host, and refuses it.
        path, _, asked = self.path.partition("?")
        _, token, *rest = (*path.split("/", 2), "", "")[:3]
        if not self._allowed(token):
            self.close_connection = True  # its body, if it has one, is not read
            self._send(HTTPStatus.FORBIDDEN, "text/plain", b"open the address as it was printed\n")
            return
        try:
            query = {name: values[-1] for name, values in parse_qs(asked).items()}
            answer(unquote(rest[0]), query)
        except GloamError as error:
            # An answer of the page's own: browsers note others in their console, as if the page
            # were broken.
            self._error(HTTPStatus.OK, str(error))
        except (LookupError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
            self._error(HTTPStatus.BAD_REQUEST, f"not a request of the page: {error!r}")
        except MemoryError:
            self._error(HTTPStatus.INSUFFICIENT_STORAGE, "out of memory")

    def _allowed(self, token: str) -> bool:
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
        return (
            hmac.compare_digest(token.encode(), self.server.token.encode())
            and host in self.server.hosts
            and (origin is None or origin == f"http://{host}")
        )

    def _get(self, name: str, query: dict[str, str]) -> None:
        if name in _FILES:
            file, kind = _FILES[name]
            self._send(HTTPStatus.OK, kind, (resources.files(__package__) / file).read_bytes())
        elif name == "start":
            self._json(self.server.bench.start())
        elif name == "normal":
            data = self.server.bench.normal(int(query["photo"]), "small" in query)
            self._send(HTTPStatus.OK, "image/png", data)
        else:
            self._error(HTTPStatus.NOT_FOUND, f"there is no {name}")

    def _post(self, name: str, query: dict[str, str]) -> None:
        bench = self.server.bench
        if name == "photo":
            data = self._body(MOST_BYTES)
            number = bench.photographs.add(query.get("name", "photograph")[:200], data)
            self._json(bench.photograph(number))
            return
        asked = json.loads(self._body(_MOST_JSON))
        if name == "low":
            shown = _checked(asked["photo"], asked["values"], asked["seed"])
            ways = bool(asked.get("small")), bool(asked.get("bright"))
            self._send(HTTPStatus.OK, "image/png", bench.low(*shown, *ways))
        elif name == "about":
            shown = _checked(asked["photo"], asked["values"], asked["seed"])
            self._json(bench.about(*shown, str(asked["base"])))
        elif name == "recipe":
            self._json(bench.recipe(str(asked["name"])))
        elif name == "read":
            self._json(bench.read(str(asked["text"]), str(asked["name"])))
        elif name == "text":
            text = bench.text(asked["values"])
            self._send(
                HTTPStatus.OK, "text/yaml; charset=utf-8", text.encode("utf-8", "backslashreplace")
            )
        elif name == "save":
            self._json(bench.save(asked["values"], str(asked["name"]), bool(asked["replace"])))
        else:
            self._error(HTTPStatus.NOT_FOUND, f"there is no {name}")

    def _body(self, most: int) -> bytes:
        """Read what was sent. Raises ConfigError when it is too much, or ends too early."""
        try:
            size = int(self.headers.get("Content-Length", ""))
        except ValueError:
            size = -1
        if not 0 <= size <= most:
            self.close_connection = True
            raise ConfigError(f"{max(size, 0):,} bytes: at most {most:,}, and their number, please")
        data = self.rfile.read(size)
        if len(data) < size:
            self.close_connection = True
            raise ConfigError(f"{len(data):,} of {size:,} bytes came")
        return data

    def _json(self, value: Any) -> None:
        self._send(HTTPStatus.OK, "application/json", json.dumps(value).encode())

    def _error(self, status: HTTPStatus, message: str) -> None:
        self._send(status, "application/json", json.dumps({"error": message}).encode())

    def _send(self, status: HTTPStatus, kind: str, data: bytes) -> None:
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)

    def version_string(self) -> str:
        """Hide the Python version."""
        return "gloam"


def _checked(photo: Any, values: Any, seed: Any) -> tuple[int, dict[str, Any], int]:
    if not isinstance(values, dict):
        raise TypeError("values")
    if not 0 <= int(seed) < 2**63:
        raise ConfigError(f"seed {seed}: must be 0 or more, below 2^63", key="seed", value=seed)
    return int(photo), values, int(seed)
