"""Edits of all kinds of text: what was meant is changed, and no other byte; lines are those of git and ripgrep."""

import codecs
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.conftest import GIT_ENV
from workspaces import editing, encodings, lines, ranges, ripgrep
from workspaces.encodings import Decoded, EncodingError
from workspaces.matching import EditError

FIXED = settings(deadline=None, derandomize=True, max_examples=150, suppress_health_check=list(HealthCheck))
"""The same examples each time; slow machines get the time they need."""
FEW = settings(FIXED, max_examples=25)

ENDS = ["\n", "\n", "\r\n", "\r\n", "\r"]
INSIDE = "ab \t\"'\x0c\x0b\x1c"
KINDS = {
    "utf-8": ("utf-8", b"", "é漢“”‘’\u2028\x85👩\u200d💻"),
    "utf-8 with BOM": ("utf-8", codecs.BOM_UTF8, "é漢“”‘’\u2028"),
    "utf-16-le": ("utf-16-le", codecs.BOM_UTF16_LE, "é漢“”‘’\u2028\u0a0a👩"),
    "utf-16-be": ("utf-16-be", codecs.BOM_UTF16_BE, "é漢“”‘’\u2028\u0a0d👩"),
    "latin-1": ("latin-1", b"", "éèüß£\x85"),
    "cp1252": ("cp1252", b"", "éü“”‘’€"),
    "gbk": ("gbk", b"", "漢字中文配置，。"),
    "shift_jis": ("shift_jis", b"", "漢字かなソ表能ｱ"),
    "euc_kr": ("euc_kr", b"", "한국어문서"),
}


def texts(more: str = "", least: int = 0, most: int = 12) -> st.SearchStrategy[str]:
    """Return texts of lines with all sorts of ends; the last one may have none."""
    line = st.tuples(st.text(alphabet=INSIDE + more, max_size=9), st.sampled_from(ENDS)).map("".join)
    return st.tuples(st.lists(line, min_size=least, max_size=most), st.text(alphabet=INSIDE + more, max_size=5)).map(
        lambda parts: "".join([*parts[0], parts[1]])
    )


def news(more: str = "", least: int = 0) -> st.SearchStrategy[str]:
    r"""Return texts to put in, without a lone `\r` before a line end, which can be read in two ways."""
    return texts(more, least, most=3).filter(lambda text: "\r\r\n" not in text and not text.endswith("\r"))


@dataclass(frozen=True)
class Wish:
    """A file, and what somebody wants replaced in it."""

    data: bytes
    decoded: Decoded
    old: str
    new: str
    replace_all: bool


@st.composite
def wishes(draw: st.DrawFn, kind: str) -> Wish:
    encoding, bom, more = KINDS[kind]
    data = bom + draw(texts(more, least=2)).encode(encoding)
    try:
        decoded = encodings.decode(data, "file")
    except EncodingError:
        assume(False)
    text = decoded.text
    start = draw(st.integers(0, len(text)))
    old = text[start : draw(st.integers(start, len(text)))]
    loosely = draw(st.sampled_from(["", "", "lines", "quotes", "tabs", "all"]))
    if loosely in ("lines", "all"):
        old = old.replace("\r\n", "\n")
    if loosely in ("quotes", "all"):
        old = old.translate({ord("“"): '"', ord("”"): '"', ord("‘"): "'", ord("’"): "'"})
    if loosely in ("tabs", "all"):
        old = old.expandtabs(draw(st.sampled_from([2, 4, 8])))
    return Wish(data, decoded, old, draw(news(draw(st.sampled_from(["", more])))), draw(st.booleans()))


def loose(text: str) -> str:
    """Return the text without what matching may pass over, and more: blanks, line ends, sorts of quotes."""
    return re.sub(r"[ \t\r\n]", "", text).translate({ord("“"): '"', ord("”"): '"', ord("‘"): "'", ord("’"): "'"})


def spliced(wish: Wish, edit: editing.Edit) -> bytes:
    """Return the file's own bytes with the regions' texts in their places, without decoding what is between."""
    encoding, bom, text = wish.decoded.encoding, wish.decoded.bom, wish.decoded.text
    offsets = [len(bom + text[:at].encode(encoding)) for region in edit.regions for at in (region.start, region.end)]
    parts, at = [], 0
    for number, region in enumerate(edit.regions):
        parts += [wish.data[at : offsets[2 * number]], region.text.encode(encoding)]
        at = offsets[2 * number + 1]
    return b"".join([*parts, wish.data[at:]])


@pytest.mark.parametrize("kind", KINDS)
def test_an_edit_changes_the_bytes_of_its_regions_and_no_other(kind: str) -> None:
    done = refused = 0

    @(FIXED if kind.startswith("utf") else FEW)
    @given(wishes(kind))
    def check(wish: Wish) -> None:
        nonlocal done, refused
        try:
            edit = editing.replace(wish.decoded.text, wish.old, wish.new, replace_all=wish.replace_all)
            added = editing.added(edit) if wish.decoded.guessed else ""
            data = wish.decoded.edited(wish.data, edit.regions, "file", added=added)
        except (EditError, EncodingError):
            refused += 1
            return
        done += 1
        assert data == spliced(wish, edit)
        assert data == wish.decoded.bom + edit.text.encode(wish.decoded.encoding)
        assert data != wish.data
        for region in edit.regions:
            assert loose(wish.decoded.text[region.start : region.end]) == loose(wish.old)

    check()
    assert done >= 3, (done, refused)
    assert refused >= 3, (done, refused)


@FIXED
@given(texts("“”é", least=1), st.integers(1, 14), st.integers(0, 4), news("é"))
def test_replaced_lines_are_where_they_were_and_the_others_are_untouched(
    text: str, first: int, more: int, new: str
) -> None:
    rows = lines.split(text)
    last = first + more
    edit, code = attempt(lambda: editing.replace_lines(text, first, last, new))
    assert (code == "RANGE") == (last > len(rows))
    if edit is None:
        assert code in ("RANGE", "NO_CHANGE")
        return
    above, below = "".join(rows[: first - 1]), "".join(rows[last:])
    wanted = [line.removesuffix("\n").removesuffix("\r") for line in lines.split(new)]
    if below or text.endswith("\n"):
        assert edit.text.startswith(above)
        assert edit.text.endswith(below)
        inside = edit.text[len(above) : len(edit.text) - len(below)]
        assert inside.endswith("\n") or not wanted
        assert contents(inside) == wanted
    else:
        ending = above[len(above.removesuffix("\n").removesuffix("\r")) :] if not new.strip("\r\n") else ""
        assert edit.text.startswith(above.removesuffix(ending))
        assert contents(edit.text)[first - 1 :] == contents(new.rstrip("\n")) or not new.strip("\r\n")


def attempt(act: Callable[[], editing.Edit]) -> tuple[editing.Edit | None, str]:
    """Return the edit, or the code of its refusal."""
    try:
        return act(), ""
    except EditError as error:
        return None, error.code


def contents(text: str) -> list[str]:
    return [line.removesuffix("\n").removesuffix("\r") for line in lines.split(text)]


@FIXED
@given(texts("é", least=1), st.integers(0, 14), news("é", least=1))
def test_inserted_lines_stand_where_they_were_wanted(text: str, after: int, new: str) -> None:
    rows = lines.split(text)
    edit, code = attempt(lambda: editing.insert_lines(text, after, new))
    assert (code == "RANGE") == (after > len(rows))
    if edit is None:
        assert code in ("RANGE", "NO_CHANGE")
        return
    assert contents(edit.text)[:after] == contents(text)[:after]
    assert edit.text.startswith("".join(rows[:after]))
    assert edit.text.endswith("".join(rows[after:]))
    at_open_end = after == len(rows) and not text.endswith("\n")
    inserted = contents(new.replace("\r\n", "\n").rstrip("\n")) if at_open_end else contents(new)
    assert contents(edit.text)[after : lines.count(edit.text) - len(rows) + after] == inserted
    assert edit.text.endswith("\n") == text.endswith("\n") or not edit.text


@FIXED
@given(texts("é", least=1), st.integers(0, 14), news("é", least=1))
def test_what_was_inserted_and_then_deleted_leaves_the_very_text(text: str, after: int, new: str) -> None:
    assume(after <= lines.count(text))
    try:
        inserted = editing.insert_lines(text, after, new).text
    except EditError:
        assume(False)
    count = lines.count(inserted) - lines.count(text)
    assert editing.replace_lines(inserted, after + 1, after + count, "").text == text


@FIXED
@given(st.lists(st.sampled_from(ENDS[:4]), min_size=1, max_size=8), st.integers(0, 7), st.integers(0, 3), news())
def test_replacing_lines_is_an_edit_of_the_same_lines(ends: list[str], first: int, more: int, new: str) -> None:
    rows = [f"line {number}{end}" for number, end in enumerate(ends)]
    text, wanted = "".join(rows), new.replace("\r\n", "\n").removesuffix("\n")
    assume(first + more < len(rows) and wanted)
    old = "".join(rows[first : first + more + 1]).removesuffix("\n").removesuffix("\r")
    by_text = editing.replace(text, old, wanted).text
    assert editing.replace_lines(text, first + 1, first + more + 1, new).text == by_text


@FIXED
@given(st.data(), texts(least=1), st.lists(st.tuples(st.integers(1, 12), st.integers(0, 3)), max_size=4))
def test_ranges_that_were_read_move_along_and_hold_what_is_there(
    data: st.DataObject, text: str, spans: list[tuple[int, int]]
) -> None:
    parts: list[ranges.Range] = []
    for first, more in sorted(spans):
        last = min(first + more, lines.count(text))
        if (parts[-1].last if parts else 0) < first <= last:
            parts.append(ranges.Range(first, last, ranges.text_hash(lines.between(text, first, last))))
    number, new = data.draw(st.integers(1, 12)), data.draw(news())
    kinds: list[Callable[[], editing.Edit]] = [
        lambda: editing.replace_lines(text, number, number + 1, new),
        lambda: editing.insert_lines(text, number, new),
        lambda: editing.replace(text, data.draw(st.sampled_from(["a", "a\nb", "\n", "b\n"])), new, replace_all=True),
    ]
    edit, _ = attempt(data.draw(st.sampled_from(kinds)))
    assume(edit is not None)
    assert edit is not None
    previous = 0
    for part in ranges.moved(parts, edit):
        assert previous < part.first <= part.last <= lines.count(edit.text)
        assert part.sha == ranges.text_hash(lines.between(edit.text, part.first, part.last))
        previous = part.last


def output(*command: str, folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, env=GIT_ENV, capture_output=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout.decode()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("numbers")


def test_lines_have_the_numbers_that_git_ripgrep_and_wc_give_them(folder: Path) -> None:
    file = folder / "file"

    @FEW
    @given(texts("é\u2028\x85", least=2), st.integers(0, 12))
    def check(text: str, place: int) -> None:
        rows = lines.split(text)
        place = place % len(rows)
        rows[place] = "<here>" + rows[place]
        text = "".join(rows)
        file.write_bytes(text.encode())
        number = str(lines.number_at(text, text.index("<here>")))
        grep = output("git", "grep", "--no-index", "-n", "-a", "<here>", "--", "file", folder=folder)
        rg = output(ripgrep.binary(), "--no-config", "-n", "-a", "<here>", "file", folder=folder)
        assert grep.split(":")[1] == rg.split(":")[0] == number
        ended = text if text.endswith("\n") else text + "\n"
        file.write_bytes(ended.encode())
        assert output("wc", "-l", "file", folder=folder).split()[0] == str(lines.count(text))

    check()


def test_a_replaced_line_is_the_hunk_that_git_shows(folder: Path) -> None:
    old, new = folder / "old", folder / "new"

    @FEW
    @given(texts("é\u2028", least=2), st.integers(1, 12), st.integers(1, 3))
    def check(text: str, line: int, count: int) -> None:
        line = (line - 1) % lines.count(text) + 1
        old.write_bytes(text.encode())
        replaced = editing.replace_lines(text, line, line, "".join(f"<{number}>\n" for number in range(count)))
        new.write_bytes(replaced.text.encode())
        shown = output("git", "diff", "--no-index", "--text", "-U0", "old", "new", folder=folder)
        hunk = re.search(r"^@@ -(\d+)(?:,1)? \+(\d+)(?:,(\d+))? @@", shown, re.MULTILINE)
        assert hunk, shown
        assert (int(hunk[1]), int(hunk[2]), int(hunk[3] or 1)) == (line, line, count)

    check()
