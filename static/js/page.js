// @ts-check
// What the scripts of every page share. Importing it does nothing; entries (sakura.js, board.js, …) are loaded by the templates.

/** @typedef {"live" | "lost" | "polling"} Line */

const LINE_WORDS = { live: "Live", lost: "Not connected", polling: "Every few seconds" };

/** The token that a POST by script sends as X-CSRFToken. @returns {string} */
export function csrfToken() {
  return document.querySelector('meta[name="csrf-token"]')?.getAttribute("content") ?? "";
}

/**
 * POST form fields and return the answer.
 * @param {string} url
 * @param {Record<string, string>} fields
 * @param {AbortSignal} [signal]
 * @returns {Promise<Response>}
 */
export function post(url, fields, signal) {
  const headers = { "X-CSRFToken": csrfToken(), Accept: "text/html" };
  return fetch(url, { method: "POST", body: new URLSearchParams(fields), headers, signal });
}

/**
 * Say in the top bar how the page hears of news. A dot becomes a ring when the line is lost.
 * @param {Line} line
 * @param {string} [words] what to say in place of the usual word
 */
export function showLine(line, words) {
  const place = document.querySelector("[data-live]");
  if (!(place instanceof HTMLElement)) return;
  place.hidden = false;
  place.dataset.state = line;
  const inner = place.querySelector("span");
  const text = words ?? LINE_WORDS[line];
  if (inner && inner.textContent !== text) inner.textContent = text;
}

// --- HTML that the server rendered: only here does text become elements, and the page's policy lets nobody else do it ---

/** @type {{ createPolicy: (name: string, rules: object) => { createHTML: (html: string) => string } } | undefined} */
const trustedTypes = Reflect.get(window, "trustedTypes");
const policy = trustedTypes?.createPolicy("sakura", { createHTML: (/** @type {string} */ html) => html });

/** @param {string} html @returns {string} */
function trusted(html) {
  return policy ? policy.createHTML(html) : html;
}

/**
 * Parse server-rendered HTML of one element, such as a row.
 * @param {string} html
 * @returns {Element | null}
 */
export function elementOf(html) {
  const holder = document.createElement("template");
  holder.innerHTML = trusted(html.trim());
  return holder.content.firstElementChild;
}

/**
 * Parse a page that the server rendered.
 * @param {string} html
 * @returns {Document}
 */
export function pageOf(html) {
  return new DOMParser().parseFromString(trusted(html), "text/html");
}

/**
 * Fill an element with HTML that the server rendered for it.
 * @param {Element} element
 * @param {string} html
 */
export function fill(element, html) {
  element.innerHTML = trusted(html);
}

/**
 * Put an element in the place of another; keeps the focus (by its id, or its order) and open details (by their order).
 * @param {Element} old
 * @param {Element} fresh
 */
export function replaceElement(old, fresh) {
  const focusables = (/** @type {Element} */ root) => [...root.querySelectorAll("a, button, input, select, textarea, summary")];
  const details = (/** @type {Element} */ root) => [...root.querySelectorAll("details")];
  const active = document.activeElement;
  const at = active ? focusables(old).indexOf(active) : -1;
  const open = details(old).map((item) => item.open);
  details(fresh).forEach((item, index) => { if (open[index] !== undefined) item.open = open[index]; });
  old.replaceWith(fresh);
  refreshTimes(fresh);
  if (at < 0) return;
  const same = active?.id ? focusables(fresh).find((item) => item.id === active.id) : undefined;
  const focus = same ?? focusables(fresh)[at];
  if (focus instanceof HTMLElement || focus instanceof SVGElement) giveFocus(focus);
}

/**
 * Focus an element; in a row of many with one tab stop (`data-roving`) it becomes that stop.
 * @param {HTMLElement | SVGElement} element
 * @param {FocusOptions} [options]
 */
export function giveFocus(element, options = { preventScroll: true }) {
  if (element.closest("[data-roving]")) {
    element.closest("[data-roving]")?.querySelectorAll("a:not([tabindex='-1'])").forEach((link) => link.setAttribute("tabindex", "-1"));
    element.setAttribute("tabindex", "0");
  }
  element.focus(options);
}

// --- times: the server writes UTC, the reader's zone and "ago" are put in here ---------------------

const AGO = [[60, 1, "s"], [3600, 60, "min"], [86400, 3600, "h"]];

/** @param {number} seconds @returns {string} */
function agoWords(seconds) {
  if (seconds < 10) return "just now";
  for (const [limit, unit, name] of AGO) {
    if (seconds < Number(limit)) return `${Math.floor(seconds / Number(unit))} ${name} ago`;
  }
  const days = Math.floor(seconds / 86400);
  return days === 1 ? "1 day ago" : `${days} days ago`;
}

/**
 * Put every time below the root in the reader's zone, and bring each "ago" up to date.
 * @param {ParentNode | Element} root
 */
export function refreshTimes(root) {
  const times = [...root.querySelectorAll("time[data-ago], time[data-when]")];
  for (const item of times) {
    const at = new Date(item.getAttribute("datetime") ?? "");
    if (Number.isNaN(at.getTime())) continue;
    const absolute = at.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
    item.setAttribute("title", absolute);
    const words = item.hasAttribute("data-ago") ? agoWords((Date.now() - at.getTime()) / 1000) : absolute;
    if (item.textContent !== words) item.textContent = words;
  }
}

/**
 * A span as mm:ss or h:mm:ss, as a stopwatch shows it.
 * @param {number} milliseconds
 * @returns {string}
 */
export function clock(milliseconds) {
  const seconds = Math.floor(milliseconds / 1000);
  const hours = Math.floor(seconds / 3600);
  const words = [Math.floor(seconds / 60) % 60, seconds % 60].map((part) => String(part).padStart(2, "0")).join(":");
  return hours ? `${hours}:${words}` : words;
}

// --- keys ------------------------------------------------------------------------------------------

/** @type {Map<string, () => void>} */
const keys = new Map();

/**
 * Add single-letter keys of a page; a later one takes the place of an earlier one.
 * @param {Record<string, () => void>} more
 */
export function addKeys(more) {
  Object.entries(more).forEach(([key, act]) => keys.set(key, act));
}

/** Whether single letters act as keys (WCAG 2.1.4 wants a way to turn them off). @returns {boolean} */
export function lettersAct() {
  return recall("letter-keys") !== "off";
}

/** @param {KeyboardEvent} event @returns {boolean} whether a key of the page was meant and done */
export function playKey(event) {
  const act = keys.get(event.key);
  if (!act || event.ctrlKey || event.metaKey || event.altKey || !lettersAct() || isTyping(event.target)) return false;
  act();
  return true;
}

/** Whether a key asks to send the form it is typed in: Ctrl Enter, or ⌘ Enter. @param {KeyboardEvent} event @returns {boolean} */
export function asksToSend(event) {
  return event.key === "Enter" && (event.ctrlKey || event.metaKey);
}

/** @param {EventTarget | null} target @returns {boolean} */
export function isTyping(target) {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches("input, textarea, select"));
}

/**
 * Move the focus along the visible elements of a selector.
 * @param {string} selector
 * @param {number} by
 */
export function walk(selector, by) {
  const rows = [...document.querySelectorAll(selector)].filter((row) => row instanceof HTMLElement && row.offsetParent);
  const at = document.activeElement ? rows.indexOf(document.activeElement) : -1;
  const next = rows[Math.max(0, Math.min(rows.length - 1, at + by))];
  if (next instanceof HTMLElement) next.focus();
}

// --- what this browser remembers; storage may be blocked ---------------------------------------------

/** @param {string} name @returns {string | null} */
export function recall(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

/** @param {string} name @param {string} value */
export function remember(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    // Then it holds for this page only.
  }
}
