"""Texts that models, tools and people wrote, made safe to show: sanitised Markdown, odd characters made visible."""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import nh3
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

from workspaces import odd

MARKDOWN_LIMIT = 32 * 1024
"""Characters up to which Markdown is rendered; a longer text is shown as it is."""
LINES_LIMIT = 1500
BRACKETS_LIMIT = 1000
"""Lines and opening brackets up to which Markdown is rendered: many short ones cost the converter most."""
NESTING_LIMIT = 30
"""Levels up to which Markdown is rendered, about 15 lists in each other. The converter drops what lies deeper."""

_TAGS = {
    "a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre",
    "s", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
_ATTRIBUTES = {"a": {"href"}, "ol": {"start"}}
_ABSOLUTE = re.compile(r"(?:https?://[^/\\?#\s]|mailto:[^\s])", re.IGNORECASE)
_TAG = re.compile(r'<(?P<end>/?)(?P<name>[a-z0-9]+)(?P<rest>(?:"[^"]*"|[^">])*)>|‹U\+(?P<code>[0-9A-F]{4,6})›')
_HREF = re.compile(r'href="([^"]*)"')


def visible(text: str) -> SafeString:
    """Return the text escaped, each odd character as a mark with its code and its name in the title."""
    return odd.marked(escape(text))


def render(text: str) -> SafeString:
    """Return Markdown as safe HTML; HTML in it is shown as text, and so is what is too long or too deep to render."""
    if len(text) > MARKDOWN_LIMIT or text.count("\n") > LINES_LIMIT or text.count("[") > BRACKETS_LIMIT:
        return _plain(text)
    converter = _markdown()
    tokens = converter.parse(odd.spelled(text))
    if any(token.level >= NESTING_LIMIT - 1 for token in tokens):
        return _plain(text)
    return mark_safe(_clean(converter.renderer.render(tokens, converter.options, {})))  # noqa: S308 -- sanitised


def _markdown() -> MarkdownIt:
    """Return a converter of CommonMark with tables, without HTML, pictures and references."""
    converter = MarkdownIt("commonmark", {"html": False, "maxNesting": NESTING_LIMIT})
    return converter.enable(["table", "strikethrough"]).disable(["image", "html_block", "html_inline", "reference"])


def _clean(html: str) -> str:
    """Sanitise, then write for each tag what the style sheet knows and for each odd character its mark."""
    clean = nh3.clean(
        html,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        attribute_filter=_kept,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
    return "".join(_pieces(clean))


def _kept(tag: str, attribute: str, value: str) -> str | None:
    """Keep a link that leads away; one without a host would be read against the address of Sakura's own page.

    A title goes: beside a link it would tell where that leads, and could lie.
    """
    return value if attribute in ("start", "rel") or (attribute == "href" and _ABSOLUTE.match(value)) else None


def _pieces(html: str) -> Iterator[str]:
    """Yield tags and texts; an entity such as `&#8238;` made odd characters of what had none in it before."""
    at = 0
    for tag in _TAG.finditer(html):
        yield odd.marked(html[at : tag.start()])
        yield _mark(tag) if tag["code"] else odd.spelled(_tag(tag))
        at = tag.end()
    yield odd.marked(html[at:])


def _mark(found: re.Match[str]) -> str:
    code = int(found["code"], 16)
    return odd.mark(chr(code)) if code <= 0x10FFFF and odd.can_be_odd(chr(code)) else found[0]


def _tag(tag: re.Match[str]) -> str:
    """Return a tag of the cleaned HTML; headings become paragraphs, so that a text can't change a page's outline."""
    name, is_end = tag["name"], bool(tag["end"])
    if name in ("h1", "h2", "h3", "h4", "h5", "h6"):
        return "</p>" if is_end else '<p class="head">'
    if name == "table":
        return "</table></div>" if is_end else '<div class="wide"><table>'
    return _link(tag) if name == "a" and not is_end else tag[0]


def _link(tag: re.Match[str]) -> str:
    """Return the start of a link with the host that it leads to, which its words may not tell or may belie."""
    found = _HREF.search(tag["rest"])
    if not found:
        return "<a>"
    says_it_all = tag.string.startswith(f"{found[1]}</a>", tag.end())
    host = "" if says_it_all else f' data-host="{escape(_host(found[1]))}"'
    return f'<a class="out"{host}{tag["rest"]}>'


def _host(escaped: str) -> str:
    """Return the host of an address as the network knows it, so that no foreign letter looks like another."""
    address = escaped.replace("&amp;", "&")
    try:
        name = urlsplit(address).hostname or address.partition(":")[2].partition("?")[0]
        return name if name.isascii() else name.encode("idna").decode()
    except (ValueError, UnicodeError):
        return "an odd address"


def _plain(text: str) -> SafeString:
    return format_html('<pre class="plain">{}</pre>', visible(text))
