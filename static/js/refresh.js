// @ts-check
// Parts of a page that change by themselves ([data-refresh]): fetched once a second until they say they are done.

import { elementOf, replaceElement, showLine } from "./page.js";

const EVERY_MS = 1000;
const FAILED_MS = 5000;

/** @param {Element} old */
async function refresh(old) {
  const address = new URL(window.location.href);
  address.searchParams.set("part", old.getAttribute("data-part") ?? "");
  const answer = await fetch(address, { headers: { Accept: "text/html" } });
  if (!answer.ok || answer.redirected) throw new Error(`answered ${answer.status}`);
  const fresh = elementOf(await answer.text());
  if (!fresh || fresh.id !== old.id) throw new Error("an unknown answer");
  if (fresh.outerHTML !== old.outerHTML) replaceElement(old, fresh);
  if (!fresh.hasAttribute("data-refresh") && fresh.hasAttribute("data-reload-when-done")) window.location.reload();
}

async function refreshAll() {
  const parts = [...document.querySelectorAll("[data-refresh]")];
  if (!parts.length) return;
  try {
    await Promise.all(parts.map(refresh));
    showLine("polling", "Live");
    setTimeout(refreshAll, EVERY_MS);
  } catch {
    showLine("lost");
    setTimeout(refreshAll, FAILED_MS);
  }
}

setTimeout(refreshAll, EVERY_MS);
