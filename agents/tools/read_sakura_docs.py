"""The tool read_sakura_docs: the documents of `.sakura`, or an overview of them."""

import hashlib

from pydantic import BaseModel, Field

from agents.tools.base import Effect, Fact, Input, Output, Result, ToolContext, ToolError, tool
from workspaces import cuts, globs, names, paths, sakura_docs


class ReadSakuraDocs(Input):
    doc_path: str | None = Field(None, description="A document below .sakura, as SAKURA.md; none: an overview.")
    offset: int = Field(1, ge=1, description="The first line to show, from 1.")
    limit: int | None = Field(None, ge=1, description="At most so many lines.")


class SakuraDocument(BaseModel):
    path: str
    """From the workspace root."""
    size: int
    heading: str


class ReadSakuraDocsOutput(Output):
    path: str
    """The document, or `.sakura` for the overview."""
    exists: bool
    documents: list[SakuraDocument] = []
    """Of the overview."""
    text: str = ""
    """Of the document, as far as it is shown."""
    start: int = 0
    end: int = 0
    total: int = 0
    """Lines of the document, or documents of the overview."""


@tool(effect=Effect.READ, input=ReadSakuraDocs, output=ReadSakuraDocsOutput)
def read_sakura_docs(ctx: ToolContext, args: ReadSakuraDocs) -> Result:
    """Read what people wrote down for agents in .sakura: without doc_path an overview with sizes and first headings.

    Look here before you start on something that the project may have rules for. You can't change these files.
    """
    if not sakura_docs.is_there(ctx.tree):
        data = ReadSakuraDocsOutput(path=sakura_docs.FOLDER, exists=False)
        return _answer(data, f"There is no {sakura_docs.FOLDER}/ here.", cut=False)
    return _document(ctx, args, args.doc_path) if args.doc_path else _overview(ctx)


def _overview(ctx: ToolContext) -> Result:
    ctx.rules.may_read(sakura_docs.FOLDER)
    found = sakura_docs.documents(ctx.tree, globs.covering(ctx.rules.hidden) if ctx.rules.hidden else None)
    rows = [_row(document) for document in found.found]
    if not found.complete:
        rows.append("[there are more; list_sakura_directory shows a folder]")
    data = ReadSakuraDocsOutput(
        path=sakura_docs.FOLDER,
        exists=True,
        documents=[
            SakuraDocument(path=names.shown(each.path), size=each.size, heading=each.heading) for each in found.found
        ],
        total=len(found.found),
    )
    return _answer(data, "\n".join(rows) or f"{sakura_docs.FOLDER} holds no document.", cut=not found.complete)


def _row(document: sakura_docs.Document) -> str:
    row = f"{sakura_docs.shown(document.path)}  {document.size}"
    return f"{row}  # {document.heading}" if document.heading else row


# --- one document --------------------------------------------------------------------------------


def _document(ctx: ToolContext, args: ReadSakuraDocs, given: str) -> Result:
    path = sakura_docs.resolve(ctx.tree, given)
    ctx.rules.may_read(path.relative)
    text, is_cut = sakura_docs.text(ctx.tree, path)
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    if lines and args.offset > len(lines):
        raise ToolError("RANGE", f"{given} has {len(lines)} lines; line {args.offset} is past its end.")
    wanted = lines[args.offset - 1 :][: args.limit]
    shown = _fitting(wanted, ctx.limits.other_chars)
    last = args.offset + len(shown) - 1
    data = ReadSakuraDocsOutput(
        path=names.shown(path.relative),
        exists=True,
        text="\n".join(shown),
        start=args.offset if shown else 0,
        end=last if shown else 0,
        total=len(lines),
    )
    return _answer(data, _with_notes(given, data, is_cut), cut=last < len(lines) or is_cut)


def _fitting(lines: list[str], chars: int) -> list[str]:
    """Return the first lines that are not too much together; one that is too long by itself is cut."""
    shown: list[str] = []
    size = 0
    for line in lines:
        size += len(line) + 1
        if size > chars:
            break
        shown.append(line)
    return shown or [cuts.head(line, chars - 100) + " […]" for line in lines[:1]]


def _with_notes(given: str, data: ReadSakuraDocsOutput, is_cut: bool) -> str:
    if not data.total:
        return f"{given} is empty."
    notes = []
    if data.start > 1 or data.end < data.total:
        more = f"; go on with offset {data.end + 1}" if data.end < data.total else ""
        notes.append(f"[lines {data.start}–{data.end} of {data.total}{more}]")
    if is_cut:
        notes.append(f"[only the first {sakura_docs.READ_BYTES // 1024 // 1024} MB were looked at; read_file reads on]")
    return "\n".join([data.text, *notes])


def _answer(data: ReadSakuraDocsOutput, content: str, *, cut: bool) -> Result:
    span = f"{data.start}-{data.end}" if data.start else ""
    of = paths.split(data.path)[1] if data.start else ""
    data.fact = Fact(
        "read_sakura_docs",
        data.path,
        range=span,
        fingerprint=hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16],
        refresh=f"read_sakura_docs {data.path} {span}".rstrip() if of else "read_sakura_docs",
    )
    return Result(content, data.dump(), truncated=cut)
