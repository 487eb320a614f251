"""read_file: numbers, parts, caps, encodings; pictures, PDFs and notebooks."""

import base64
import codecs
import io
import json
import os
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from agents import conversation
from agents.models import Agent, Event, Kind, Policy, Run
from agents.providers.base import AnswersTurn
from agents.tools import read_file
from agents.tools.base import ToolContext
from tests.agents.tools.bench import Bench, sha256
from tests.conftest import git, work_once
from tests.workspaces.test_notebooks import book, code, display, picture
from tests.workspaces.test_pdfs import pdf
from workspaces import notebooks, windows
from workspaces.models import ReadState, Workspace

pytestmark = pytest.mark.django_db


def test_lines_are_numbered_and_told_in_data(bench: Bench) -> None:
    bench.write("a.txt", "one\ntwo\n")
    result = bench.call("read_file", file_path="a.txt")
    assert result.content == "     1\tone\n     2\ttwo"
    fact = result.data.pop("fact")
    assert {key: value for key, value in result.data.items() if value is not None} == {
        "path": "a.txt",
        "kind": "text",
        "start": 1,
        "end": 2,
        "total": 2,
    }
    assert (fact["source"], fact["subject"], fact["range"]) == ("read_file", "a.txt", "1-2")


def test_a_part_says_what_it_is_part_of(bench: Bench) -> None:
    bench.write("a.txt", "".join(f"{n}\n" for n in range(1, 11)))
    result = bench.call("read_file", file_path="a.txt", offset=4, limit=2)
    assert result.content == "     4\t4\n     5\t5\n[lines 4–5 of 10; go on with offset 6]"


def test_only_a_newline_ends_a_line(bench: Bench) -> None:
    bench.write("odd.txt", "a\x0cb\u2028c\x85d\re\r\nf")
    assert bench.call("read_file", file_path="odd.txt").content == "     1\ta\x0cb\u2028c\x85d\re\n     2\tf"


def test_an_empty_file_says_so(bench: Bench) -> None:
    bench.write("none", "")
    assert "is empty" in bench.call("read_file", file_path="none").content
    assert bench.call("read_file", file_path="none", offset=2).code == "RANGE"


def test_past_the_end_is_told_the_length(bench: Bench) -> None:
    bench.write("a", "x\ny\n")
    result = bench.call("read_file", file_path="a", offset=3)
    assert (result.code, "has 2 lines" in result.content) == ("RANGE", True)


def test_too_much_is_refused_with_the_way_to_ask(bench: Bench) -> None:
    bench.write("a", "x\n" * 2001)
    result = bench.call("read_file", file_path="a")
    assert (result.code, "2001 lines" in result.content) == ("TOO_LARGE", True)
    part = bench.call("read_file", file_path="a", offset=1)
    assert (part.truncated, part.data["end"]) == (True, 2000)


def test_characters_are_capped_too(bench: Bench) -> None:
    bench.write("a", ("y" * 1500 + "\n") * 100)
    assert bench.call("read_file", file_path="a").code == "TOO_LARGE"
    part = bench.call("read_file", file_path="a", offset=1, limit=100)
    assert part.truncated
    assert 50_000 < len(part.content) < 61_000


def test_a_long_line_is_cut_and_says_so(bench: Bench) -> None:
    bench.write("wide", "first\n" + "k" * 200_000 + "\nlast\n")
    content = bench.call("read_file", file_path="wide").content
    assert "line cut: it has 200000 characters" in content
    assert content.endswith("     3\tlast")


def test_an_unchanged_part_is_not_shown_twice(bench: Bench) -> None:
    bench.call("read_file", file_path="calc.py")
    again = bench.call("read_file", file_path="calc.py")
    assert "unchanged since your read at step 1" in again.content
    bench.reads.forget_context(1)
    assert "def add" in bench.call("read_file", file_path="calc.py").content


def test_a_changed_part_is_shown_again(bench: Bench) -> None:
    bench.call("read_file", file_path="calc.py")
    bench.write("calc.py", "changed\n")
    assert "changed" in bench.call("read_file", file_path="calc.py").content


@pytest.mark.parametrize(
    "data",
    [
        codecs.BOM_UTF8 + "größe\n".encode(),
        codecs.BOM_UTF16_LE + "größe\n".encode("utf-16-le"),
        codecs.BOM_UTF16_BE + "größe\n".encode("utf-16-be"),
    ],
)
def test_a_mark_of_the_encoding_is_obeyed_and_not_shown(bench: Bench, data: bytes) -> None:
    bench.write("a", data)
    assert bench.call("read_file", file_path="a").content == "     1\tgröße"


@pytest.mark.parametrize(
    "data", [b"a\0b", b"\x7fELF\0", b"a" * 9000 + b"\0", b"%PDF-1.7\ntext", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0"]
)
def test_what_is_no_text_is_called_binary(bench: Bench, data: bytes) -> None:
    bench.write("a", data)
    assert bench.call("read_file", file_path="a").code == "BINARY_FILE"


def test_bytes_that_lie_about_their_encoding_are_refused(bench: Bench) -> None:
    bench.write("a", codecs.BOM_UTF16_LE + b"a\0b")
    assert bench.call("read_file", file_path="a").code == "UNSUPPORTED_ENCODING"


@pytest.fixture
def huge(bench: Bench) -> Path:
    return bench.write("huge.txt", "".join(f"line {n}\n" for n in range(1, 1_000_001)))


@pytest.mark.usefixtures("huge")
def test_a_part_of_a_huge_file_is_streamed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_file, "_loaded", None)
    middle = bench.call("read_file", file_path="huge.txt", offset=654_321, limit=2)
    assert middle.content == (
        "654321\tline 654321\n654322\tline 654322\n[lines 654321–654322, and there are more; go on with offset 654323]"
    )
    end = bench.call("read_file", file_path="huge.txt", offset=1_000_000, limit=5)
    assert "1000000\tline 1000000" in end.content
    assert bench.call("read_file", file_path="huge.txt", offset=1_000_001).code == "RANGE"
    assert "1000000 lines" in bench.call("read_file", file_path="huge.txt").content


@pytest.mark.usefixtures("huge")
def test_a_part_of_a_huge_file_may_be_edited(bench: Bench) -> None:
    bench.call("read_file", file_path="huge.txt", offset=500, limit=3)
    assert not bench.call("edit_file", file_path="huge.txt", old_string="line 501\n", new_string="LINE\n").is_error
    refused = bench.call("edit_file", file_path="huge.txt", old_string="line 9999\n", new_string="x\n")
    assert refused.code == "PARTIALLY_READ"


def test_caps_are_those_of_the_context(bench: Bench) -> None:
    bench.limits = replace(bench.limits, read_lines=1)
    bench.write("a", "x\ny\n")
    assert bench.call("read_file", file_path="a").code == "TOO_LARGE"


@pytest.mark.parametrize("offset", [0, -1])
@pytest.mark.parametrize("name", ["offset", "limit"])
def test_lines_count_from_one(bench: Bench, name: str, offset: int) -> None:
    assert bench.call("read_file", file_path="calc.py", **{name: offset}).code == "INVALID_INPUT"


def test_a_pipe_can_not_hold_it_up(bench: Bench) -> None:
    os.mkfifo(bench.tree / "pipe")
    assert bench.call("read_file", file_path="pipe").code == "SPECIAL_FILE"


def test_what_the_policy_hides_is_denied_whatever_it_is(bench: Bench) -> None:
    bench.policy = Policy(hidden=["secret.*"])
    for name, data in (("secret.txt", b"x"), ("secret.png", png()), ("secret.ipynb", b"{}")):
        bench.write(name, data)
        assert bench.call("read_file", file_path=name).code == "DENIED"


def test_the_result_is_evidence_of_what_was_shown(bench: Bench) -> None:
    bench.write("a.txt", "one\ntwo\nthree\n")
    fact = bench.call("read_file", file_path="a.txt", offset=2, limit=1).data["fact"]
    assert fact == {
        "source": "read_file",
        "subject": "a.txt",
        "range": "2-2",
        "fingerprint": sha256(b"two\n"),
        "freshness": "snapshot",
        "refresh": "read_file a.txt 2-2",
    }


def test_line_ends_are_not_shown_and_one_r_alone_ends_nothing(bench: Bench) -> None:
    bench.write("a", "one\r\ntwo\rstill two\r\n\r\n")
    assert bench.call("read_file", file_path="a").content == "     1\tone\n     2\ttwo\rstill two\n     3\t"


def test_a_line_as_long_as_the_cap_is_whole(bench: Bench) -> None:
    bench.write("a", "x" * 2000 + "\r\n" + "y" * 2001 + "\n")
    result = bench.call("read_file", file_path="a")
    assert "x" * 2000 + "\n" in result.content
    assert "y" * 2000 + "… [line cut: it has 2001 characters]" in result.content
    assert result.truncated


@pytest.mark.parametrize(("first", "end"), [(1, 5), (990, 1020), (9_990, 10_030), (99_990, 100_020), (1, 12_000)])
def test_numbers_are_six_wide_wherever_they_begin(first: int, end: int) -> None:
    assert read_file._prefixes(first, end) == [f"\n{number:6}\t" for number in range(first, end)]


def test_a_line_too_long_to_load_is_cut_and_gives_no_right_to_edit(bench: Bench) -> None:
    bench.write("wide", "k" * (windows.WINDOW_BYTES + 2_000_000) + "\nlast\n")
    content = bench.call("read_file", file_path="wide", offset=1, limit=2).content
    assert content.startswith("     1\tkkk")
    assert "longer than can be loaded" in content
    assert bench.call("edit_file", file_path="wide", old_string="last", new_string="x").code == "NOT_READ"


@pytest.mark.usefixtures("huge")
def test_parts_of_a_huge_file_that_overlap_are_kept_together(bench: Bench) -> None:
    bench.call("read_file", file_path="huge.txt", offset=100, limit=10)
    bench.call("read_file", file_path="huge.txt", offset=105, limit=10)
    assert not bench.call("edit_file", file_path="huge.txt", old_string="line 101\n", new_string="x\n").is_error
    assert not bench.call("edit_file", file_path="huge.txt", old_string="line 114\n", new_string="x\n").is_error
    bench.call("read_file", file_path="huge.txt", offset=112, limit=10)
    assert not bench.call("edit_file", file_path="huge.txt", old_string="line 102\n", new_string="x\n").is_error


def test_a_window_of_a_huge_file_takes_little_memory(bench: Bench) -> None:
    with (bench.tree / "huge.txt").open("wb") as file:
        file.write(b"head\n" * 20_000)
        file.seek(400 << 20)
        file.write(b"\ntail\n" * 10)
    tracemalloc.start()
    try:
        result = bench.call("read_file", file_path="huge.txt", offset=20_002, limit=3)
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()
    assert result.content.startswith(" 20002\ttail\n 20003\t\n 20004\ttail\n")


def test_a_large_binary_is_no_text_of_many_lines(bench: Bench) -> None:
    bench.write("core", b"\x7fELF\0\n" * 300_000)
    assert bench.call("read_file", file_path="core").code == "BINARY_FILE"


def test_a_window_may_begin_like_a_program(bench: Bench) -> None:
    bench.write("a", "x" * 100 + "\n" + "PK\x03\x04 %PDF-\n" * 100_000)
    assert "PK" in bench.call("read_file", file_path="a", offset=2, limit=1).content


def test_a_large_file_that_is_not_utf8_is_refused(bench: Bench) -> None:
    bench.write("a", b"gr\xf6\xdfe\n" * 300_000)
    assert bench.call("read_file", file_path="a", offset=1, limit=2).code == "UNSUPPORTED_ENCODING"


def test_a_large_file_loses_its_mark(bench: Bench) -> None:
    bench.write("a", codecs.BOM_UTF8 + b"one\n" * 400_000)
    assert bench.call("read_file", file_path="a", offset=1, limit=1).content.startswith("     1\tone\n")


# --- pictures ------------------------------------------------------------------------------------


class Blind(Bench):
    def context(self) -> ToolContext:
        return replace(super().context(), sees_images=False)


def png(width: int = 40, height: int = 30) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height), "red").save(out, "PNG")
    return out.getvalue()


def test_a_picture_goes_to_a_model_that_sees(bench: Bench) -> None:
    bench.write("logo.txt", png())
    result = bench.call("read_file", file_path="logo.txt")
    assert result.content == f"logo.txt: PNG picture, 40×30 pixels, {len(png())} bytes."
    assert result.images == (("image/png", base64.b64encode(png()).decode()),)
    image = result.data["image"]
    assert (image["media_type"], image["width"], image["height"], image["sent"]) == ("image/png", 40, 30, True)
    assert image["thumbnail"].startswith("data:image/png;base64,")
    assert result.data["fact"]["fingerprint"] == sha256(png())


def test_a_scaled_picture_says_so(bench: Bench) -> None:
    bench.write("wide.png", png(4000, 100))
    assert "scaled to 2000×50 pixels" in bench.call("read_file", file_path="wide.png").content


def test_a_model_that_is_blind_is_told_of_the_picture(workspace: Workspace) -> None:
    blind = Blind(workspace)
    blind.write("logo.png", png())
    result = blind.call("read_file", file_path="logo.png")
    assert result.images == ()
    assert "40×30 pixels" in result.content
    assert "can't look at pictures" in result.content
    assert result.data["image"]["sent"] is False


def test_an_unchanged_picture_is_not_sent_twice(bench: Bench) -> None:
    bench.write("logo.png", png())
    bench.call("read_file", file_path="logo.png")
    again = bench.call("read_file", file_path="logo.png")
    assert (again.images, "unchanged since your read at step 1" in again.content) == ((), True)
    bench.write("logo.png", png(50))
    assert bench.call("read_file", file_path="logo.png").images
    assert ReadState.objects.get().whole == sha256(png(50))


def test_a_part_of_a_picture_can_not_be_asked_for(bench: Bench) -> None:
    bench.write("logo.png", png())
    assert bench.call("read_file", file_path="logo.png", offset=1).code == "INVALID_INPUT"
    assert bench.call("read_file", file_path="logo.png", pages="1").code == "INVALID_INPUT"


def test_a_picture_that_was_read_is_not_overwritten_as_text(bench: Bench) -> None:
    bench.write("logo.png", png())
    bench.call("read_file", file_path="logo.png")
    assert bench.call("write_file", file_path="logo.png", content="x").code == "BINARY_FILE"


@pytest.fixture
def noise(source: Path) -> bytes:
    """A picture of more than fits into an event, in the source."""
    out = io.BytesIO()
    Image.effect_noise((300, 300), 90).save(out, "PNG")
    (source / "noise.png").write_bytes(out.getvalue())
    git(source, "add", ".")
    git(source, "commit", "-qm", "a picture")
    return out.getvalue()


@pytest.mark.django_db(transaction=True)
def test_a_picture_survives_a_restart_of_the_run(noise: bytes, launch: Callable[..., Run]) -> None:
    calls = [{"name": "read_file", "input": {"file_path": "noise.png"}}]
    run = launch(script={"implementer": [{"tool_calls": calls}]})
    work_once()
    turns = conversation.load(run, Agent.IMPLEMENTER).turns
    answers = [answer for turn in turns if isinstance(turn, AnswersTurn) for answer in turn.answers]
    assert answers[0].images == (("image/png", base64.b64encode(noise).decode()),)
    row = Event.objects.get(run=run, kind=Kind.TOOL_RESULT)
    assert len(json.dumps(row.data)) < 64 * 1024


# --- PDFs ----------------------------------------------------------------------------------------


def test_a_pdf_is_read_by_page(bench: Bench) -> None:
    bench.write("a.pdf", pdf("first", "second", "third"))
    result = bench.call("read_file", file_path="a.pdf", pages="2-3")
    assert result.content == ("[a.pdf: PDF, 3 pages]\n\n[page 2 of 3]\nsecond\n\n[page 3 of 3]\nthird")
    assert result.data["pdf"] == {"shown": "2-3", "total": 3}
    assert (result.data["kind"], result.data["fact"]["range"]) == ("pdf", "pages 2-3")
    again = bench.call("read_file", file_path="a.pdf", pages="2-3")
    assert again.content == "a.pdf: pages 2-3 unchanged since your read at step 1; that result still holds."


def test_pages_that_do_not_fit_are_named(bench: Bench) -> None:
    bench.limits = replace(bench.limits, read_chars=150)
    bench.write("a.pdf", pdf("a" * 100, "b" * 100, "c" * 100, ""))
    result = bench.call("read_file", file_path="a.pdf")
    assert result.truncated
    assert result.content.endswith("[the pages 2-4 did not fit; go on with pages 2-4]")
    assert "no text on this page" in bench.call("read_file", file_path="a.pdf", pages="4").content


def test_pages_past_the_end_or_of_a_text_are_refused(bench: Bench) -> None:
    bench.write("a.pdf", pdf("first"))
    assert bench.call("read_file", file_path="a.pdf", pages="2").code == "RANGE"
    assert bench.call("read_file", file_path="a.pdf", pages="x").code == "INVALID_INPUT"
    assert bench.call("read_file", file_path="a.pdf", limit=5).code == "INVALID_INPUT"
    assert bench.call("read_file", file_path="calc.py", pages="1").code == "INVALID_INPUT"


# --- notebooks -----------------------------------------------------------------------------------


def notebook(**more: Any) -> str:
    return json.dumps(book(code("x = 1", id="aa", **more)), indent=1)


def test_a_notebook_is_read_by_cell_and_counts_as_read(bench: Bench) -> None:
    bench.write("a.ipynb", notebook())
    result = bench.call("read_file", file_path="a.ipynb")
    assert result.content == "[notebook: 1 cell, nbformat 4.5, python]\n\n[cell 0 · code · id aa]\nx = 1"
    cell = {"index": 0, "id": "aa", "type": "code", "lines": 1, "outputs": 0}
    assert result.data["notebook"] == {"cells": [cell], "total": 1, "pictures": 0}
    assert "unchanged" in bench.call("read_file", file_path="a.ipynb").content
    assert not bench.call("write_file", file_path="a.ipynb", content="{}").is_error


def test_a_part_of_a_notebook_is_lines_of_its_json(bench: Bench) -> None:
    bench.write("a.ipynb", notebook())
    result = bench.call("read_file", file_path="a.ipynb", offset=2, limit=1)
    assert result.content.startswith('     2\t "cells": [\n')


def test_pictures_of_a_notebook_come_along(bench: Bench) -> None:
    bench.write("a.ipynb", notebook(outputs=[display(image_png=picture()), display(image_png="AAAA")]))
    result = bench.call("read_file", file_path="a.ipynb")
    assert result.images == (("image/png", picture()),)
    assert "picture 2 says it is" in result.content


def test_what_only_seems_to_be_a_notebook_is_text_with_a_note(bench: Bench) -> None:
    bench.write("a.ipynb", "{broken\n")
    content = bench.call("read_file", file_path="a.ipynb").content
    assert content.startswith("     1\t{broken\n[no notebook that can be shown by cell, so as text: JSONDecodeError")


def test_a_notebook_of_too_much_source_is_refused(bench: Bench) -> None:
    bench.limits = replace(bench.limits, read_chars=500)
    bench.write("a.ipynb", json.dumps(book(code("x" * 1000))))
    result = bench.call("read_file", file_path="a.ipynb")
    assert (result.code, "1 cells" in result.content) == ("TOO_LARGE", True)


def test_a_notebook_file_too_large_to_parse_is_text(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebooks, "LIMIT_BYTES", 10)
    bench.write("a.ipynb", notebook())
    assert bench.call("read_file", file_path="a.ipynb").content.startswith("     1\t{")
