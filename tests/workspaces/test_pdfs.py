"""PDFs: text by page, ranges of pages, and broken or hostile ones."""

import io
import zlib
from pathlib import Path

import pytest
from pypdf import PdfReader, PdfWriter

from workspaces import apart, pdfs
from workspaces.paths import WorkspaceError


def pdf(*pages: str, flate: bytes | None = None) -> bytes:
    """Return a PDF with these texts, one a page, written by hand so that a page can also hold `flate` data."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    kids = []
    for text in pages:
        content = f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET".encode("latin-1")
        data, extra = (content, b"") if flate is None else (flate, b" /Filter /FlateDecode")
        objects.append(b"<< /Length %d%s >>\nstream\n%s\nendstream" % (len(data), extra, data))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents %d 0 R /Resources << /Font << /F1 << "
            b"/Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>" % len(objects)
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b" ".join(kids), len(kids))
    out = io.BytesIO(b"")
    out.write(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    start = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    out.write(b"".join(b"%010d 00000 n \n" % place for place in places))
    out.write(b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start))
    return out.getvalue()


def read(tmp_path: Path, data: bytes, pages: str = "", chars: int = 60_000) -> pdfs.Pages:
    (tmp_path / "file").write_bytes(data)
    with (tmp_path / "file").open("rb") as file:
        return pdfs.read(file, len(data), pdfs.spans(pages) if pages else None, chars, "a.pdf")


def code(tmp_path: Path, data: bytes, pages: str = "") -> str:
    with pytest.raises(WorkspaceError) as caught:
        read(tmp_path, data, pages)
    return caught.value.code


def test_pages_come_with_their_numbers_and_text(tmp_path: Path) -> None:
    found = read(tmp_path, pdf("first page", "second page"))
    assert found == pdfs.Pages(((1, "first page"), (2, "second page")), 2)


@pytest.mark.parametrize("algorithm", ["RC4-40", "RC4-128", "AES-128", "AES-256-R5", "AES-256"])
def test_what_is_encrypted_with_no_password_is_read(tmp_path: Path, algorithm: str) -> None:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf("a secret to nobody"))))
    writer.encrypt("", "the owner's", algorithm=algorithm)
    out = io.BytesIO()
    writer.write(out)
    assert read(tmp_path, out.getvalue()).texts == ((1, "a secret to nobody"),)


@pytest.mark.parametrize(
    ("encoding", "written", "meant"),
    [
        ("MacRomanEncoding", b"\\212", "ä"), ("WinAnsiEncoding", b"\\344", "ä"), ("Identity-H", b"\\000A", "A"),
        ("GBK-EUC-H", b"\\326\\320", "中"), ("GBK2K-H", b"\\326\\320", "中"), ("GBpc-EUC-H", b"\\326\\320", "中"),
        ("90ms-RKSJ-H", b"\\223\\372", "日"), ("ETen-B5-H", b"\\244\\244", "中"), ("UniJIS-UTF16-H", b"e\\345", "日"),
    ],
)  # fmt: skip
def test_texts_of_many_encodings_are_read(tmp_path: Path, encoding: str, written: bytes, meant: str) -> None:
    whole = b"/Subtype /Type0 /DescendantFonts [<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Helvetica >>]"
    font = b"/Subtype /Type1" if encoding.endswith("Encoding") else whole
    data = pdf("#").replace(b"/Subtype /Type1", b"%s /Encoding /%s" % (font, encoding.encode()))
    data = data.replace(b"(#)", b"(%s)" % written).replace(b"/Length 33", b"/Length %d" % (32 + len(written)))
    ((_, text),) = read(tmp_path, data).texts
    assert text == meant


def test_only_the_pages_that_were_asked_for_come(tmp_path: Path) -> None:
    found = read(tmp_path, pdf(*(f"page {number}" for number in range(1, 31))), "2-3,7,29-40")
    assert [number for number, _ in found.texts] == [2, 3, 7, 29, 30]
    assert found.total == 30


@pytest.mark.parametrize(
    ("written", "meant"),
    [("3", ((3, 3),)), ("1-5", ((1, 5),)), (" 7 , 1-3", ((1, 3), (7, 7))), ("1-3,2-5,6", ((1, 6),))],
)
def test_ranges_of_pages_are_understood(written: str, meant: pdfs.Spans) -> None:
    assert pdfs.spans(written) == meant


@pytest.mark.parametrize("written", ["0", "5-1", "a", "1-", "-3", "1,,2", "1.5", "９", "1" * 40])
def test_what_names_no_pages_is_refused(written: str) -> None:
    with pytest.raises(WorkspaceError) as caught:
        pdfs.spans(written)
    assert caught.value.code == "INVALID_INPUT"


def test_ranges_are_written_as_they_are_read() -> None:
    assert pdfs.of_numbers([1, 2, 3, 7]) == "1-3,7"
    assert pdfs.spans(pdfs.of_numbers([1, 2, 3, 7])) == ((1, 3), (7, 7))


def test_a_page_past_the_end_is_told_how_many_there_are(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="has 2 pages, so it has no page 3") as caught:
        read(tmp_path, pdf("a", "b"), "1,3-4")
    assert caught.value.code == "RANGE"


def test_more_than_twenty_pages_are_too_many(tmp_path: Path) -> None:
    many = pdf(*["x"] * 21)
    assert code(tmp_path, many) == "TOO_LARGE"
    assert code(tmp_path, many, "1-21") == "TOO_LARGE"
    assert len(read(tmp_path, many, "1-20").texts) == 20


def test_pages_that_do_not_fit_are_left_out_but_for_the_first(tmp_path: Path) -> None:
    found = read(tmp_path, pdf("a" * 100, "b" * 100, "c"), chars=150)
    assert [number for number, _ in found.texts] == [1]
    ((_, text),) = read(tmp_path, pdf("a" * 100, "b"), chars=20).texts
    assert text == "a" * 21


def test_a_pdf_that_opens_without_a_password_is_read(tmp_path: Path) -> None:
    writer = PdfWriter(clone_from=io.BytesIO(pdf("hello")))
    writer.encrypt(user_password="", owner_password="owner", algorithm="AES-256")
    out = io.BytesIO()
    writer.write(out)
    assert read(tmp_path, out.getvalue()).texts == ((1, "hello"),)


def test_a_pdf_behind_a_password_says_so(tmp_path: Path) -> None:
    writer = PdfWriter(clone_from=io.BytesIO(pdf("hello")))
    writer.encrypt("secret")
    out = io.BytesIO()
    writer.write(out)
    with pytest.raises(WorkspaceError, match="encrypted") as caught:
        read(tmp_path, out.getvalue())
    assert caught.value.code == "BINARY_FILE"


@pytest.mark.parametrize("data", [b"%PDF-1.7\ntext", b"%PDF-", pdf("hello")[:200], b"%PDF-1.4\n" + b"<<" * 50_000])
def test_a_broken_pdf_is_a_binary_with_a_reason(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(WorkspaceError, match="can't be read: it") as caught:
        read(tmp_path, data)
    assert caught.value.code == "BINARY_FILE"


def test_a_page_that_unpacks_to_very_much_is_left_unread(tmp_path: Path) -> None:
    packer = zlib.compressobj(9)
    bomb = b"".join([*(packer.compress(b" " * (1 << 20)) for _ in range(500)), packer.flush()])
    assert read(tmp_path, pdf("x", flate=bomb)).texts == ((1, None),)


def test_a_pdf_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(pdf("hello"))
    with (tmp_path / "file").open("rb") as file, pytest.raises(apart.Failed, match="seconds"):
        apart.parse("pdf", file, {"spans": None, "most": 20, "chars": 10}, caps=apart.Caps(seconds=0))


def test_the_parser_knows_nothing_of_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "workspaces").mkdir()
    (tmp_path / "workspaces" / "__init__.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert read(tmp_path, pdf("hello")).texts == ((1, "hello"),)
