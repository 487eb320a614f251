// @ts-check
// Comfort of the new-task form: preview, branches of the chosen repository, Ctrl Enter.

import { asksToSend, fill, pageOf, post } from "./page.js";

const form = /** @type {HTMLFormElement | null} */ (document.querySelector("[data-task-form]"));

/** @template {Element} T @param {string} selector @param {new () => T} kind @returns {T | null} */
function find(selector, kind) {
  const found = form?.querySelector(selector);
  return found instanceof kind ? found : null;
}

// --- preview ---------------------------------------------------------------------------------------

const prompt = find("textarea[name=prompt]", HTMLTextAreaElement);
const preview = find("#prompt-preview", HTMLElement);
const editor = find("[data-editor]", HTMLElement);

/** @param {boolean} shown */
async function showPreview(shown) {
  if (!prompt || !preview || !form) return;
  prompt.hidden = shown;
  preview.hidden = !shown;
  if (!shown) return;
  preview.setAttribute("aria-busy", "true");
  try {
    const answer = await post(form.dataset.preview ?? "", { text: prompt.value });
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    fill(preview, await answer.text());
  } catch (error) {
    preview.textContent = `No preview: ${error instanceof Error ? error.message : error}. The text itself is kept under “Write”.`;
  }
  preview.removeAttribute("aria-busy");
}

if (editor) editor.hidden = false;
editor?.addEventListener("change", (event) => {
  if (event.target instanceof HTMLInputElement) void showPreview(event.target.value === "preview");
});

// --- what depends on the repository ------------------------------------------------------------------

/** @type {AbortController | null} */
let asking = null;

/** @param {string} id */
async function showRepository(id) {
  asking?.abort();
  asking = new AbortController();
  const answer = await fetch(`${window.location.pathname}?repository=${encodeURIComponent(id)}`, { signal: asking.signal });
  if (!answer.ok) return;
  const page = pageOf(await answer.text());
  document.querySelectorAll("[data-per-repository]").forEach((old) => {
    const fresh = page.getElementById(old.id);
    if (fresh) old.replaceWith(fresh);
  });
  takeVerify(page.querySelector("textarea[name=verify]"));
  takeBox(page.querySelector("input[name=may_change_tests]"));
}

/**
 * The verify commands follow the repository until somebody changes them.
 * @param {Element | null} fresh
 */
function takeVerify(fresh) {
  const verify = find("textarea[name=verify]", HTMLTextAreaElement);
  if (!verify || !(fresh instanceof HTMLTextAreaElement) || verify.value !== verify.defaultValue) return;
  verify.defaultValue = fresh.defaultValue;
  verify.value = fresh.defaultValue;
}

const mayChangeTests = find("input[name=may_change_tests]", HTMLInputElement);
/** Somebody decided on the box: here, or before the form came back with errors. */
let isDecided = document.querySelector("[data-error-summary]") !== null;
mayChangeTests?.addEventListener("change", () => { isDecided = true; });

/**
 * The box follows the repository until somebody clicks it.
 * @param {Element | null} fresh
 */
function takeBox(fresh) {
  if (!mayChangeTests || isDecided || !(fresh instanceof HTMLInputElement)) return;
  mayChangeTests.checked = mayChangeTests.defaultChecked = fresh.defaultChecked;
}

find("select[name=repository]", HTMLSelectElement)?.addEventListener("change", (event) => {
  if (event.target instanceof HTMLSelectElement) showRepository(event.target.value).catch(() => {});
});

// --- script, keys ------------------------------------------------------------------------------------

form?.addEventListener("change", (event) => {
  const target = event.target;
  const script = find("[data-script]", HTMLDetailsElement);
  if (script && target instanceof HTMLInputElement && target.name === "model" && target.value === "scripted") script.open = true;
});

form?.addEventListener("keydown", (event) => {
  if (asksToSend(event)) { event.preventDefault(); form.requestSubmit(); }
});

form?.querySelectorAll("[data-needs-script]").forEach((item) => item.removeAttribute("hidden"));
