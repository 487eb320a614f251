"""Little package indexes, served on loopback: PyPI's simple API (PEP 503) and npm's registry, each with one package."""

import base64
import hashlib
import http.server
import io
import json
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

HOST = "index.example"
BACKEND = """
import tarfile, zipfile

def build_wheel(folder, config_settings=None, metadata_directory=None):
    name = "demo_source-1.0-py3-none-any.whl"
    with zipfile.ZipFile(f"{folder}/{name}", "w") as wheel:
        wheel.writestr("demo_source.py", open("demo_source.py").read())
        about = "demo_source-1.0.dist-info"
        wheel.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\\nName: demo-source\\nVersion: 1.0\\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(f"{about}/RECORD", "")
    return name
"""


def wheel() -> bytes:
    """Return a wheel that needs the package below."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("demo_wheel.py", "import demo_source\n\nWORDS = f'a wheel and {demo_source.WORD}'\n")
        about = "demo_wheel-1.0.dist-info"
        metadata = "Metadata-Version: 2.1\nName: demo-wheel\nVersion: 1.0\nRequires-Dist: demo-source>=1\n"
        archive.writestr(f"{about}/METADATA", metadata)
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")
    return packed.getvalue()


def packed(top: str, files: dict[str, str]) -> bytes:
    """Return a tar.gz archive of the files, below one folder."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(f"{top}/{name}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return made.getvalue()


def source_package() -> bytes:
    """Return a source distribution that builds itself, without anything else."""
    project = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    about = "Metadata-Version: 2.1\nName: demo-source\nVersion: 1.0\n"
    files = {
        "pyproject.toml": project,
        "backend.py": BACKEND,
        "PKG-INFO": about,
        "demo_source.py": "WORD = 'a source'\n",
    }
    return packed("demo_source-1.0", files)


def node_package() -> bytes:
    package = {"name": "left", "version": "1.2.3", "bin": {"left": "cli.js"}, "main": "index.js"}
    files = {
        "package.json": json.dumps(package),
        "index.js": "module.exports = (text, n) => text.padEnd(n);\n",
        "cli.js": "#!/usr/bin/env node\nconsole.log(`${require('./index.js')('a', 3)}|`);\n",
    }
    return packed("package", files)


def pages(port: int) -> dict[str, tuple[str, bytes]]:
    """Return what the index has at each path: its type and content."""
    files = {"demo_wheel-1.0-py3-none-any.whl": wheel(), "demo_source-1.0.tar.gz": source_package()}
    found = {f"/files/{name}": ("application/octet-stream", data) for name, data in files.items()}
    for name, data in files.items():
        project = name.split("-")[0].replace("_", "-")
        link = f'<a href="/files/{name}#sha256={hashlib.sha256(data).hexdigest()}">{name}</a>'
        found[f"/simple/{project}/"] = ("text/html", f"<!DOCTYPE html><html><body>{link}</body></html>".encode())
    archive = node_package()
    sha = base64.b64encode(hashlib.sha512(archive).digest()).decode()
    dist = {"tarball": f"http://{HOST}:{port}/npm/left/-/left-1.2.3.tgz", "integrity": f"sha512-{sha}"}
    version = {"name": "left", "version": "1.2.3", "bin": {"left": "cli.js"}, "dist": dist}
    about = {"name": "left", "dist-tags": {"latest": "1.2.3"}, "versions": {"1.2.3": version}}
    found["/npm/left"] = ("application/json", json.dumps(about).encode())
    found["/npm/left/-/left-1.2.3.tgz"] = ("application/octet-stream", archive)
    return found


@contextmanager
def served() -> Iterator[int]:
    """Serve the indexes on a port of loopback, as long as the block lasts."""

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            kind, body = found.get(self.path.partition("?")[0], ("", b""))
            self.send_response(200 if kind else 404)
            self.send_header("Content-Type", kind or "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            return

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        found = pages(server.server_port)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()
