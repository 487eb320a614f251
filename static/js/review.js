// @ts-check
// Comfort of the review and workspace pages: comments at a line, previews in place, files seen, keys. All work without it.

import { addKeys, asksToSend, csrfToken, elementOf, pageOf, recall, refreshTimes, remember } from "./page.js";

const run = document.body.dataset.review ?? "";
const commentUrl = document.body.dataset.comments ?? "";
const SEEN = `seen-${run}`;

/** @param {string} selector @param {ParentNode} [root] @returns {HTMLElement[]} */
function all(selector, root = document) {
  return [...root.querySelectorAll(selector)].filter((item) => item instanceof HTMLElement);
}

/** @param {string} selector @param {ParentNode} [root] @returns {HTMLElement | null} */
function one(selector, root = document) {
  const found = root.querySelector(selector);
  return found instanceof HTMLElement ? found : null;
}

// --- files that were seen, in this browser -----------------------------------------------------------

/** @returns {Record<string, string>} path → what it was when it was seen */
function seenFiles() {
  try {
    const kept = JSON.parse(recall(SEEN) ?? "{}");
    return kept && typeof kept === "object" ? kept : {};
  } catch {
    return {};
  }
}

/** @param {HTMLElement} file @param {boolean} isSeen */
function keepSeen(file, isSeen) {
  const seen = seenFiles();
  if (isSeen) seen[file.dataset.path ?? ""] = file.dataset.seenAs ?? "";
  else delete seen[file.dataset.path ?? ""];
  remember(SEEN, JSON.stringify(Object.fromEntries(Object.entries(seen).slice(-2000))));
}

/** @param {HTMLElement} file @returns {HTMLInputElement | null} */
function seenBox(file) {
  const box = file.querySelector("[data-seen]");
  return box instanceof HTMLInputElement ? box : null;
}

/** Fold or unfold a file. @param {HTMLElement} file @param {boolean} isOpen */
function fold(file, isOpen) {
  const button = one(".toggle", file);
  if (button && (button.getAttribute("aria-expanded") === "true") !== isOpen) button.click();
}

/** @param {HTMLElement} file */
function showSeen(file) {
  const label = one("[data-seen-label]", file);
  const box = seenBox(file);
  if (!label || !box) return;
  label.hidden = false;
  box.checked = seenFiles()[file.dataset.path ?? ""] === file.dataset.seenAs;
  if (box.checked) fold(file, false);
}

function countSeen() {
  const files = all("[data-file]");
  const seen = files.filter((file) => seenBox(file)?.checked);
  for (const file of files) {
    const mark = document.querySelector(`[data-file-link][href$="#${file.id}"]`)?.closest("li")?.querySelector("[data-seen-mark]");
    mark?.toggleAttribute("hidden", !seenBox(file)?.checked);
  }
  const place = one("[data-seen-count]");
  const meter = place?.querySelector("meter");
  if (!place || !meter || !files.length) return;
  place.hidden = false;
  meter.max = files.length;
  meter.value = seen.length;
  const words = place.querySelector("span");
  if (words) words.textContent = `${seen.length} of ${files.length} seen`;
}

// --- the list of files -------------------------------------------------------------------------------

/** @param {HTMLInputElement} input */
function filterFiles(input) {
  const words = input.value.trim().toLowerCase();
  const items = all("#files > li[data-path]");
  items.forEach((item) => { item.hidden = !item.dataset.path?.includes(words); });
  const none = one("[data-no-match]");
  if (none) none.hidden = items.some((item) => !item.hidden) || !words;
}

/** Mark in the list the file that is being read. */
function followReading() {
  const links = new Map(all("[data-file-link]").map((link) => [link.getAttribute("href")?.split("#")[1] ?? "", link]));
  const observer = new IntersectionObserver((entries) => {
    const entry = entries.find((each) => each.isIntersecting);
    if (!entry) return;
    links.forEach((link, id) => link.toggleAttribute("aria-current", id === entry.target.id));
    links.get(entry.target.id)?.setAttribute("aria-current", "true");
  }, { rootMargin: "-80px 0px -70% 0px" });
  all("[data-file]").forEach((file) => observer.observe(file));
}

// --- loading a file's rows ---------------------------------------------------------------------------

/** @param {HTMLAnchorElement} link */
async function loadFile(link) {
  const file = link.closest("[data-file]");
  if (!(file instanceof HTMLElement)) return;
  const url = new URL(link.href);
  url.searchParams.set("part", "1");
  url.hash = "";
  file.classList.add("busy-here");
  const fresh = await fetched(url.href).then((html) => (html ? elementOf(html) : null));
  if (!(fresh instanceof HTMLElement)) {
    location.href = link.href;
    return;
  }
  file.replaceWith(fresh);
  refreshTimes(fresh);
  showSeen(fresh);
  fold(fresh, true);
  one(".toggle", fresh)?.focus({ preventScroll: true });
}

/** Ask again, with colours, for files that came plain to save time; when they are near, and not being written on. */
function colourWhenNear() {
  const observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting || !(target instanceof HTMLElement)) continue;
      observer.unobserve(target);
      void colour(target);
    }
  }, { rootMargin: "600px 0px" });
  all("[data-colours]").forEach((file) => observer.observe(file));
}

/** @param {HTMLElement} file */
async function colour(file) {
  const fresh = elementOf(await fetched(file.dataset.colours ?? ""));
  const body = fresh?.querySelector(".diff");
  const old = file.querySelector(".diff");
  if (body && old && !file.querySelector("form.note") && !file.contains(document.activeElement)) old.replaceWith(body);
}

/** @param {string} url @returns {Promise<string>} the page, or "" when it could not be had */
async function fetched(url) {
  try {
    const answer = await fetch(url, { headers: { Accept: "text/html" } });
    return answer.ok || answer.status === 409 || answer.status === 404 ? await answer.text() : "";
  } catch {
    return "";
  }
}

// --- the exact result of a revert, in a dialog -------------------------------------------------------

/** @param {HTMLAnchorElement} link */
async function previewRevert(link) {
  const html = await fetched(link.href);
  const preview = pageOf(html).getElementById("preview");
  if (!preview) {
    location.href = link.href;
    return;
  }
  const dialog = document.createElement("dialog");
  dialog.className = "preview";
  dialog.setAttribute("aria-label", preview.querySelector("h2")?.textContent ?? "Revert");
  dialog.append(preview);
  dialog.addEventListener("click", (event) => {
    if (!(event.target instanceof Element) || !(event.target === dialog || event.target.closest("[data-dismiss]"))) return;
    event.preventDefault();
    dialog.close();
  });
  dialog.addEventListener("close", () => { dialog.remove(); link.focus(); });
  document.body.append(dialog);
  dialog.showModal();
}

// --- comments at a line ------------------------------------------------------------------------------

const plus = elementOf('<button class="line-add" type="button" tabindex="-1"><svg class="icon" aria-hidden="true"><use href="#i-plus"/></svg></button>');

/** @param {Element} row @returns {{line: string, side: string}} */
function placeOf(row) {
  const [old, now] = [...row.querySelectorAll(".no")].map((cell) => cell.textContent?.trim() ?? "");
  return now ? { line: now, side: "new" } : { line: old, side: "old" };
}

/** Let the "+" stand at the row under the pointer. @param {Element} row */
function offerComment(row) {
  const code = row.querySelector(".code");
  if (!(plus instanceof HTMLElement) || !code || !document.getElementById("comment-form") || plus.parentElement === code) return;
  plus.setAttribute("aria-label", `Comment on line ${placeOf(row).line}`);
  code.prepend(plus);
}

/** @param {{line: string, side: string}} at @param {string} path @returns {HTMLFormElement | null} */
function newForm(at, path) {
  const holder = document.getElementById("comment-form");
  const form = holder instanceof HTMLTemplateElement ? holder.content.firstElementChild?.cloneNode(true) : null;
  if (!(form instanceof HTMLFormElement)) return null;
  form.dataset.path = path;
  form.dataset.line = at.line;
  form.dataset.side = at.side;
  const label = form.querySelector("label");
  if (label?.firstChild) label.firstChild.textContent = at.line ? `Comment on line ${at.line}${at.side === "old" ? " of the baseline" : ""}` : "Comment on the file";
  return form;
}

/** @param {Element} row */
function openComment(row) {
  const file = row.closest("[data-file]");
  if (!(file instanceof HTMLElement)) return;
  const form = newForm(placeOf(row), file.dataset.path ?? "");
  if (!form) return;
  notesBelow(row).append(form);
  form.querySelector("textarea")?.focus();
}

/** @param {Element} row @returns {Element} the cell for remarks below a line */
function notesBelow(row) {
  const next = row.nextElementSibling;
  const there = next?.matches("tr.notes") ? next.querySelector("td") : null;
  if (there) return there;
  const made = document.createElement("tr");
  made.className = "notes";
  const cell = document.createElement("td");
  cell.colSpan = 4;
  cell.className = "thread";
  made.append(cell);
  row.after(made);
  return cell;
}

/** @param {HTMLElement} link a file's own comment link */
function openFileComment(link) {
  const file = link.closest("[data-file]");
  const place = file?.querySelector("[data-file-notes]");
  if (!(file instanceof HTMLElement) || !place) return false;
  const form = newForm({ line: "", side: "new" }, file.dataset.path ?? "");
  if (!form) return false;
  fold(file, true);
  place.append(form);
  form.querySelector("textarea")?.focus();
  return true;
}

/** @param {HTMLFormElement} form */
function closeForm(form) {
  const row = form.closest("tr.notes");
  form.remove();
  if (row && !row.querySelector("form.note, .note")) row.remove();
}

/** @param {HTMLFormElement} form */
async function sendComment(form) {
  const button = form.querySelector("[type=submit]");
  if (!(button instanceof HTMLButtonElement) || button.disabled) return;
  button.disabled = true;
  const body = new URLSearchParams();
  for (const [key, value] of new FormData(form)) body.set(key, String(value));
  for (const key of ["path", "line", "side"]) body.set(key, form.dataset[key] ?? "");
  const { html, sentence } = await posted(body);
  const note = html ? elementOf(html) : null;
  if (note) {
    form.replaceWith(note);
    countOpen(1);
    return;
  }
  const place = one("[role=alert]", form);
  if (place) { place.textContent = sentence; place.hidden = false; }
  button.disabled = false;
}

/** @param {URLSearchParams} body @returns {Promise<{html: string, sentence: string}>} */
async function posted(body) {
  try {
    const headers = { "X-CSRFToken": csrfToken(), "X-Requested-With": "fetch", Accept: "text/html" };
    const answer = await fetch(commentUrl, { method: "POST", body, headers });
    const text = await answer.text();
    if (answer.status === 201) return { html: text, sentence: "" };
    const said = pageOf(text).querySelector("[role=alert] p")?.textContent;
    return { html: "", sentence: said ?? `The server answered ${answer.status}. Your text is still here; try again.` };
  } catch {
    return { html: "", sentence: "The server can't be reached. Your text is still here; try again." };
  }
}

/** @param {number} by */
function countOpen(by) {
  const place = one("[data-open-count]");
  if (!place) return;
  const now = Number(place.dataset.openCount) + by;
  place.dataset.openCount = String(now);
  const words = place.querySelector("span");
  if (words) words.textContent = `${now} open comment${now === 1 ? "" : "s"}`;
  const request = one('[value="request_changes"]');
  if (request) request.textContent = now ? `Request changes (${now})` : "Request changes";
}

// --- keys --------------------------------------------------------------------------------------------

/** @returns {Element | null} */
function here() {
  return document.querySelector(".diff tr.here");
}

/** Go to the next place of a kind, counted from where the page is now. @param {HTMLElement[]} places @param {number} by */
function go(places, by) {
  const top = (/** @type {Element} */ place) => place.getBoundingClientRect().top;
  const shown = places.filter((place) => place.offsetParent);
  const current = shown.findIndex((place) => place.classList.contains("here"));
  const ahead = by > 0 ? shown.findIndex((place) => top(place) > 130) : shown.findLastIndex((place) => top(place) < 90);
  const next = shown[current >= 0 ? current + by : ahead];
  if (!next) return;
  document.querySelectorAll(".here").forEach((place) => place.classList.remove("here"));
  next.classList.add("here");
  next.scrollIntoView({ block: "center" });
  return next;
}

/** @returns {HTMLElement[]} the first row of each change */
function changeStarts() {
  return all(".diff tr.add, .diff tr.del").filter((row) => !row.previousElementSibling?.matches(".add, .del, .notes"));
}

/** @param {number} by */
function goToFile(by) {
  const files = all("[data-file]");
  const reached = files.filter((file) => file.getBoundingClientRect().top < 80).length;
  const at = reached - 1;
  const next = files[Math.max(0, Math.min(files.length - 1, by > 0 ? at + 1 : at - 1))];
  if (next) { next.scrollIntoView({ block: "start" }); one(".toggle", next)?.focus({ preventScroll: true }); }
}

/** @returns {HTMLElement | null} the file that is being read */
function currentFile() {
  const row = here()?.closest("[data-file]");
  if (row instanceof HTMLElement) return row;
  return all("[data-file]").filter((file) => file.getBoundingClientRect().top < 140).pop() ?? one("[data-file]");
}

function toggleSeen() {
  const file = currentFile();
  if (file) seenBox(file)?.click();
}

function commentHere() {
  const row = here() ?? plus?.closest("tr");
  if (row) openComment(row);
  else one('[data-comment-file]')?.click();
}

function revertHere() {
  let row = (here() ?? plus?.closest("tr")) || null;
  while (row && !row.matches(".hunk")) row = row.previousElementSibling;
  const link = row?.querySelector("[data-revert]");
  if (link instanceof HTMLAnchorElement) void previewRevert(link);
}

// --- listeners ---------------------------------------------------------------------------------------

document.addEventListener("click", (event) => {
  if (!(event.target instanceof Element) || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const target = event.target;
  const link = target.closest("a");
  if (link instanceof HTMLAnchorElement && link.matches("[data-load]")) { event.preventDefault(); void loadFile(link); }
  if (link instanceof HTMLAnchorElement && link.matches("[data-revert]")) { event.preventDefault(); void previewRevert(link); }
  if (link instanceof HTMLElement && link.matches("[data-comment-file]") && openFileComment(link)) event.preventDefault();
  if (link?.matches("[data-file-link]")) openLinked(link.getAttribute("href") ?? "");
  const row = target.closest(".line-add")?.closest("tr");
  if (row) openComment(row);
  const cancel = target.closest("[data-cancel]")?.closest("form");
  if (cancel instanceof HTMLFormElement) closeForm(cancel);
  const copy = target.closest("[data-copy]");
  if (copy instanceof HTMLElement) void copyText(copy);
});

/** @param {string} href */
function openLinked(href) {
  const file = document.getElementById(href.split("#")[1] ?? "");
  if (file) fold(file, true);
}

/** @param {HTMLElement} button */
async function copyText(button) {
  const text = document.getElementById(button.dataset.copy ?? "")?.textContent ?? "";
  try {
    await navigator.clipboard.writeText(text.trim());
    button.lastChild?.replaceWith("Copied");
  } catch {
    getSelection()?.selectAllChildren(document.getElementById(button.dataset.copy ?? "") ?? document.body);
  }
}

document.addEventListener("pointerover", (event) => {
  const row = event.target instanceof Element ? event.target.closest(".diff tr.add, .diff tr.del, .diff tr.ctx") : null;
  if (row?.closest("[data-file]")) offerComment(row);
});

document.addEventListener("change", (event) => {
  const target = event.target;
  if (target instanceof HTMLSelectElement && target.matches("[data-submit]")) target.form?.requestSubmit();
  if (!(target instanceof HTMLInputElement)) return;
  const file = target.closest("[data-file]");
  if (target.matches("[data-seen]") && file instanceof HTMLElement) {
    keepSeen(file, target.checked);
    fold(file, !target.checked);
    countSeen();
  }
  if (target.closest("[data-words-toggle]")) document.body.classList.toggle("no-words", !target.checked);
});

document.addEventListener("input", (event) => {
  if (event.target instanceof HTMLInputElement && event.target.matches("[data-filter-files]")) filterFiles(event.target);
});

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement)) return;
  if (form.matches("form.note")) { event.preventDefault(); void sendComment(form); }
  if (form.querySelector("[data-filter-files]")) event.preventDefault();
});

document.addEventListener("keydown", (event) => {
  const form = event.target instanceof Element ? event.target.closest("form.note") : null;
  if (!(form instanceof HTMLFormElement)) return;
  if (asksToSend(event)) { event.preventDefault(); form.requestSubmit(); }
  if (event.key === "Escape") closeForm(form);
});

if (run) {
  addKeys({
    "]": () => goToFile(1),
    "[": () => goToFile(-1),
    n: () => { go(changeStarts(), 1); },
    p: () => { go(changeStarts(), -1); },
    v: toggleSeen,
    c: commentHere,
    u: revertHere,
  });
  all("[data-file]").forEach(showSeen);
  countSeen();
  followReading();
  colourWhenNear();
  const words = one("[data-words-toggle]");
  if (words) words.hidden = !document.querySelector(".diff mark.w");
  document.getElementById(document.body.dataset.wanted ?? "")?.scrollIntoView();
}
all("[data-copy]").forEach((button) => { button.hidden = false; });
const line = one("[data-line]")?.dataset.line;
const wanted = line && !location.hash ? document.getElementById(`L${line}`) : null;
wanted?.classList.add("here");
wanted?.scrollIntoView({ block: "center" });
