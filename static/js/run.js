// @ts-check
// The live page of a run: puts patches in place, follows the tail, loads older events and long bodies, sends what people ask.

import { explain, Line } from "./live.js";
import { addKeys, asksToSend, clock, csrfToken, elementOf, fill, refreshTimes, replaceElement, showLine } from "./page.js";

const KEEP = 300;
const KEEP_WHILE_READING = 1000;
const OLDER = 100;
const PASSING_CHARS = 64 * 1024;
const WRITING_CHARS = 4000;
const TERMINAL_CHARS = 256 * 1024;
const STATUS_EVERY_MS = 5000;
// eslint-disable-next-line no-control-regex -- terminal escapes are control characters
const ESCAPES = /\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?|\x1b\[[0-?]*[ -/]*[@-~]?|\x1b[ -/]*[0-~]?|[\x08\r]/g;
// What the server marks as odd wherever it stands (workspaces/odd.py), so that passing text hides nothing either.
// eslint-disable-next-line no-control-regex -- as above
const ODD = /[\x00-\x07\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

/** @typedef {{ seq: number, op: "append" | "replace", target: string, html: string }} Patch */
/** @typedef {import("./live.js").State} State */

/**
 * @template {HTMLElement} T
 * @param {string} id
 * @param {new () => T} type
 * @returns {T}
 */
function need(id, type) {
  const found = document.getElementById(id);
  if (!(found instanceof type)) throw new Error(`The page has no #${id}.`);
  return found;
}

const log = need("log", HTMLElement);
const more = need("more", HTMLButtonElement);
const follow = need("follow", HTMLInputElement);
const banner = need("line", HTMLElement);
const writing = need("writing", HTMLElement);
const composer = need("composer", HTMLFormElement);

let cursor = Number(log.dataset.last);
let unseen = 0;
let isCut = false;
/** @type {State} */
let state = { kind: "live" };

// --- patches -----------------------------------------------------------------------------------------

/** @type {any[]} */
let queue = [];
let isPlanned = false;

/** @param {any} message */
function take(message) {
  queue.push(message);
  if (isPlanned) return;
  isPlanned = true;
  if (document.hidden) setTimeout(flush, 500);
  else requestAnimationFrame(flush);
}

function flush() {
  const messages = queue;
  queue = [];
  isPlanned = false;
  const stay = isFollowing();
  messages.forEach(apply);
  trim(stay);
  if (stay) toTail();
  countUnseen();
}

/** @param {any} message */
function apply(message) {
  switch (message.type) {
    case "events": return applyEvents(message);
    case "panel": return applyPanel(message.name, message.html);
    case "delta": return applyDelta(message);
  }
}

/** @param {{ first: number, last: number, patches: Patch[] }} message */
function applyEvents({ last, patches }) {
  patches.filter((patch) => patch.seq > cursor).forEach(applyPatch);
  cursor = Math.max(cursor, last);
  log.dataset.last = String(cursor);
  line.send({ ack: cursor });
}

/** @param {Patch} patch */
function applyPatch({ op, target, html }) {
  const place = document.getElementById(target);
  const fresh = elementOf(html);
  if (!place || !fresh) return; // its card is older than what the page shows
  if (op === "replace") replaceCard(place, fresh);
  else if (place === log) appendNode(fresh);
  else appendPiece(place, fresh);
}

/** @param {Element} fresh */
function appendNode(fresh) {
  writing.hidden = true;
  document.getElementById("nothing")?.remove();
  unseen += 1;
  if (isCut) return;
  decorate(fresh);
  log.append(fresh);
}

/**
 * A card that the reader opened or closed stays as they left it.
 * @param {Element} old
 * @param {Element} fresh
 */
function replaceCard(old, fresh) {
  const before = old.querySelector("details");
  const after = fresh.querySelector("details");
  decorate(fresh);
  const hadFocus = old.contains(document.activeElement);
  if (before?.dataset.touched && after) {
    after.open = before.open;
    after.dataset.touched = "1";
  }
  old.replaceWith(fresh);
  if (hadFocus) fresh.querySelector("summary")?.focus({ preventScroll: true });
}

/**
 * A durable piece takes the place of the passing text that it holds.
 * @param {HTMLElement} terminal
 * @param {Element} piece
 */
function appendPiece(terminal, piece) {
  const passing = terminal.querySelector(":scope > .passing");
  const rest = passing?.textContent ?? "";
  const text = piece.textContent ?? "";
  passing?.remove();
  terminal.append(piece);
  if (rest.length > text.length && rest.startsWith(text)) appendPassing(terminal, rest.slice(text.length));
  while ((terminal.textContent?.length ?? 0) > TERMINAL_CHARS && terminal.children.length > 1) terminal.firstElementChild?.remove();
  terminal.scrollTop = terminal.scrollHeight;
}

// --- passing text and panels ---------------------------------------------------------------------------

/** @param {{ target?: string, text: string }} message */
function applyDelta({ target, text }) {
  const plain = text.replace(ESCAPES, "").replace(ODD, code);
  if (!target) return appendWriting(plain);
  const terminal = document.getElementById(target);
  if (terminal) appendPassing(terminal, plain);
}

/** @param {string} character @returns {string} the text of its mark, as in U+202E */
function code(character) {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/**
 * @param {HTMLElement} terminal
 * @param {string} text
 */
function appendPassing(terminal, text) {
  const stay = terminal.scrollHeight - terminal.scrollTop - terminal.clientHeight < 40;
  let passing = terminal.querySelector(":scope > .passing");
  if (!passing) {
    passing = document.createElement("span");
    passing.className = "passing";
    terminal.append(passing);
  }
  passing.textContent = ((passing.textContent ?? "") + text).slice(-PASSING_CHARS);
  if (stay) terminal.scrollTop = terminal.scrollHeight;
}

/** @param {string} text */
function appendWriting(text) {
  const words = writing.querySelector("p");
  if (!words) return;
  const before = writing.hidden ? "" : words.textContent ?? "";
  words.textContent = (before + text).slice(-WRITING_CHARS);
  writing.hidden = false;
}

/**
 * @param {string} name
 * @param {string} html
 */
function applyPanel(name, html) {
  const old = document.getElementById(`panel-${name}`);
  const fresh = elementOf(html);
  if (!old || !fresh) return;
  decorate(fresh);
  replaceElement(old, fresh);
  tick();
}

// --- what the server can't know: the reader's zone, name and token -------------------------------------

/** @param {Element} root */
function decorate(root) {
  root.querySelectorAll("time[data-clock]").forEach((time) => {
    const at = new Date(time.getAttribute("datetime") ?? "");
    if (Number.isNaN(at.getTime())) return;
    time.textContent = at.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
    time.setAttribute("title", at.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" }));
  });
  root.querySelectorAll("[data-author]").forEach((name) => {
    if (document.body.dataset.user && name.getAttribute("data-author") === document.body.dataset.user) name.textContent = "You";
  });
  root.querySelectorAll("input[name=csrfmiddlewaretoken]").forEach((field) => {
    if (field instanceof HTMLInputElement) field.value ||= csrfToken();
  });
  refreshTimes(root);
}

/** @type {WeakMap<Element, number>} */
const seenAt = new WeakMap();

function tick() {
  document.querySelectorAll("[data-elapsed]").forEach((place) => {
    if (!seenAt.has(place)) seenAt.set(place, performance.now());
    if (!place.hasAttribute("data-ticking")) return;
    const passed = performance.now() - (seenAt.get(place) ?? 0);
    place.textContent = clock(Number(place.getAttribute("data-elapsed")) + passed);
  });
  explain(banner, state, `event ${cursor}`);
}

// --- the tail --------------------------------------------------------------------------------------------

/** Where the composer and what stands on it, or the window, cut the log off. */
function floor() {
  const top = composer.parentElement?.getBoundingClientRect().top ?? innerHeight;
  return Math.min(top, innerHeight);
}

function end() {
  const last = writing.hidden ? log : writing;
  return last.getBoundingClientRect().bottom;
}

function isAtTail() {
  return end() <= floor() + 60;
}

function isFollowing() {
  return follow.checked && isAtTail();
}

function toTail() {
  const by = end() - floor() + 16;
  if (by > 0) scrollBy({ top: by, behavior: "instant" });
}

/** @param {boolean} isAtEnd */
function trim(isAtEnd) {
  const surplus = log.children.length - KEEP;
  if (isAtEnd && surplus > 0) {
    [...log.children].slice(0, surplus).forEach((node) => node.remove());
    setFirst(Number(log.firstElementChild?.getAttribute("data-seq")));
  }
  isCut ||= log.children.length > KEEP_WHILE_READING;
}

function countUnseen() {
  if (isAtTail() && !isCut) unseen = 0;
  more.hidden = unseen === 0;
  more.textContent = unseen === 1 ? "1 new event" : `${unseen} new events`;
}

function goToTail() {
  if (isCut) { location.assign(location.pathname); return; }
  follow.checked = true;
  unseen = 0;
  toTail();
  countUnseen();
}

// --- older events and long bodies ------------------------------------------------------------------------

/** @param {number} seq */
function setFirst(seq) {
  log.dataset.first = String(seq);
  let link = olderLink();
  if (!link) {
    const holder = elementOf('<p class="older"><a class="btn ghost" data-older>Load older events</a></p>');
    if (holder) log.before(holder);
    link = olderLink();
  }
  link?.setAttribute("href", `?before=${seq}`);
}

function olderLink() {
  return document.querySelector("a[data-older]");
}

let isLoading = false;

async function loadOlder() {
  const first = Number(log.dataset.first);
  const link = olderLink();
  if (isLoading || !link || !first) return;
  isLoading = true;
  try {
    const answer = await fetch(`${log.dataset.events}?before=${first}&limit=${OLDER}`, { headers: { Accept: "application/json" } });
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    prepend(await answer.json());
  } catch (error) {
    link.textContent = `Older events did not load (${error instanceof Error ? error.message : error}). Try again`;
  } finally {
    isLoading = false;
  }
}

/** @param {{ first: number, more: boolean, patches: Patch[] }} page */
function prepend(page) {
  const fragment = document.createDocumentFragment();
  page.patches.forEach(({ html }) => { const node = elementOf(html); if (node) { decorate(node); fragment.append(node); } });
  const before = document.documentElement.scrollHeight;
  const top = scrollY;
  log.prepend(fragment);
  scrollTo({ top: top + document.documentElement.scrollHeight - before, behavior: "instant" });
  if (page.first) setFirst(page.first);
  if (!page.more) olderLink()?.parentElement?.remove();
}

/** @param {Element} details */
async function loadBody(details) {
  const body = details.querySelector(":scope > [data-body]");
  const url = body?.getAttribute("data-body");
  if (!body || !url) return;
  try {
    const answer = await fetch(url);
    if (answer.redirected) throw new Error("you are logged out");
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    fill(body, await answer.text());
    body.removeAttribute("data-body");
    decorate(body);
  } catch (error) {
    body.textContent = `This did not load (${error instanceof Error ? error.message : error}). Close and open it to try again.`;
  }
}

/** @param {string} part of an address @returns {string} what it stands for, "" for a slip such as %zz */
function named(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return "";
  }
}

/** Load older events until the one that the address names is there, within reason. */
async function findTarget() {
  const id = named(location.hash.slice(1));
  if (!id) return;
  for (let round = 0; round < 10 && !document.getElementById(id) && olderLink(); round += 1) await loadOlder();
  const target = document.getElementById(id);
  target?.closest("details")?.setAttribute("open", "");
  target?.querySelector("details")?.setAttribute("open", "");
  target?.scrollIntoView({ block: "start" });
}

// --- what people ask -------------------------------------------------------------------------------------

/**
 * Send a form; what is refused is said beside it, and a text in it stays.
 * @param {HTMLFormElement} form
 * @param {HTMLElement | null} place
 */
async function sendForm(form, place) {
  const why = await answerOf(form);
  if (place) {
    place.hidden = !why;
    (place.querySelector("p") ?? place).textContent = why;
  }
  if (why) return;
  if (form === composer) form.querySelectorAll("textarea").forEach((field) => { field.value = ""; });
  form.closest("details")?.removeAttribute("open");
}

/**
 * @param {HTMLFormElement} form
 * @returns {Promise<string>} why it was refused, or ""
 */
async function answerOf(form) {
  if (form.dataset.sending) return "";
  form.dataset.sending = "1";
  try {
    const fields = new URLSearchParams();
    new FormData(form).forEach((value, name) => { if (typeof value === "string") fields.append(name, value); });
    const headers = { Accept: "application/json", "X-CSRFToken": csrfToken() };
    const answer = await fetch(form.action, { method: "POST", body: fields, headers });
    if (answer.ok) return "";
    const isJson = answer.headers.get("content-type")?.startsWith("application/json");
    return isJson ? (await answer.json()).error.message : `The server answered ${answer.status}; nothing was done. Reload the page and try again.`;
  } catch {
    return "The server can't be reached; nothing was sent. Your text is kept.";
  } finally {
    delete form.dataset.sending;
  }
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || !form.matches("#composer, [data-act]")) return;
  event.preventDefault();
  sendForm(form, form === composer ? composer.querySelector(".refused") : document.getElementById("said"));
});

composer.addEventListener("keydown", (event) => {
  if (!asksToSend(event)) return;
  event.preventDefault();
  composer.requestSubmit();
});

// --- find, open all, keys --------------------------------------------------------------------------------

const find = need("find", HTMLInputElement);
const found = document.querySelector("output[for=find]");
let place = -1;

/** @param {number} by */
function findNext(by) {
  const words = find.value.trim().toLowerCase();
  const nodes = words ? [...log.children].filter((node) => node.textContent?.toLowerCase().includes(words)) : [];
  log.querySelectorAll(".hit").forEach((node) => node.classList.remove("hit"));
  place = nodes.length ? (place + by + nodes.length) % nodes.length : -1;
  if (found) found.textContent = words ? `${place + 1} of ${nodes.length}` : "";
  if (place < 0) return;
  nodes[place].classList.add("hit");
  nodes[place].scrollIntoView({ block: "center" });
}

find.addEventListener("input", () => { place = -1; findNext(1); });
find.addEventListener("keydown", (event) => {
  if (event.key === "Enter") { event.preventDefault(); findNext(event.shiftKey ? -1 : 1); }
});

function nextFailure() {
  const failed = [...log.querySelectorAll("[data-failed]")];
  const after = failed.find((node) => document.activeElement && !node.contains(document.activeElement)
    && document.activeElement.compareDocumentPosition(node) & Node.DOCUMENT_POSITION_FOLLOWING);
  const next = after ?? failed[0];
  next?.scrollIntoView({ block: "center" });
  const focus = next?.querySelector("summary") ?? next;
  if (focus instanceof HTMLElement) { focus.tabIndex = 0; focus.focus({ preventScroll: true }); }
}

function openOrCloseAll() {
  const calls = /** @type {HTMLDetailsElement[]} */ ([...log.querySelectorAll("details.call")]);
  const shouldOpen = calls.some((call) => !call.open);
  calls.forEach((call) => { call.open = shouldOpen; call.dataset.touched = "1"; });
}

addKeys({
  e: nextFailure,
  s: () => need("steer", HTMLTextAreaElement).focus(),
  G: goToTail,
});

document.addEventListener("click", (event) => {
  if (!(event.target instanceof Element)) return;
  const summary = event.target.closest("#log summary");
  if (summary?.parentElement) summary.parentElement.dataset.touched = "1";
  if (event.target.closest("[data-open-all]")) openOrCloseAll();
  if (event.target.closest("[data-try-now]")) line.open();
  if (event.target.closest("a[data-older]") && log.children.length < KEEP_WHILE_READING) { event.preventDefault(); loadOlder(); }
});

document.addEventListener("toggle", (event) => {
  if (event.target instanceof HTMLDetailsElement && event.target.open && log.contains(event.target)) loadBody(event.target);
}, true);

// --- the line --------------------------------------------------------------------------------------------

async function poll() {
  try {
    const answer = await fetch(`${log.dataset.events}?after=${cursor}`, { headers: { Accept: "application/json" } });
    if (!answer.ok) return false;
    const news = await answer.json();
    take({ type: "events", ...news });
    Object.entries(news.panels ?? {}).forEach(([name, html]) => take({ type: "panel", name, html }));
    return true;
  } catch {
    return false;
  }
}

const line = new Line({
  url: () => `${log.dataset.socket}?after=${cursor}`,
  take,
  poll,
  state: (next) => {
    state = next;
    showLine(next.kind === "over" ? "lost" : next.kind);
    explain(banner, state, `event ${cursor}`);
  },
});

let saidAt = 0;

/** Tell a screen reader where the run is, at most once in 5 s. */
function sayNow() {
  const last = log.querySelector(":scope > li:last-child");
  const step = last?.getAttribute("data-step");
  const words = last?.querySelector(".what, h2, .say")?.textContent?.trim().slice(0, 120);
  const status = document.getElementById("now");
  if (!words || !status || Date.now() - saidAt < STATUS_EVERY_MS) return;
  const text = step ? `Step ${step}, ${words}` : words;
  if (status.textContent !== text) { status.textContent = text; saidAt = Date.now(); }
}

decorate(document.body);
more.addEventListener("click", goToTail);
follow.addEventListener("change", () => { if (follow.checked) goToTail(); });
addEventListener("scroll", countUnseen, { passive: true });
setInterval(() => { tick(); sayNow(); }, 1000);
tick();
addEventListener("hashchange", findTarget);
if (location.hash) findTarget();
else if ("tail" in log.dataset && document.querySelector("#panel-head [data-ticking]")) toTail();
if ("tail" in log.dataset) line.open();
