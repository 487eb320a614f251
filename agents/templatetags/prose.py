"""Texts that models, tools and people wrote, made safe to show: sanitised Markdown, odd characters made visible."""

import re

import nh3
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from markdown import Markdown
from markdown.inlinepatterns import LINK_RE, LinkInlineProcessor

from workspaces.odd import ODD, mark

MARKDOWN_LIMIT = 32 * 1024
"""Characters up to which Markdown is rendered; a longer text is shown as it is."""
BRACKET_LIMIT = 1000
"""Opening brackets up to which Markdown is rendered."""
LINK_LENGTH = 1000
"""Characters in which a link must end: the converter would look to the end of the text at each bracket, and a text
of 16,000 open brackets would take it 100 s."""

_TAGS = {
    "a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre",
    "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
_HEADING = re.compile("<(/?)h[1-6]>")
_ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}}


def visible(text: str) -> SafeString:
    """Return the text escaped, each odd character as a mark with its code and its name in the title."""
    return mark_safe(ODD.sub(mark, escape(text)))  # noqa: S308 -- escaped one call earlier


def render(text: str) -> SafeString:
    """Return Markdown as safe HTML; HTML in it is shown as text, and so is what is too long or too deep to render."""
    if len(text) > MARKDOWN_LIMIT or text.count("[") > BRACKET_LIMIT:
        return _plain(text)
    plain = ODD.sub(lambda match: f"‹U+{ord(match[0]):04X}›", text)
    try:
        html = _markdown().convert(plain)
    except RecursionError:
        return _plain(text)
    return mark_safe(_clean(html))  # noqa: S308 -- sanitised one call earlier


class _Link(LinkInlineProcessor):
    """A link whose end is looked for in the next LINK_LENGTH characters only."""

    def getText(self, data: str, index: int) -> tuple[str, int, bool]:
        return super().getText(data[: index + LINK_LENGTH], index)

    def getLink(self, data: str, index: int) -> tuple[str, str | None, int, bool]:
        return super().getLink(data[: index + LINK_LENGTH], index)


def _markdown() -> Markdown:
    """Return a converter without HTML, images and references. One a call: it keeps state and isn't thread-safe."""
    converter = Markdown(extensions=["fenced_code", "tables", "sane_lists"], output_format="html")
    converter.preprocessors.deregister("html_block")
    converter.parser.blockprocessors.deregister("reference")
    for name in ("html", "image_link", "image_reference", "short_image_ref", "reference", "short_reference"):
        converter.inlinePatterns.deregister(name)
    converter.inlinePatterns.register(_Link(LINK_RE, converter), "link", 160)
    return converter


def _clean(html: str) -> str:
    """Sanitise; headings become paragraphs of a class, so that a text can't change the outline of the page."""
    clean = nh3.clean(
        html,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
    return _HEADING.sub(lambda match: "</p>" if match[1] else '<p class="head">', clean)


def _plain(text: str) -> SafeString:
    return format_html('<pre class="plain">{}</pre>', visible(text))
