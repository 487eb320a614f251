// @ts-check
// While a proof is made, its card is asked for every two seconds; once it is done, so are the parts of the page that follow from it.

import { elementOf, pageOf, replaceElement } from "./page.js";

const EVERY_MS = 2000;
const FAILED_MS = 10_000;
const FOLLOWING = ["integrity", "claims", "against"];
const CARD = "proof-card";

/** @param {URL} address @returns {Promise<string>} */
async function fetched(address) {
  const answer = await fetch(address, { headers: { Accept: "text/html" } });
  if (!answer.ok || answer.redirected) throw new Error(`answered ${answer.status}`);
  return answer.text();
}

/** @param {Element | null} fresh @param {string} id */
function put(fresh, id) {
  const old = document.getElementById(id);
  if (!old || !fresh || fresh.id !== id || fresh.outerHTML === old.outerHTML) return;
  const typed = old.querySelector("input[type=text]");
  const field = fresh.querySelector("input[type=text]");
  if (typed instanceof HTMLInputElement && field instanceof HTMLInputElement) field.value = typed.value;
  replaceElement(old, fresh);
}

async function follow() {
  const place = document.getElementById(CARD)?.dataset.fresh ?? "";
  const address = new URL(place, window.location.href); // a page that answers a refused post has another address
  address.search = window.location.search;
  address.searchParams.set("part", "proof");
  const fresh = elementOf(await fetched(address));
  if (fresh?.hasAttribute("data-fresh")) return put(fresh, CARD);
  address.searchParams.delete("part");
  const page = pageOf(await fetched(address));
  [CARD, ...FOLLOWING].forEach((id) => put(page.getElementById(id), id));
}

async function followOn() {
  if (!document.getElementById(CARD)?.hasAttribute("data-fresh")) return;
  const wait = document.hidden ? EVERY_MS : await follow().then(() => EVERY_MS, () => FAILED_MS);
  setTimeout(followOn, wait);
}

setTimeout(followOn, EVERY_MS);
