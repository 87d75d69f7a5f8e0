"""The studio's server: who may ask, and what becomes of what is sent."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading

import pytest

import gloam
from gloam.errors import ConfigError
from gloam.synth.recipes.load import load_recipe
from gloam.synth.studio.server import StudioServer
from gloam.synth.studio.workbench import MOST_BYTES, Photographs, Workbench

from .test_workbench import encoded, pixels, values_of


@pytest.fixture
def server(tmp_path):
    bench = Workbench(
        Photographs([("a.png", encoded())]), load_recipe("even"), "even", tmp_path, seed=2
    )
    with StudioServer(bench) as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def asked(server, method, path, body=None, token=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port)
    try:
        own = server.token if token is None else token
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        connection.request(method, f"/{own}/{path}", data, headers)
        answer = connection.getresponse()
        return answer.status, answer.read(), answer
    finally:
        connection.close()


def test_it_answers(server):
    status, page, answer = asked(server, "GET", "")
    assert status == 200
    assert b"<title>gloam studio</title>" in page
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["Cache-Control"] == "no-store"
    for name in re.findall(rb'(?:src|href)="([a-z.]+)"', page):
        assert asked(server, "GET", name.decode())[0] == 200
    begun = json.loads(asked(server, "GET", "start")[1])
    assert begun["seed"] == 2
    assert begun["values"]["name"] == "even"
    body = {"photo": 0, "values": values_of("even"), "seed": 3}
    status, low, _ = asked(server, "POST", "low", body)
    assert status == 200
    normal = server.bench.photographs.normal(0)
    assert (pixels(low) == gloam.darken(normal, "even", seed=3, key="image")).all()
    assert (pixels(asked(server, "GET", "normal?photo=0")[1]) == normal).all()
    about = json.loads(asked(server, "POST", "about", {**body, "base": "even"})[1])
    assert about["command"].endswith("--recipe even --seed 3")


@pytest.mark.parametrize("path", ["", "start", "normal?photo=0", "studio.js", "../../etc/passwd"])
def test_strangers_get_403(server, path):
    port = server.server_port
    for token in ("", "x", server.token[:-1], server.token + "x", "é"):
        if not token.isascii():
            token = "%C3%A9"
        assert asked(server, "GET", path, token=token)[0] == 403
    for host in ("example.com", f"example.com:{port}", "127.0.0.1", f"localhost:{port + 1}", ""):
        assert asked(server, "GET", path, Host=host)[0] == 403
    for origin in ("http://example.com", "null", "https://127.0.0.1", f"http://localhost:{port}"):
        assert asked(server, "GET", path, Origin=origin)[0] == 403
    body = {"photo": 0, "values": {}, "seed": 0}
    assert asked(server, "POST", "low", body, token="x")[0] == 403
    assert asked(server, "POST", "low", body, Origin="http://evil.example")[0] == 403
    own = f"http://127.0.0.1:{port}"
    assert asked(server, "POST", "low", body, Origin=own)[0] == 200
    assert asked(server, "GET", "start", Host=f"localhost:{port}")[0] == 200


def test_what_is_wrong_gets_a_message(server, tmp_path, capfd):
    body = {"photo": 0, "values": values_of("even"), "seed": 3}
    for name, wrong, status in (
        ("low", {**body, "photo": 5}, 200),
        ("low", {**body, "seed": -1}, 200),
        ("low", {**body, "values": {"exposure": {"ev": 99}}}, 200),
        ("low", {**body, "values": {"camera": {"iso": "uniform(5, 1)"}}}, 200),
        ("low", {**body, "values": 3}, 400),
        ("low", {"photo": 0}, 400),
        ("low", b"{", 400),
        ("low", b"[]", 400),
        ("low", b"\xff", 400),
        ("low", b"[" * 200_000, 400),
        ("low", b'{"photo":' + b"[" * 100_000, 400),
        ("low", b'{"photo": 1e400, "values": {}, "seed": 1}', 400),
        ("low", b'{"photo": 0, "values": {}, "seed": 1e400}', 400),
        ("low", b'{"photo": 0, "values": {}, "seed": NaN}', 400),
        ("about", b'{"photo": -1e999, "values": {}, "seed": 1, "base": ""}', 400),
        ("low", {**body, "values": {**body["values"], "exposure": {"ev": float("inf")}}}, 200),
        ("read", {"text": "[" * 100_000, "name": "x.yaml"}, 200),
        ("read", {"text": "a: 1e400", "name": "x.yaml"}, 200),
        ("nothing?" + "a&" * 5000 + "a=1", {}, 404),
        ("save", {"values": body["values"], "name": "../x", "replace": True}, 200),
        ("recipe", {"name": "/etc/passwd"}, 200),
        ("read", {"text": "a: [", "name": "x.yaml"}, 200),
        ("nothing", {}, 404),
    ):
        found, answer, _ = asked(server, "POST", name, wrong)
        assert found == status, (name, wrong, answer)
        assert json.loads(answer)["error"]
    deep: object = 0
    for _ in range(900):
        deep = {"a": deep}
    for wrong in (deep, {"camera": deep}, {"mixture": deep}, {"name": "x", "exposure": deep}):
        found, answer, _ = asked(server, "POST", "low", {**body, "values": wrong})
        assert json.loads(answer)["error"]
    assert "Traceback" not in capfd.readouterr().err
    assert asked(server, "GET", "page.html")[0] == 404
    assert asked(server, "GET", "..%2f..%2fsetup.cfg")[0] == 404
    assert list(tmp_path.iterdir()) == []


def test_uploads_are_limited_and_decoded_as_sources_are(server):
    status, answer, _ = asked(server, "POST", "photo?name=b.jpg", encoded(64, 48, "jpeg"))
    assert status == 200
    assert json.loads(answer) == {
        "number": 1, "name": "b.jpg", "width": 64, "height": 48, "shrunk": "",
    }  # fmt: skip
    bomb = encoded()[:16] + (60_000).to_bytes(4, "big") * 2 + encoded()[24:]
    for hostile in (b"", b"<svg/>", encoded()[:200], bomb, b"\x00" * 1000):
        status, answer, _ = asked(server, "POST", "photo?name=x", hostile)
        assert status == 200, hostile[:20]
        assert json.loads(answer)["error"]
    status, answer, _ = asked(server, "POST", "photo", None, **{"Content-Length": str(1 << 40)})
    assert status == 200
    assert f"{MOST_BYTES:,}" in json.loads(answer)["error"]
    for size in ("-5", "many", "99999999999999999999999"):
        status, answer, _ = asked(server, "POST", "low", None, **{"Content-Length": size})
        assert json.loads(answer)["error"]
    assert len(server.bench.photographs) == 2


def test_a_client_that_goes_away_harms_nobody(server, capsys):
    with socket.create_connection(("127.0.0.1", server.server_port)) as connection:
        connection.sendall(
            f"POST /{server.token}/photo HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n"
            "Content-Length: 1000\r\n\r\nabc".encode()
        )
    with socket.create_connection(("127.0.0.1", server.server_port)) as connection:
        connection.sendall(b"\x16\x03\x01 nonsense\r\n\r\n")
    assert asked(server, "GET", "start")[0] == 200
    assert "Traceback" not in capsys.readouterr().err


def test_a_port_that_is_taken(server):
    with pytest.raises(ConfigError, match="--port"):
        StudioServer(server.bench, server.server_port)


def test_the_command_serves_until_it_is_stopped(photographs, tmp_path):
    command = [sys.executable, "-m", "gloam", "studio", str(photographs), "--recipe", "even"]
    with subprocess.Popen(
        [*command, "--no-open"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as process:
        first = process.stdout.readline()
        address = re.search(r"http://127\.0\.0\.1:(\d+)/(\S+)/", first)
        assert first.startswith("24 photographs; open ")
        connection = http.client.HTTPConnection("127.0.0.1", int(address[1]))
        connection.request("GET", f"/{address[2]}/start")
        assert connection.getresponse().status == 200
        connection.close()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert process.returncode == 130
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []
    wrong = subprocess.run(
        [*command[:4], str(tmp_path / "none.jpg")], capture_output=True, text=True
    )
    assert wrong.returncode == 1
    assert len(wrong.stderr.strip().splitlines()) == 1
