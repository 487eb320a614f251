"""Watches a browser while it shows what others wrote: scripts that ran, policies that were broken, requests that left."""

from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Page

_REPORT_VIOLATIONS = """
addEventListener("securitypolicyviolation", (event) => {
  window.reportViolation(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile ?? ""}:${event.lineNumber} ${event.sample}`);
});
"""


class Watch:
    """What happened in a browser context that should not have, as sentences."""

    def __init__(self, context: BrowserContext, origin: str) -> None:
        self.faults: list[str] = []
        self.origin = origin
        context.expose_function("pwned", lambda what=None: self.faults.append(f"a script ran: {what}"))
        context.expose_function("reportViolation", lambda what: self.faults.append(f"the policy was broken: {what}"))
        context.add_init_script(_REPORT_VIOLATIONS)
        context.on("request", lambda request: self._ask(request.url))
        context.on("page", self._follow)

    def _ask(self, url: str) -> None:
        if not url.startswith((f"{self.origin}/", "data:image/png", "blob:")):
            self.faults.append(f"a request left: {url[:200]}")

    def _follow(self, page: Page) -> None:
        page.on("dialog", lambda dialog: (self.faults.append(f"a dialog: {dialog.message}"), dialog.dismiss()))
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.faults.append(f"an error on {page.url}: {error}"))

    def _hear(self, message: ConsoleMessage) -> None:
        is_status = "Failed to load resource: the server responded with a status of 4" in message.text
        if message.type in ("error", "warning") and not is_status:
            self.faults.append(f"the console: {message.text[:300]}")


def shown(page: Page) -> dict[str, Any]:
    """Return what of a page a text in it could have changed."""
    return dict(page.evaluate(_SHOWN))


_SHOWN = """() => {
  const ours = new Set(["http:", "https:", "mailto:"]);
  const links = [...document.querySelectorAll("a[href]")].filter((link) => link instanceof HTMLAnchorElement);
  const odd = /[\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff]|[\\u{e0000}-\\u{e007f}]/u;
  const attributes = ["title", "aria-label", "alt", "placeholder"];
  return {
    title: document.title,
    scripts: [...document.scripts].filter((script) => script.type !== "application/json").map((script) => new URL(script.src || "about:inline").pathname),
    foreign: [...document.querySelectorAll("iframe, object, embed, base, style, video, audio, math, meta[http-equiv], form:not([action^='/']):not([action='']):is([action])")].map((node) => node.outerHTML.slice(0, 200)),
    handlers: [...document.querySelectorAll("*")].filter((node) => [...node.attributes].some((each) => /^(on|hx-|style$|srcdoc$)/.test(each.name))).map((node) => node.outerHTML.slice(0, 200)),
    images: [...document.images].map((image) => image.src.slice(0, 60)).filter((src) => !src.startsWith("data:image/png")),
    bad: links.filter((link) => !ours.has(link.protocol) && link.getAttribute("href") !== "").map((link) => link.outerHTML.slice(0, 200)),
    away: links.filter((link) => link.origin !== location.origin).map((link) => ({ href: link.href, rel: link.rel, host: link.dataset.host ?? "", where: link.closest("[class]")?.className })),
    twice: [...document.querySelectorAll("[id]")].map((node) => node.id).filter((id, index, all) => all.indexOf(id) !== index),
    hidden: [...document.querySelectorAll("body, title")].map((node) => node.innerText ?? node.textContent).concat(document.title).filter((text) => odd.test(text)).map((text) => text.slice(Math.max(0, text.search(odd) - 60), text.search(odd) + 60)),
    unnamed: [...document.querySelectorAll("*")].flatMap((node) => attributes.map((name) => [name, node.getAttribute(name)])).filter(([, value]) => value && odd.test(value)).map((pair) => pair.join(": ").slice(0, 160)),
    wide: document.documentElement.scrollWidth - innerWidth,
    covers: [...document.querySelectorAll(".prose *, #log .call > div *, .term *, .diff .code *")].filter((node) => getComputedStyle(node).position === "fixed").map((node) => node.outerHTML.slice(0, 100)),
    size: document.documentElement.outerHTML.length,
  };
}"""


def host_of(url: str) -> str:
    return urlsplit(url).netloc
