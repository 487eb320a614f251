"""A repository and a script whose every text attacks its reader: markup, links, pictures, hidden and moving characters.

`pwned(…)` in a text is what a script in it would call; HOME in a text is the address it would phone.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.agents.tools.test_read_file import png
from tests.conftest import git
from tests.workspaces.test_pdfs import pdf

BIDI = "\u202e\u2066"
HIDDEN = "\u200b\u2060\ufeff\u00ad\U000e0041\ufe01\u2028"
ZALGO = "Z" + "\u0301\u0310\u0315" * 200
ODD = f"hid{HIDDEN}den {BIDI}detrever\u2069\u202c {ZALGO}"
TEMPLATE = "{{ 7|add:7 }}{% load x %}{# no #}${7*7}"
TROJAN = 'if access != "user\u202e \u2066// only admins\u2069 \u2066":\n    grant()\n'

_MARKUP = """\
<script>pwned("script")</script><img src=x onerror="pwned('img')"><svg onload="pwned('svg')"></svg>
<iframe srcdoc="<script>parent.pwned('frame')</script>"></iframe><object data="HOME/object"></object>
<meta http-equiv="refresh" content="0;url=HOME/refresh"><base href="HOME/base/"><link rel="stylesheet" href="HOME/css">
<style>@import "HOME/import"; * { display: none }</style><video src="HOME/video" autoplay></video>
<form id="composer" action="HOME/form"><input name="csrfmiddlewaretoken" value="stolen">
<button autofocus>Log in</button></form>
<div id="log" class="cover palette" style="position:fixed;inset:0;z-index:9999"
 data-run="1" data-act hx-get="HOME/hx" hx-trigger="load">
<a data-older data-jump href="javascript:pwned('a')">x</a><input onfocus="pwned('focus')" autofocus>
<details open ontoggle="pwned('toggle')">
<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=pwned('mxss')&gt;">
<template shadowrootmode="open"><script>pwned("shadow")</script></template>
<noscript><p title="</noscript><img src=x onerror=pwned('noscript')>">
"><script>pwned("quote")</script> '><script>pwned('tick')</script> `><script>pwned(`back`)</script>
</textarea></title></pre></td></template>
<!-- a comment --!> <![CDATA[ <script>pwned("cdata")</script> ]]> <plaintext <b
"""
_LINKS = """\
[run](javascript:pwned('md')) [run](JaVaScRiPt:pwned('case')) [run](java\tscript:pwned('tab'))
[run](java&#10;script:pwned('lf'))
[run](&#106;avascript:pwned('entity')) [run](vbscript:pwned('vb')) [run](data:text/html,<script>pwned('data')</script>)
[run](\x01javascript:pwned('control')) <javascript:pwned('auto')> [named][ref] [ftp](ftp://example.org/) [file](file:///etc/passwd)
[relative](/logout/) [slashes](//example.org/) [backslash](\\\\example.org/) [query](?page=2)
[anchor](#composer) [none]()
[https://github.com/](https://phish.example/ "https://github.com/") [out](https://user:pw@example.org/) <https://example.org/auto>
[quote](https://example.org/"onmouseover="pwned('over')) [angle](<https://example.org/ onclick=pwned('angle')>)
![a](HOME/image.png) ![b][pixel] [![c](HOME/linked.png)](HOME/page) ![d](data:image/svg+xml,<svg/onload=pwned('svg')>)

[ref]: javascript:pwned('ref')
[pixel]: HOME/pixel.gif
"""
TERMINAL = (
    "\x1b[32mgreen\x1b[0m plain\n"
    "\x1b[30;40mblack on black\x1b[0m \x1b[37;47mwhite on white\x1b[0m \x1b[8mconcealed\x1b[0m \x1b[2;8mdim\x1b[28m\n"
    "\x1b]0;another title\x07\x1b]8;;javascript:pwned('osc')\x1b\\osc link\x1b]8;;\x1b\\\n"
    "\x1b]52;c;cHduZWQ=\x07\x1bP1;1q#0~~\x1b\\\x1b_apc\x1b\\\x1b^pm\x1b\\bell\x07\x00\n"
    "\x1b[2J\x1b[H\x1b[10;10Hmoved\x1b[1Aup\x1b[?1049h\x1b[?25l\x1bc\x1b(0lqk\x1b(B\n"
    "secret plan\rall is well\nabc\b\b\bxyz\n10%\r50%\r100%\n"
    "\x9b31mC1\x9d0;title\x9c\n"
    "\x1b[" + "1;" * 5000 + "mlong\x1b[0m\n"
    "\x1b]0;never ends <img src=x onerror=pwned('osc')>\n"
)


class Home:
    """What a page must never ask: a server that counts who comes."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.calls: list[str] = []


@contextmanager
def listening() -> Iterator[Home]:
    """Serve a home to phone on a port of this machine."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            home.calls.append(self.path)
            self.send_response(204)
            self.end_headers()

        do_POST = do_OPTIONS = do_GET

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    served = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    home = Home(f"http://127.0.0.1:{served.server_port}")
    threading.Thread(target=served.serve_forever, daemon=True).start()
    try:
        yield home
    finally:
        served.shutdown()
        served.server_close()


def markup(home: Home) -> str:
    return _MARKUP.replace("HOME", home.url)


def prose(home: Home) -> str:
    """Return Markdown with all of it, and with what could push a page apart."""
    deep = "> " * 12 + "deep\n\n" + "* " * 12 + "item\n\n"
    table = "|a" * 60 + "|\n" + "|-" * 60 + "|\n" + ("|x" * 60 + "|\n") * 20
    words = "# " + "HUGE " * 40 + "\n\n" + "unbroken" * 300 + "\n\n" + "```html\n" + markup(home) + "```\n\n"
    return f"{_LINKS.replace('HOME', home.url)}\n{markup(home)}\n{ODD} {TEMPLATE}\n\n{words}{deep}{table}"


def costly(home: Home) -> str:
    """Return Markdown that would cost a converter dear: quotes and lists in each other, cells by the thousand."""
    return ">" * 10_000 + " deep\n\n" + "* " * 300 + "item\n\n" + "|a" * 2000 + "\n" + prose(home)[:3000]


# --- the repository ------------------------------------------------------------------------------

NAMES = {
    "breakout": "\"onmouseover=\"pwned('attr')\" x='<b>`.md",
    "image": "<img src=x onerror=pwned('name')>.py",
    "script": "javascript:pwned('path')",
    "template": "{{ 7|add:7 }}{% csrf_token %}.txt",
    "bidi": "invoice\u202efdp.exe",
    "hidden": "ad\u200bmin\ufeff.py",
    "newline": "two\nlines\x1b[31m.txt",
    "long": "n" * 250,
    "bytes": "raw\udcff\udcfe.txt",
    "zalgo": "Z" + "\u0301" * 100,
}
BIG = 10_000_000
DOCUMENT = ".sakura/docs/<b>bad\u202e.md"
BRANCH = 'main"><img/src=x/onerror=pwned(1)>\u202e{{7}}'


def make_source(folder: Path, home: Home) -> Path:
    """Make a repository whose names, contents, author, documents and skills are hostile."""
    folder.mkdir()
    for name in NAMES.values():
        (folder / name).write_text(markup(home) + ODD)
    _write_files(folder, home)
    _write_sakura(folder, home)
    git(folder, "init", "--quiet", f"--initial-branch={BRANCH}")
    git(folder, "add", "--all")
    git(folder, "-c", "user.name=<script>pwned('author')</script>", "commit", "--quiet", "-m", markup(home))
    return folder


def _write_files(folder: Path, home: Home) -> None:
    (folder / "page.html").write_text(f"<!doctype html><title>x</title>\n{markup(home)}{ODD}\n")
    (folder / "drawing.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" onload="pwned(1)"><script>pwned(2)</script></svg>'
    )
    (folder / "trojan.py").write_text(TROJAN)
    (folder / "one-line.js").write_bytes(b"x" * BIG)
    (folder / "many.txt").write_text("line\n" * 100_000)
    (folder / "nested.py").write_text("(" * 4000 + "\n" + "'''\"" * 500 + "\n" + "a" * 4000 + "!\n")
    (folder / "README.md").write_text(prose(home))
    (folder / "picture.png").write_bytes(png(40, 30))
    (folder / "not-a-picture.png").write_text('<svg xmlns="http://www.w3.org/2000/svg" onload="pwned(1)"/>')
    (folder / "paper.pdf").write_bytes(pdf("<script>pwned(1)</script>", "javascript:pwned(2)"))
    (folder / "book.ipynb").write_text(json.dumps(_notebook(home)))


def _notebook(home: Home) -> dict[str, Any]:
    data = {
        "text/html": [markup(home)],
        "application/javascript": ["pwned('notebook')"],
        "image/svg+xml": ["<svg onload=pwned(1)></svg>"],
        "text/plain": [ODD],
    }
    outputs = [
        {"output_type": "display_data", "data": data, "metadata": {}},
        {"output_type": "stream", "name": "stdout", "text": [TERMINAL, markup(home)]},
        {"output_type": "error", "ename": "<b>", "evalue": ODD, "traceback": [TERMINAL]},
    ]
    code = {"cell_type": "code", "id": "a", "source": [markup(home), ODD], "outputs": outputs}
    text = {"cell_type": "markdown", "id": "b", "metadata": {}, "source": [prose(home)]}
    return {
        "nbformat": 4, "nbformat_minor": 5,
        "metadata": {"kernelspec": {"name": "<script>", "display_name": ODD}, "language_info": {"name": "<img>"}},
        "cells": [code | {"metadata": {}, "execution_count": 1}, text],
    }  # fmt: skip


def _write_sakura(folder: Path, home: Home) -> None:
    skill = folder / ".sakura" / "skills" / "evil"
    skill.mkdir(parents=True)
    about = json.dumps(f"<script>pwned('skill')</script> {ODD}")
    (skill / "SKILL.md").write_text(f"---\nname: evil\ndescription: {about}\n---\n{prose(home)}")
    (folder / ".sakura" / "SAKURA.md").write_text(f"# <img src=x onerror=pwned(1)> {ODD}\n\n{prose(home)}")
    (folder / ".sakura" / "memory.md").write_text(f"## 2025-01-01 <script>pwned(1)</script> {ODD}\n\n{prose(home)}")
    (folder / DOCUMENT).parent.mkdir()
    (folder / DOCUMENT).write_text(prose(home))
    (folder / "package.json").write_text(
        json.dumps({"scripts": {"test": "<script>pwned(1)</script>\u202e", "<img>": "x"}})
    )


# --- the script ----------------------------------------------------------------------------------


def make_script(home: Home) -> dict[str, Any]:
    """Return what the scripted model plays: every tool, with hostile inputs, on the hostile repository."""
    said = prose(home)
    turns = [_turn(call, said if number % 9 == 0 else "") for number, call in enumerate(_calls(home))]
    turns[1]["text"] = costly(home)
    turns[0]["delay_ms"] = 3000
    end = {"summary": said, "modified_files": list(NAMES.values())[:4], "risk_level": "low", "test_result": ODD}
    return {"implementer": [*turns, _turn(("finish_task", end))], "reviewer": [_turn(("submit_review", _review(home)))]}


def _turn(call: tuple[str, Any], text: str = "") -> dict[str, Any]:
    return {"text": text, "tool_calls": [{"name": call[0], "input": call[1]}]}


def _calls(home: Home) -> Iterator[tuple[str, Any]]:
    bad = markup(home)
    yield "detect_project", {}
    yield "list_directory", {"path": ".", "recursive": True}
    yield "glob", {"pattern": "**/*"}
    yield "search_in_files", {"pattern": "pwned", "output_mode": "content", "glob": "*.{html,py,md,svg}"}
    yield "search_in_files", {"pattern": bad[:200], "fixed_strings": True}
    yield "glob", {"pattern": f"<img src=x onerror=pwned(1)>{ODD}*"}
    for path in _READ:
        yield "read_file", {"file_path": path}
    yield "read_file", {"file_path": f"nothing/<script>pwned(1)</script>{ODD}"}
    yield "use_skill", {"skill": "evil"}
    yield "read_sakura_docs", {}
    yield "read_sakura_docs", {"doc_path": "SAKURA.md"}
    yield "read_sakura_memory", {}
    yield f"<script>pwned('tool')</script>{ODD}", {bad: {bad: [bad, ODD, TEMPLATE]}}
    yield "write_file", {"file_path": f"new/{NAMES['image']}", "content": bad + ODD + TROJAN}
    yield "write_file", {"file_path": NAMES["bidi"], "content": TROJAN}
    yield "edit_file", {"file_path": "trojan.py", "old_string": "grant()", "new_string": f"grant() #{ODD}{bad[:60]}"}
    yield "edit_file", {"file_path": "trojan.py", "old_string": bad, "new_string": ODD}
    yield "edit_file", {"file_path": "README.md", "old_string": TEMPLATE, "new_string": "x" * 9000 + ODD}
    yield "edit_notebook", {"file_path": "book.ipynb", "cell_id": "b", "source": bad + ODD}
    yield "no_such_tool", {"bomb": _deep(80), "wide": {f"k{n}": n for n in range(2000)}, "half": "\ud83d"}
    yield "run_command", {"command": f"cat <<'END'\n{TERMINAL.replace(chr(0), '')}{bad}{ODD}\nEND\nexit 3"}
    yield "run_command", {"command": f"# {ODD}\ncat <<'END'; sleep 1; echo done\n{bad}{ODD}\nEND"}
    yield "run_command", {"command": f"head -c {BIG} one-line.js"}
    yield "run_command", {"command": "cat many.txt"}
    yield "run_command", {"command": "printf 'y%.0s' $(seq 70000) > one-line.js; echo 'x' >> many.txt"}
    yield "check_changes", {"mode": "full"}


_READ = (
    *(name for key, name in NAMES.items() if key not in ("bytes", "newline")),
    "page.html", "drawing.svg", "trojan.py", "one-line.js", "many.txt", "nested.py", "README.md",
    "picture.png", "not-a-picture.png", "paper.pdf", "book.ipynb",
)  # fmt: skip


def _deep(levels: int) -> Any:
    value: Any = "<script>pwned('json')</script>"
    for _ in range(levels):
        value = {"<b>": [value]}
    return value


def _review(home: Home) -> dict[str, Any]:
    finding = {
        "file": NAMES["image"], "line": 1, "severity": "major",
        "message": prose(home)[:4900], "suggestion": markup(home) + ODD,
    }  # fmt: skip
    elsewhere = finding | {"file": f"javascript:pwned('finding'){ODD}"[:150], "severity": "minor"}
    findings = [finding, elsewhere, finding | {"file": "trojan.py", "line": 2}]
    return {"verdict": "request_changes", "score": 3, "summary": prose(home), "findings": findings}
