"""What bash reads otherwise than the grammar does, put right before parsing: here-documents above all."""

import re
from dataclasses import dataclass

from workspaces.shell import reserved

MARK = "\ue001"
"""Stands with a number where a here-document was; a character of no meaning, which no shell treats specially."""

MARKED = re.compile(f"{MARK}(\\d+){MARK}")
_OPERATOR = re.compile(r"<<(-?)[ \t]*((?:'[^'\n]*'|\"[^\"\n]*\"|\\.|[^\s'\"\\;&|<>()`$#]|(?<=.)#)+)")
_PLAIN = re.compile(r"[^\\'\"$`()<>#\n}{]+")
_ANSI = re.compile(r"\$'(?:[^'\\]|\\.)*'?", re.DOTALL)
_ODD = re.compile(r"[`\\#{}\[!\"'$<(]|time|coproc")
_NEEDED = re.compile(r"<<|\(\(|\\[ \t\n]|\n[ \t]*\\|`|\$\"|[^\s;&|()<>\"'${]#")
_TO_BACKTICK = re.compile(r"((?:[^`\\]|\\.)*)`", re.DOTALL)
_QUOTED_TWICE = re.compile(r"\\([`$\\])")
_CASES = re.compile(r"(?<![^\s;&|()])(?:case|in|esac)(?![^\s;&|()])|;;&?|;&")
_BEFORE_COMMAND = re.compile(r"(?:^|[;&|()\n]|(?<![^\s;&|()])(?:do|then|else|elif|if|while|until|time|!|\{))[ \t]*\Z")
_PAIRED = re.compile(r"[^()'\"\\]+|'[^']*'|\"(?:[^\"\\]|\\.)*\"|\\.|.", re.DOTALL)
PAIRS_LIMIT = 20_000
"""Parts that are looked through for what closes `((`; further ones are taken for arithmetic."""
REWRITES_LIMIT = 50
"""Backticks with backslashes in them that are written otherwise; further ones are left to the grammar."""
_ROUND = ("(", "$(")
_TEXT = ('"', "<<")
_ARITHMETIC = ("((", "(((")
_WORD_START = " \t\n;&|()<>`"


@dataclass(frozen=True)
class HereDocument:
    """What is fed in; `is_literal`: its delimiter was quoted, so that nothing in it is expanded."""

    text: str
    is_literal: bool


def take_out(source: str, is_document: bool = False) -> tuple[str, list[HereDocument]]:
    """Return the command with `<MARK0MARK` in the place of each here-document, and the documents by number.

    Bash reads a document where the next line begins, several on one line in order; a grammar can't say that well.
    `is_document`: the source is the text of one, in which only what a dollar or a backtick begins is code; it is
    returned as it stands between double quotes.
    """
    found: list[HereDocument] = []
    for _ in range(
        2 if "\\\n" in source and not is_document else 1
    ):  # what a continued line parted is seen when that is gone
        if not is_document and not _is_odd(source):
            break
        scanner = _Scanner(source, found, is_document)
        scanner.scan()
        source = "".join(scanner.out)
    return source, found


def _is_odd(source: str) -> bool:
    return bool(_ODD.search(source)) and (bool(_NEEDED.search(source)) or reserved.are_odd(source))


class _Scanner:
    """Walks over the characters, knowing what is quoted.

    `nest` holds what is open: `"`, a backtick, `(`, `$(`, `((`, `{`, and `(((` for what is round in `((`; `<<`: all
    of it is the text of a here-document.
    """

    def __init__(self, source: str, found: list[HereDocument], is_document: bool) -> None:
        self.source = source
        self.at = 0
        self.out: list[str] = []
        self.nest: list[str] = ["<<"] if is_document else []
        self.pending: list[tuple[str, bool, bool]] = []
        self.found = found
        self.rewritten = 0
        self.pairs = 0
        self.joined = -1
        """Where a word goes on though what precedes looks like its end."""
        self.loops: set[int] = set()
        """By how much is open there: a `for` waits for its body."""
        self.cases: dict[int, list[str]] = {}
        """By how much is open there: for each `case`, what comes next: its `in`, a pattern's end, or `esac`."""

    def scan(self) -> None:
        while self.at < len(self.source):
            before = (self.at, self.rewritten)
            self._step()
            assert (self.at, self.rewritten) > before
        self._bodies()

    def _step(self) -> None:
        character, top = self.source[self.at], self.nest[-1] if self.nest else ""
        if plain := _PLAIN.match(self.source, self.at):
            if top in _ROUND:
                self._follow_cases(plain.end())
            self._plain(plain.end(), top)
        elif character == "\\":
            self._backslash(top)
        elif character == '"' and top != "<<":
            self._open_or_close('"', top)
        elif character == "`":
            self._backtick(top)
        elif character == "$":
            self._dollar(top)
        elif top in _TEXT:
            self.out.append("\\" if character == '"' else "")
            self._copy(self.at + 1)
        else:
            self._outside_quotes(character, top)

    def _follow_cases(self, end: int) -> None:
        """Note `case` and what belongs to it up to there: the `)` after a pattern closes nothing."""
        for found in _CASES.finditer(self.source, self.at, end):
            waits = self.cases.setdefault(len(self.nest), [])
            before = self.source[max(0, found.start() - 20) : found.start()]
            match found[0], waits[-1:]:
                case "case", _ if _BEFORE_COMMAND.search(before):
                    waits.append("in")
                case "in", ["in"]:
                    waits[-1] = ")"
                case "esac", [_]:
                    waits.pop()
                case ((";;" | ";&" | ";;&"), ["esac"]):
                    waits[-1] = ")"

    def _ends_pattern(self) -> bool:
        """Return whether a `)` here ends a pattern of a `case`; what comes next is its body."""
        waits = self.cases.get(len(self.nest), [])
        if waits[-1:] != [")"]:
            return False
        waits[-1] = "esac"
        return True

    def _plain(self, end: int, top: str) -> None:
        """Copy what has no meaning of its own, with what reserved words need."""
        if top in (*_TEXT, *_ARITHMETIC, "{"):
            self._copy(end)
            return
        after = self.at - (self.at > 0 and self.joined != self.at)
        is_head = reserved.opens_loop(self.source, self.at, end, after)
        if is_head is not None:
            (self.loops.add if is_head else self.loops.discard)(len(self.nest))
        for start, to, instead in reserved.edits(self.source, self.at, end, after):
            self._copy(start)
            self.out.append(instead)
            self.at = to
        begin = reserved.begins_longer(self.source, self.at, end) if self._goes_on(end, top) else None
        if begin is not None:
            self._copy(begin)
            self.out.append('""')
        self._copy(end)

    def _goes_on(self, at: int, top: str) -> bool:
        return reserved.goes_on(self.source, at) and not (top in ("`", "$`") and self.source[at] == "`")

    def _backslash(self, top: str) -> None:
        """The grammar takes a continued line, and sometimes a quoted blank, for the end of a word."""
        if self._starts("\\\n"):
            goes_on = not self._at_word_start()
            self.at += 2
            self.joined = self.at if goes_on else -1
            return
        if self._starts(("\\ ", "\\\t")) and top not in (*_TEXT, "{"):
            self.out.append(f"'{self.source[self.at + 1]}'")
            self.at += 2
        else:
            if top not in _TEXT and self._at_word_start():
                self.out.append('""')  # the grammar takes a line's end before a backslash for a letter
            elif top == "<<" and self._starts('\\"'):
                self.out.append("\\\\\\")  # in a document both stay
                self.at += 1
                self._copy(self.at + 1)
                return
            self._copy(self.at + 2)
        self.joined = self.at

    def _outside_quotes(self, character: str, top: str) -> None:
        match character:
            case "'":
                end = self.source.find("'", self.at + 1)
                self._copy(len(self.source) if end < 0 else end + 1)
            case "(":
                self._open_round(top)
            case ")":
                self._pop_round(top)
            case "}" if top == "{":
                self.nest.pop()
                self._copy(self.at + 1)
            case "{" | "}" if top not in _ARITHMETIC and self._at_word_start() and self._goes_on(self.at + 1, top):
                self.out.append('""')  # the grammar takes `{rm,-rf}` at a command's place for a group; bash does not
                self._copy(self.at + 1)
            case "{" if len(self.nest) in self.loops and reserved.ends_head(self.source, self.at):
                self.loops.discard(len(self.nest))
                self.out.append("do :; done; ")
                self._copy(self.at + 1)
            case "<" if top not in (*_ARITHMETIC, "{"):
                self._less()
            case "#" if top not in (*_ARITHMETIC, "{"):
                self._hash()
            case "\n":
                self._copy(self.at + 1)
                self._bodies()
            case _:
                self._copy(self.at + 1)

    def _dollar(self, top: str) -> None:
        if top not in _TEXT and (ansi := _ANSI.match(self.source, self.at)):
            self._copy(ansi.end())
        elif top not in _TEXT and self._starts('$"'):
            self.at += 1  # a string of another language: the grammar takes the dollar for a letter
        elif self._starts(("$$", "$#")):
            self._copy(self.at + 2)
        elif self._starts("$((") and self._is_arithmetic(self.at + 3):
            self._push("((", 3)
        elif self._starts("$(("):
            self._copy(self.at + 2)
            self.out.append(" ")
            self.nest.append("$(")
        elif self._starts("$("):
            self._push("$(", 2)
        elif self._starts("${"):
            self._push("{", 2)
        else:
            self._copy(self.at + 1)

    def _hash(self) -> None:
        """Copy a comment; within a word the grammar wants it quoted."""
        if self._at_word_start():
            end = self.source.find("\n", self.at)
            self._copy(len(self.source) if end < 0 else end)
        else:
            self.out.append("\\")
            self._copy(self.at + 1)

    def _open_round(self, top: str) -> None:
        if top in _ARITHMETIC:
            self.nest.append("(((")
        elif loop := reserved.LOOP_FUNCTION.match(self.source, self.at):
            self.out.append(";")
            self.at = loop.end()
            return
        elif self._starts("((") and self._is_arithmetic(self.at + 2):
            self._push("((")
            return
        else:
            self.nest.append("(")
        self._copy(self.at + 1)
        if top not in _ARITHMETIC and self._starts("("):
            self.out.append(" ")  # two subshells

    def _is_arithmetic(self, at: int) -> bool:
        """Return whether the `((` before is closed by `))`; if not, it opens two subshells."""
        depth = 2
        for part in _PAIRED.finditer(self.source, at):
            self.pairs += 1
            if self.pairs > PAIRS_LIMIT:
                break
            depth += {"(": 1, ")": -1}.get(part[0], 0)
            if depth == 1:
                return self.source.startswith(")", part.end())
        return True

    def _less(self) -> None:
        if self._starts("<<<"):
            self._copy(self.at + 3)
        elif here := _OPERATOR.match(self.source, self.at):
            word = here[2]
            delimiter = re.sub(r"\\(.)|['\"]", lambda quote: quote[1] or "", word)
            self.out.append(f"<{MARK}{len(self.found) + len(self.pending)}{MARK}")
            self.pending.append((delimiter, delimiter != word, bool(here[1])))
            self.at = here.end()
        else:
            self._copy(self.at + (2 if self._starts("<<") else 1))

    def _bodies(self) -> None:
        """Read the documents that were announced on the line before."""
        for delimiter, is_literal, strips in self.pending:
            lines: list[str] = []
            while self.at < len(self.source):
                end = self.source.find("\n", self.at)
                end = len(self.source) if end < 0 else end
                line = self.source[self.at : end]
                self.at = min(end + 1, len(self.source))
                line = line.lstrip("\t") if strips else line
                if line == delimiter:
                    break
                lines.append(line + "\n")
            self.found.append(HereDocument("".join(lines), is_literal))
        self.pending.clear()

    def _open_or_close(self, mark: str, top: str) -> None:
        if top == mark:
            self.nest.pop()
            self.joined = self.at + 1
        else:
            self.nest.append(mark)
        self._copy(self.at + 1)

    def _backtick(self, top: str) -> None:
        """Write it as `$(…)`: the grammar loses its way between several, and in those that are quoted twice."""
        if top == "$`":
            self.nest.pop()
            self.out.append(")")
            self.at += 1
            self.joined = self.at
            return
        inner = _TO_BACKTICK.match(self.source, self.at + 1)
        if top == "`" or inner is None:
            self._open_or_close("`", top)
        elif "\\" in inner[1]:
            self._rewrite(inner, top)
        else:
            self.nest.append("$`")
            self.out.append("$(")
            self.at += 1

    def _rewrite(self, inner: re.Match[str], top: str) -> None:
        if self.rewritten >= REWRITES_LIMIT:
            self._open_or_close("`", top)
            return
        self.rewritten += 1
        code = _QUOTED_TWICE.sub(r"\1", inner[1])
        self.source = f"{self.source[: self.at]}$({code}){self.source[inner.end() :]}"

    def _push(self, kind: str, size: int = 0) -> None:
        self.nest.append(kind)
        self._copy(self.at + (size or len(kind)))

    def _pop_round(self, top: str) -> None:
        if top == "((" and self._starts("))"):
            self.nest.pop()
            self._copy(self.at + 2)
            self.joined = self.at
            return
        if top == "(((":
            self.nest.pop()
        elif top in _ROUND and not self._ends_pattern():
            self.cases.pop(len(self.nest), None)
            self.nest.pop()
            self.joined = self.at + (top == "$(")
            if top == "(":  # of a pattern that is written `(a)`
                self._ends_pattern()
        self._copy(self.at + 1)

    def _starts(self, text: str | tuple[str, ...]) -> bool:
        return self.source.startswith(text, self.at)

    def _at_word_start(self) -> bool:
        return self.at != self.joined and (self.at == 0 or self.source[self.at - 1] in _WORD_START)

    def _copy(self, end: int) -> None:
        self.out.append(self.source[self.at : end])
        self.at = min(end, len(self.source))
