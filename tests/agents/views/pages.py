"""How the tests of the pages read HTML: by elements, with the standard library's parser."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"})


@dataclass
class Element:
    """An element with its attributes and all the text within it."""

    tag: str
    attrs: dict[str, str]
    text: str = ""
    parents: tuple["Element", ...] = field(default=(), repr=False)

    @property
    def words(self) -> str:
        return " ".join(self.text.split())


class Page(HTMLParser):
    """A parsed page; `find` gives the elements of a tag with the given attributes."""

    def __init__(self, html: bytes | str) -> None:
        super().__init__()
        self.elements: list[Element] = []
        self._open: list[Element] = []
        self.feed(html.decode() if isinstance(html, bytes) else html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs}, parents=tuple(self._open))
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        for index in range(len(self._open) - 1, -1, -1):
            if self._open[index].tag == tag:
                del self._open[index:]
                return

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data

    def find(self, tag: str, **attrs: str) -> list[Element]:
        """Return the elements of the tag whose attributes have these values; `class_` is one of the classes."""
        return [each for each in self.elements if each.tag == tag and _fits(each, attrs)]

    def one(self, tag: str, **attrs: str) -> Element:
        (found,) = self.find(tag, **attrs)
        return found


def _fits(element: Element, attrs: dict[str, str]) -> bool:
    for name, value in attrs.items():
        if name == "class_":
            if value not in element.attrs.get("class", "").split():
                return False
        elif element.attrs.get(name.rstrip("_")) != value:
            return False
    return True
