from __future__ import annotations

import dataclasses
import math
import os
import socket
import threading
from typing import Any

import pytest

from dlmrt.bench.exchange import parse_url
from dlmrt.bench.server import ServerPlan, api_key_from, check_plan, measure_server, public_name
from dlmrt.errors import DlmrtError, RequestError, ServerError
from tests.bench_server import BenchServer, plan, suite


def test_connection_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    with pytest.raises(ServerError, match="connection refused") as caught:
        measure_server(ServerPlan(url, (suite(),)))
    assert url in str(caught.value) and "\n" not in str(caught.value)


def test_no_http_behind_the_port_and_no_tls() -> None:
    def speak() -> None:
        for _ in range(2):
            connection, _ = listener.accept()
            connection.recv(1000)
            connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
            connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=speak)
        thread.start()
        port = listener.getsockname()[1]
        with pytest.raises(ServerError, match="does not speak HTTP"):
            measure_server(ServerPlan(f"http://127.0.0.1:{port}", (suite(),), timeout=5))
        with pytest.raises(ServerError, match="https on that port"):
            measure_server(ServerPlan(f"https://127.0.0.1:{port}", (suite(),), timeout=5))
        thread.join()


@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/", "/v1/chat/completions"])
def test_the_base_with_and_without_its_version(ending: str) -> None:
    with BenchServer() as server:
        cells, facts = measure_server(
            ServerPlan(server.url + ending, (suite(),), repeats=1, stream=False, timeout=10)
        )
        assert facts.url == f"{server.url}/v1" and len(cells) == 1


def test_urls() -> None:
    assert parse_url("https://h/api/v3").url == "https://h/api/v3"
    assert parse_url("https://h/v1beta/openai/").url == "https://h/v1beta/openai"
    assert parse_url("http://[::1]:8000").url == "http://[::1]:8000/v1"
    hidden = parse_url("http://h/v1?api-version=1")
    assert hidden.query == "api-version=1" and "api-version" not in hidden.url + repr(hidden)
    for url, words in (
        ("localhost:8000", "http://"),
        ("ftp://h", "http://"),
        ("http://", "host"),
        ("http://h:99999", "can't be read"),
        ("http://h /v1", "characters"),
        ("http://h/v1\n", "characters"),
        ("http://me:pw@h/v1", "environment variable"),
    ):
        with pytest.raises(RequestError, match=words) as caught:
            parse_url(url)
        assert "pw" not in str(caught.value)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_an_ipv6_address_without_a_port(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def no_network(address: object, *more: object) -> None:
        asked.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr("socket.create_connection", no_network)
    with pytest.raises(ServerError, match="connection refused"):
        measure_server(ServerPlan(f"{scheme}://[2001:db8::1]", (suite(),), model="m"))
    assert asked == [("2001:db8::1", 80 if scheme == "http" else 443)]


def test_the_query_of_the_base_is_sent() -> None:
    with BenchServer() as server:
        measure_server(plan(server, url=f"{server.url}/v1?api-version=7", stream=False))
        assert server.requests[0].path == "/v1/models?api-version=7"


def test_the_model_is_asked_for() -> None:
    with BenchServer(models=["a", "b"]) as server:
        with pytest.raises(RequestError, match="2 models.*a, b"):
            measure_server(plan(server))
        cells, facts = measure_server(plan(server, model="b", stream=False))
        assert server.requests[-1].body["model"] == "b" == facts.model == cells[0].model
    many = [f"m{i}" for i in range(30)]
    with BenchServer(models=many) as server, pytest.raises(RequestError, match="m9 and 20 more"):
        measure_server(plan(server))
    with BenchServer(models=[]) as server, pytest.raises(ServerError, match="lists no model"):
        measure_server(plan(server))


def test_a_model_named_by_its_path_is_shown_without_folders() -> None:
    path = "/home/someone/models/tiny-q4.gguf"
    with BenchServer(models=[path]) as server:
        (cell,), facts = measure_server(plan(server, stream=False))
        assert server.requests[-1].body["model"] == path
    assert cell.model == facts.model == facts.settings["model"] == "tiny-q4.gguf"
    assert public_name("org/model-7B") == "org/model-7B"
    assert public_name("C:\\models\\x") == "x" and public_name("~/m/") == "m"


# What is refused before anything is sent


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"repeats": 0}, "repeats is 0"),
        ({"warmups": 0}, "warmups is 0"),
        ({"concurrency": 0}, "concurrency is 0"),
        ({"concurrency": 1000}, "from 1 to 256"),
        ({"max_new_tokens": 0}, "max_new_tokens is 0"),
        ({"timeout": 0.0}, "timeout is 0"),
        ({"timeout": math.nan}, "timeout is nan"),
        ({"timeout": math.inf}, "timeout is inf"),
        ({"api": "responses"}, "chat, completions"),
        ({"model": " "}, "name is empty"),
        ({"api_key": "a\r\nb"}, "API key"),
        ({"suites": ()}, "no suite"),
        ({"url": "nowhere"}, "http://"),
    ],
)
def test_plans_that_are_refused(changes: dict[str, Any], words: str) -> None:
    good = ServerPlan("http://127.0.0.1:1/v1", (suite(),))
    check_plan(good)
    with pytest.raises(RequestError, match=words) as caught:
        check_plan(dataclasses.replace(good, **changes))
    assert isinstance(caught.value, DlmrtError) and "a\r\nb" not in str(caught.value)


def test_the_key_comes_from_an_environment_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DLMRT_TEST_KEY", " sk-1\n")
    assert api_key_from("DLMRT_TEST_KEY") == "sk-1"
    assert "DLMRT_NO_SUCH_KEY" not in os.environ
    with pytest.raises(RequestError, match="DLMRT_NO_SUCH_KEY"):
        api_key_from("DLMRT_NO_SUCH_KEY")
