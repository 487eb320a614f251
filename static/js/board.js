// @ts-check
// The live board: rows arrive by the socket and take the place of the old ones; without a socket the page is fetched every 5 s.

import { clock, elementOf, pageOf, refreshTimes, replaceElement, showLine } from "./page.js";

const POLL_MS = 5000;
const RETRY_MS = [500, 1000, 2000, 5000, 10000];
const narrowed = document.body.hasAttribute("data-narrowed");
let failures = 0;
let polling = 0;

// --- rows ------------------------------------------------------------------------------------------

/** @param {string} html */
function takeRow(html) {
  const fresh = elementOf(html);
  if (!fresh) return;
  const old = document.getElementById(fresh.id);
  if (old) moveRow(old, fresh);
  else if (!narrowed) addRow(fresh);
}

/**
 * @param {Element} old
 * @param {Element} fresh
 */
function moveRow(old, fresh) {
  const from = old.getAttribute("data-group");
  const to = fresh.getAttribute("data-group");
  replaceElement(old, fresh);
  if (from === to) return;
  const active = document.activeElement;
  const focused = active instanceof HTMLElement && fresh.contains(active) ? active : null;
  place(fresh);
  focused?.focus({ preventScroll: true });
  count(from, -1);
  count(to, 1);
}

/** @param {Element} fresh */
function addRow(fresh) {
  document.querySelector("[data-empty]")?.remove();
  document.querySelector(".cols")?.removeAttribute("hidden");
  place(fresh);
  refreshTimes(fresh);
  count(fresh.getAttribute("data-group"), 1);
}

/**
 * Put a row in its group, newest task first.
 * @param {Element} row
 */
function place(row) {
  const list = document.querySelector(`#group-${row.getAttribute("data-group")} .tasks`);
  const older = [...(list?.children ?? [])].find((other) => other !== row && number(other) < number(row));
  list?.insertBefore(row, older ?? null);
}

/** @param {Element} row @returns {number} */
function number(row) {
  return Number(row.id.replace("task-", ""));
}

/**
 * @param {string | null} group
 * @param {number} by
 */
function count(group, by) {
  const section = document.getElementById(`group-${group}`);
  const place = section?.querySelector("[data-count]");
  if (!section || !place) return;
  place.textContent = String(Math.max(0, Number(place.textContent) + by));
  section.hidden = !section.querySelector(".task");
  if (group === "needs") setTitle(Number(place.textContent));
}

/** @param {number} needs */
function setTitle(needs) {
  document.title = `${needs ? `(${needs}) ` : ""}Board · Sakura`;
}

// --- the whole board, when rows may have been missed -------------------------------------------------

async function catchUp() {
  const answer = await fetch(window.location.href, { headers: { Accept: "text/html" } });
  if (!answer.ok || answer.redirected) throw new Error(`the board answered ${answer.status}`);
  const page = pageOf(await answer.text());
  document.title = page.title;
  page.querySelectorAll(".group").forEach(takeGroup);
}

/**
 * Bring one group to the state of a fresh page; rows that did not change stay the very same nodes.
 * @param {Element} fresh
 */
function takeGroup(fresh) {
  const group = document.getElementById(fresh.id);
  if (!group) return;
  group.hidden = fresh.hasAttribute("hidden");
  const counts = [group, fresh].map((each) => each.querySelector("[data-count]"));
  if (counts[0] && counts[1]) counts[0].textContent = counts[1].textContent;
  const list = group.querySelector(".tasks");
  const rows = [...fresh.querySelectorAll(".task")];
  rows.forEach((row, index) => {
    const old = document.getElementById(row.id);
    if (old && old.outerHTML !== row.outerHTML) replaceElement(old, row);
    const current = old && old.isConnected ? old : row;
    if (list && list.children[index] !== current) list.insertBefore(current, list.children[index] ?? null);
  });
  [...(list?.children ?? [])].slice(rows.length).forEach((row) => row.remove());
}

// --- the line --------------------------------------------------------------------------------------

function open() {
  const scheme = window.location.protocol === "https:" ? "wss" : "ws";
  const socket = new WebSocket(`${scheme}://${window.location.host}/ws/board/`);
  socket.addEventListener("open", () => {
    failures = 0;
    stopPolling();
    showLine("live");
    catchUp().catch(() => showLine("lost"));
  });
  socket.addEventListener("message", (event) => {
    const message = JSON.parse(event.data);
    if (message.type === "panel" && message.name?.startsWith("task-")) takeRow(message.html);
  });
  socket.addEventListener("close", (event) => {
    if (event.code === 4401 || event.code === 4403) { showLine("lost", "Logged out"); return; }
    const wait = RETRY_MS[Math.min(failures, RETRY_MS.length - 1)];
    failures += 1;
    if (failures > 2) startPolling();
    setTimeout(open, wait);
  });
}

function startPolling() {
  if (polling) return;
  const ask = () => catchUp().then(() => showLine("polling"), () => showLine("lost"));
  polling = window.setInterval(ask, POLL_MS);
  void ask();
}

function stopPolling() {
  window.clearInterval(polling);
  polling = 0;
}

// --- clocks and the filter ---------------------------------------------------------------------------

/** @type {WeakMap<Element, number>} */
const started = new WeakMap();

function tick() {
  document.querySelectorAll("[data-ticks]").forEach((place) => {
    const start = started.get(place) ?? Date.now() - Number(place.getAttribute("data-ticks"));
    started.set(place, start);
    place.textContent = clock(Date.now() - start);
  });
}

document.querySelector("[data-autosubmit]")?.addEventListener("change", (event) => {
  if (event.target instanceof HTMLInputElement && event.target.type === "radio") event.target.form?.requestSubmit();
});

setInterval(tick, 1000);
if (document.querySelector(".group")) open();
