"""Watches a browser while it shows what others wrote: scripts that ran, broken policies, requests that left."""

from typing import Any

from playwright.sync_api import BrowserContext, ConsoleMessage, Dialog, Page

_REPORT = """
addEventListener("securitypolicyviolation", (event) => {
  window.reportViolation(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile} ${event.sample}`);
});
"""


class Watch:
    """What happened in a browser context that should not have, as sentences."""

    def __init__(self, context: BrowserContext, origin: str) -> None:
        self.faults: list[str] = []
        self.origin = origin
        context.expose_function("pwned", lambda what=None: self.faults.append(f"a script ran: {what}"))
        context.expose_function("reportViolation", lambda what: self.faults.append(f"the policy was broken: {what}"))
        context.add_init_script(_REPORT)
        context.on("request", lambda request: self._ask(request.url))
        context.on("page", self._follow)

    def _ask(self, url: str) -> None:
        if not url.startswith((f"{self.origin}/", "data:image/png", "data:image/svg+xml;base64,")):
            self.faults.append(f"a request left: {url[:200]}")

    def _follow(self, page: Page) -> None:
        page.on("dialog", self._dismiss)
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.faults.append(f"an error on {page.url}: {error}"))

    def _dismiss(self, dialog: Dialog) -> None:
        self.faults.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def _hear(self, message: ConsoleMessage) -> None:
        is_not_found = "the server responded with a status of 404" in message.text
        if message.type in ("error", "warning") and not is_not_found:
            self.faults.append(f"the console: {message.text[:300]}")


def faults_of(page: Page) -> dict[str, Any]:
    """Return what of a page a text in it has changed, by the rule that it breaks; nothing on a page that is well."""
    found: dict[str, Any] = page.evaluate(_FAULTS)
    return {rule: examples for rule, examples in found.items() if examples}


_FAULTS = r"""() => {
  const odd = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]|[\u{e0000}-\u{e007f}]/u;
  const all = [...document.querySelectorAll("*")];
  const few = (nodes) => nodes.slice(0, 5).map((node) => (node.outerHTML ?? String(node)).slice(0, 200));
  const links = all.filter((node) => node instanceof HTMLAnchorElement && node.getAttribute("href"));
  const away = links.filter((link) => link.origin !== location.origin);
  const foreign = "iframe, object, embed, base, style, link:not([href^='/static/']), video, audio, math, meta[http-equiv]";
  const texts = [document.title, document.body.innerText];
  const attributes = (node) => ["title", "aria-label", "alt", "placeholder"].map((name) => node.getAttribute(name) ?? "");
  const texting = [...document.querySelectorAll(".prose, .term, .code, #log .call, .note")];
  const positioned = (node) => ["fixed", "sticky"].includes(getComputedStyle(node).position);
  return {
    "is a script of nobody's": few([...document.scripts].filter((script) => !script.src.startsWith(`${location.origin}/static/`))),
    "is an element that no page of ours has": few([...document.querySelectorAll(foreign)]),
    "acts by an attribute": few(all.filter((node) => [...node.attributes].some(({ name }) => /^(on|hx-|style$|srcdoc$)/.test(name)))),
    "sends a form elsewhere": few([...document.forms].filter((form) => new URL(form.getAttribute("action") ?? "", location.href).origin !== location.origin)),
    "loads a picture": few([...document.images].filter((image) => !/^data:image\/(png|svg\+xml);base64,/.test(image.src))),
    "has an odd protocol": few(links.filter((link) => !["http:", "https:", "mailto:"].includes(link.protocol))),
    "leads away unasked": few(away.filter((link) => link.rel !== "noopener noreferrer nofollow" || !link.matches(".prose .out"))),
    "hides where it leads": few(away.filter((link) => !link.dataset.host && link.textContent !== link.getAttribute("href"))),
    "has the id of another": few(all.filter((node) => node.id && document.getElementById(node.id) !== node)),
    "hides characters": texts.filter((text) => odd.test(text)).map((text) => text.slice(Math.max(0, text.search(odd) - 60), text.search(odd) + 60)),
    "hides characters in an attribute": few(all.filter((node) => attributes(node).some((text) => odd.test(text)))),
    "covers the page": few(texting.flatMap((node) => [...node.querySelectorAll("*")]).filter(positioned)),
    "is wider than the window": Math.max(0, document.documentElement.scrollWidth - innerWidth),
    "is too large": Math.max(0, document.documentElement.outerHTML.length - 4_000_000),
  };
}"""  # noqa: E501 -- one rule a line
