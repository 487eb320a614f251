"""Packages are installed from an index that the task allows, through the real proxy, and from no other."""

import json
from collections.abc import Iterator

import pytest

from tests.wall.ordinary import indexes
from tests.wall.ordinary.conftest import Desk, needs
from workspaces.sandbox import Way, proxy

pytestmark = pytest.mark.django_db


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Serve the indexes; only the network is replaced: a name leads here, as if that were a public address."""
    monkeypatch.setattr(proxy, "resolve", lambda host, port: ["127.0.0.1"])
    monkeypatch.setattr(proxy, "is_global", lambda address: True)
    with indexes.served() as port:
        yield port


def pip_install(port: int, what: str) -> str:
    index = f"--index-url http://{indexes.HOST}:{port}/simple/ --trusted-host {indexes.HOST}"
    return f"python3 -m venv /tmp/venv && . /tmp/venv/bin/activate && pip install --retries 0 {index} {what}"


@needs("python3")
def test_pip_installs_a_wheel_and_what_it_needs_from_source(desk: Desk, port: int) -> None:
    desk.bench.network = (f"{indexes.HOST}:{port}",)
    script = f"{pip_install(port, '--quiet demo-wheel')} && python -c 'import demo_wheel; print(demo_wheel.WORDS)'"
    assert desk.runs(script) == "a wheel and a source"
    closed = [each for each in desk.bench.journal.connections if each.way is Way.CLOSED]
    assert {each.target for each in closed} == {f"{indexes.HOST}:{port}"}
    assert sum(each.received for each in closed) > len(indexes.wheel()) + len(indexes.source_package())


@needs("python3")
@pytest.mark.parametrize("allowed", [(), ("other.example:80",)])
def test_an_index_that_is_not_allowed_gives_nothing(desk: Desk, port: int, allowed: tuple[str, ...]) -> None:
    desk.bench.network = allowed
    assert "No matching distribution found for demo-wheel" in desk.fails(pip_install(port, "demo-wheel"))
    assert {each.way for each in desk.bench.journal.connections} <= {Way.REFUSED}
    assert bool(desk.bench.journal.connections) == bool(allowed)


@needs("npm")
def test_npm_installs_from_an_allowed_registry(desk: Desk, port: int) -> None:
    desk.bench.network = (f"{indexes.HOST}:{port}",)
    desk.write("package.json", json.dumps({"name": "demo", "version": "1.0.0", "dependencies": {"left": "^1.0.0"}}))
    desk.write(".npmrc", f"registry=http://{indexes.HOST}:{port}/npm/\nfetch-retries=0\naudit=false\nfund=false\n")
    script = """
    npm install --silent
    node -e 'console.log(require("left")("b", 3) + "|")'
    npx left
    rm -r node_modules; npm ci --silent; ls node_modules
    """
    assert desk.runs(script).split("\n") == ["b  |", "a  |", "left"]


@needs("curl")
def test_curl_fetches_from_an_allowed_host(desk: Desk, port: int) -> None:
    desk.bench.network = (f"{indexes.HOST}:{port}",)
    address = f"http://{indexes.HOST}:{port}/simple/demo-wheel/"
    script = f"curl -fsS {address} | grep -c demo_wheel; curl -fsS --proxytunnel {address} | grep -c demo_wheel"
    assert desk.runs(script) == "1\n1"
