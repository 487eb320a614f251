"""Source text as HTML, one string a line: escaped, the syntax as the few classes of the style sheet, words marked."""

import html
import re
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import PurePosixPath

from django.utils.safestring import SafeString, mark_safe
from pygments.lexer import Lexer
from pygments.lexers import find_lexer_class_for_filename
from pygments.token import Comment, Generic, Keyword, Name, Number, Operator, String, _TokenType

from workspaces import odd

LIMIT_CHARACTERS = 200_000
"""A longer text stays plain: its colours would cost more than they tell."""
LIMIT_LINE = 2000
"""A text with a longer line (minified code) stays plain too."""
LIMIT_SECONDS = 1.0
"""Looked at between tokens; within one, a lexer is slow only where its line is long."""
LANGUAGES = frozenset(
    {
        "Ada", "ApacheConf", "Awk", "Bash", "Batch", "C", "Clojure", "CMake", "CoffeeScript", "CommonLisp",
        "Cpp", "Crystal", "CSharp", "Css", "Cuda", "Cython", "D", "Dart", "Delphi", "Desktop", "Diff", "Docker",
        "Elixir", "EmacsLisp", "Erlang", "Fortran", "Gas", "GDScript", "Gettext", "Gherkin", "Go", "GraphQL",
        "Graphviz", "Groovy", "Haml", "Haskell", "HLSLShader", "Html", "Ini", "Java",
        "Javascript", "Json", "Jsonnet", "Jsx", "Julia", "Kotlin", "LessCss", "Llvm", "Lua", "Makefile",
        "Markdown", "Meson", "Nasm", "NginxConf", "Nimrod", "Nix", "ObjectiveC", "Ocaml", "Org", "Php",
        "PowerShell", "Prolog", "Properties", "ProtoBuf", "Pug", "Python", "RobotFramework", "Rst", "Ruby",
        "Rust", "S", "Sass", "Scala", "Scheme", "Scss", "Solidity", "Swift", "Systemd", "SystemVerilog", "Tcl",
        "Terraform", "Tex", "Thrift", "TOML", "TransactSql", "Tsx", "TypeScript", "VbNet",
        "Verilog", "Vhdl", "Vim", "Vue", "Wat", "Xml", "Xslt", "Yaml", "Zig",
    }
)  # fmt: skip
"""Whose lexers stay quick on lines made to be slow; of the others some would take hours for a hundred brackets."""

CLASSES: tuple[tuple[_TokenType, str], ...] = (
    (Comment, "c"),
    (String, "s"),
    (Number, "n"),
    (Keyword, "k"),
    (Operator.Word, "k"),
    (Name.Function, "f"),
    (Name.Class, "f"),
    (Name.Decorator, "f"),
    (Name.Tag, "f"),
    (Name.Attribute, "f"),
    (Generic.Heading, "f"),
    (Generic.Subheading, "f"),
)

_LAST_CR = re.compile(r"\r((?:</[a-z]+>)*)$")

Span = tuple[int, int]
_PIECE = re.compile(r"<[^>]+>|&[^;]+;|[^<&]")


@lru_cache(maxsize=128)
def lines(path: str, text: str) -> tuple[SafeString, ...]:
    """Return the text's lines as HTML without their ends; the name decides the language.

    Lines end at "\\n" alone, as in git. Kept for the last 128 texts.
    """
    lexer = _lexer(PurePosixPath(path).name) if _is_colourable(text) else None
    if lexer is None:
        return plain_lines(text)
    coloured = tuple(mark_safe(line) for line in _coloured(lexer, text))  # noqa: S308 -- every piece is escaped
    return coloured if len(coloured) == text.count("\n") + 1 else plain_lines(text)


def marked(line: SafeString, spans: tuple[Span, ...]) -> SafeString:
    """Return one line of `lines` with the character ranges inside <mark class="w">; elements stay well nested."""
    if not spans:
        return line
    return mark_safe("".join(_with_marks(line, spans)))  # noqa: S308 -- only <mark> is added to escaped HTML


def visible(line: SafeString) -> SafeString:
    """Return a line with what can't be seen made visible, each as a mark with its code; a CR at its end goes.

    Within a line of code a carriage return is odd too.
    """
    if "\r" not in line:
        return odd.marked(line)
    return mark_safe(odd.marked(_LAST_CR.sub(r"\1", line)).replace("\r", odd.mark("\r")))  # noqa: S308 -- only marks


def plain(text: str) -> SafeString:
    """Return one line escaped and without colours."""
    return SafeString(html.escape(text))


def plain_lines(text: str) -> tuple[SafeString, ...]:
    """Return the text's lines escaped and without colours."""
    return tuple(SafeString(html.escape(line)) for line in text.split("\n"))


def _is_colourable(text: str) -> bool:
    return len(text) <= LIMIT_CHARACTERS and all(len(line) <= LIMIT_LINE for line in text.split("\n"))


@lru_cache(maxsize=256)
def _lexer(name: str) -> Lexer | None:
    found = find_lexer_class_for_filename(name)
    return found() if found and found.__name__.removesuffix("Lexer") in LANGUAGES else None


def _coloured(lexer: Lexer, text: str) -> Iterator[str]:
    """Yield each line; past the time limit the rest comes without colours."""
    started, line, done = time.thread_time(), "", 0
    for position, kind, value in lexer.get_tokens_unprocessed(text):
        if position != done:
            return  # a lexer that leaves out or repeats text can't be trusted with line numbers
        done += len(value)
        css = _css(kind)
        first, *rest = value.split("\n")
        line += _span(css, first)
        for piece in rest:
            yield line
            line = _span(css, piece)
        if time.thread_time() - started > LIMIT_SECONDS:
            break
    first, *rest = text[done:].split("\n")
    yield line + html.escape(first)
    yield from (html.escape(piece) for piece in rest)


@lru_cache(maxsize=512)
def _css(kind: _TokenType) -> str:
    return next((css for family, css in CLASSES if kind[: len(family)] == family), "")


def _span(css: str, text: str) -> str:
    safe = html.escape(text)  # what Django's escape does, without its cost per call; most pieces are a word long
    return f'<span class="{css}">{safe}</span>' if css and text else safe


def _with_marks(line: str, spans: tuple[Span, ...]) -> Iterator[str]:
    at, is_open = 0, False
    for piece in _PIECE.findall(line):
        is_tag = piece.startswith("<")
        wanted = not is_tag and any(start <= at < end for start, end in spans)
        if is_open != wanted:
            yield '<mark class="w">' if wanted else "</mark>"
            is_open = wanted
        yield piece
        at += not is_tag
    if is_open:
        yield "</mark>"
