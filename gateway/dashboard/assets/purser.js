// An open page: receives updates from the server, and sends the acts of the person.
import { place, tick } from "./clock.js";
import { morph } from "./morph.js";
import { notify } from "./notify.js";

const { number, csrf, page } = document.body.dataset;
const address = `/_purser/pages/${page}`;
const popup = document.getElementById("popup");
const TYPED = /^(INPUT|TEXTAREA|SELECT)$/;
const RETRY_MS = 5000;

// --- updates from the server -----------------------------------------------------------------------------------------

const part = (id) => document.querySelector(`[data-part="${id}"]`);

function toast({ text, good }) {
  const box = document.createElement("div");
  box.className = `toast ${good ? "good" : "bad"}`;
  box.setAttribute("role", good ? "status" : "alert");
  document.getElementById("toasts").append(box);
  box.append(Object.assign(document.createElement("span"), { textContent: text }));
  if (!good) box.append(Object.assign(document.createElement("button"), { textContent: "Close", onclick: () => box.remove() }));
  setTimeout(() => box.remove(), good ? 6000 : 30000);
}

let charts;
async function draw({ id, ...chart }) {
  charts ??= import("./charts.js"); // imported once: callbacks of one promise run in order
  (await charts).draw(part(id), chart);
}

const HANDLERS = {
  region({ id, markup }) {
    morph(part(id), markup);
    place();
    tick();
  },
  chart: draw,
  toast,
  notify,
  title({ text }) {
    document.title = text;
  },
  address({ path }) {
    history.replaceState(null, "", path);
  },
  reveal({ selector, focus, least, below }) {
    if (innerWidth < least || innerWidth >= (below ?? Infinity)) return;
    requestAnimationFrame(() => {
      const found = document.querySelector(selector);
      found?.scrollIntoView({ block: "nearest" });
      if (focus) found?.focus();
    });
  },
  // Submits a form by a button for a shortcut key; the server asks for confirmation, because keys are pressed by accident.
  press({ selector }) {
    const button = document.querySelector(`${selector}:not(:disabled)`);
    if (!button) return;
    button.dataset.key = "1";
    button.form.requestSubmit(button);
    delete button.dataset.key;
  },
  reload() {
    location.reload();
  },
};

let newest = number;
let source;
const stream = () => `${address}/events?after=${newest}`;

function listen() {
  source = new EventSource(stream());
  source.onopen = () => (popup.textContent = "");
  source.onerror = () => {
    popup.textContent = "Connection lost. Trying to reconnect …";
    // The browser reconnects by itself, unless the answer was not a stream.
    if (source.readyState === EventSource.CLOSED) refused();
  };
  for (const [name, handle] of Object.entries(HANDLERS)) {
    source.addEventListener(name, (event) => {
      newest = event.lastEventId;
      handle(JSON.parse(event.data));
    });
  }
}

async function refused() {
  const asked = new AbortController();
  try {
    const answer = await fetch(stream(), { headers: { Accept: "text/event-stream" }, signal: asked.signal });
    if (answer.status !== 200) popup.textContent = await problem(answer);
  } catch {
    // Still not reachable.
  }
  asked.abort();
  setTimeout(listen, RETRY_MS);
}

// A browser opens six connections per host: of the hidden pages, only three keep their stream.
const SLOTS = ["purser-1", "purser-2", "purser-3"];
let release = () => {};

const acquire = (slot) =>
  new Promise((answer) => {
    navigator.locks.request(slot, { ifAvailable: true }, (lock) => {
      answer(lock !== null);
      return lock && new Promise((done) => (release = done));
    });
  });

async function visibilityChanged() {
  release();
  if (!document.hidden && source.readyState === EventSource.CLOSED) listen();
  if (!document.hidden) return;
  for (const slot of navigator.locks ? SLOTS : []) {
    if (!(await acquire(slot))) continue;
    if (!document.hidden) release(); // it was shown again in the meantime
    return;
  }
  if (document.hidden) source.close();
}
document.addEventListener("visibilitychange", visibilityChanged);

// What went wrong, in words. A page that the server has closed, or whose sign-in has ended, is reloaded.
async function problem(answer) {
  if ([204, 401, 404].includes(answer.status)) {
    location.reload();
    return "";
  }
  const { type, detail } = await answer.json();
  if (type !== "urn:purser:ledger-unavailable") return detail;
  return "The ledger did not answer. Try again: what is already recorded is not repeated.";
}

// --- acts of the person ----------------------------------------------------------------------------------------------

let done = Promise.resolve();
function act(element, name, data, fields = {}) {
  const region = element.closest("[data-part]")?.dataset.part;
  const body = JSON.stringify({ region, name, data: { ...data }, fields });
  if (region) done = done.then(() => send(body)); // one after the other, in order
}

async function send(body) {
  const headers = { "Content-Type": "application/json", "X-Purser-CSRF": csrf };
  try {
    const answer = await fetch(`${address}/acts`, { method: "POST", headers, body, keepalive: true });
    const text = answer.ok ? "" : await problem(answer);
    if (text) toast({ text });
  } catch {
    toast({ text: "The gateway did not answer. Check whether it was done before you try again." });
  }
}

// Fills the fields that a button offers into its form.
function fill({ form, dataset }) {
  for (const [name, value] of Object.entries(JSON.parse(dataset.fields))) form.elements[name].value = value;
  form.dispatchEvent(new Event("change", { bubbles: true }));
}

// The clipboard of pages without https is written by an old command of browsers.
function copyByCommand(text) {
  const box = Object.assign(document.createElement("textarea"), { value: text });
  document.body.append(box);
  box.select();
  const copied = document.execCommand("copy");
  box.remove();
  return copied;
}

async function copy({ dataset }) {
  const copied = await navigator.clipboard?.writeText(dataset.copy).then(() => true, () => false);
  const good = copied || copyByCommand(dataset.copy);
  toast({ text: good ? "Copied." : "The browser does not allow copying: select the text and copy it.", good });
}

document.addEventListener("click", (event) => {
  const copied = event.target.closest("[data-copy]");
  if (copied) copy(copied);
  const opener = event.target.closest("[data-opens]");
  if (opener) document.getElementById(opener.dataset.opens)?.showModal();
  if (event.target.nodeName === "DIALOG" || event.target.closest("[data-closes]")) event.target.closest("dialog")?.close();
  const target = event.target.closest("[data-act]");
  if (!target || target.nodeName === "FORM" || target.disabled || target.type === "submit") return;
  if (target.dataset.act === "fill") fill(target);
  else act(target, target.dataset.act, target.dataset);
});

document.addEventListener("submit", (event) => {
  const form = event.target.closest("form[data-act]");
  if (!form) return;
  event.preventDefault();
  const button = event.submitter;
  const data = { ...form.dataset, ...button?.dataset };
  act(form, data.act, data, Object.fromEntries(new FormData(form)));
});

function changed(event) {
  const form = event.target.closest("form[data-live]");
  if (form) act(form, form.dataset.live, form.dataset, Object.fromEntries(new FormData(form)));
}
document.addEventListener("change", changed);

// While the person types, at each pause.
let pause;
document.addEventListener("input", (event) => {
  clearTimeout(pause);
  if (event.target.closest("form[data-live][data-typing]")) pause = setTimeout(() => changed(event), 250);
});

document.addEventListener("keydown", (event) => {
  const { ctrlKey, metaKey, altKey, isComposing, repeat, target, key } = event;
  if (ctrlKey || metaKey || altKey || isComposing || repeat || TYPED.test(target.nodeName)) return;
  if (document.querySelector("dialog[open]")) return;
  if (key === "?") document.getElementById("shortcuts")?.showModal();
  const region = document.querySelector(`[data-keys~="${CSS.escape(key)}"]`);
  if (!region) return;
  event.preventDefault();
  act(region, "key", { key });
});

// `/` and Ctrl-K lead to the search from everywhere; the arrow keys move through its results.
const finder = document.getElementById("find");
document.addEventListener("keydown", (event) => {
  const { ctrlKey, metaKey, target, key } = event;
  if (document.querySelector("dialog[open]")) return;
  if ((key === "k" && (ctrlKey || metaKey)) || (key === "/" && !TYPED.test(target.nodeName))) {
    event.preventDefault();
    finder.select();
    return;
  }
  const links = [...document.querySelectorAll("[data-found] a")];
  const at = links.indexOf(target);
  const leads = at >= 0 || target.name === "q" || target === document.body; // as after Enter, on the page of results
  if (!/^Arrow(Up|Down)$/.test(key) || !links.length || !leads) return;
  event.preventDefault();
  (links[key === "ArrowDown" ? at + 1 : at - 1] ?? (at > 0 ? links[at] : finder)).focus();
});

document.querySelector(".side [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
// What a link led to, where it is below the list.
for (const found of document.querySelectorAll("[data-reveals]")) if (innerWidth < found.dataset.reveals) found.scrollIntoView();
for (const { dataset } of document.querySelectorAll("[data-chart]")) draw(JSON.parse(dataset.chart));
place();
tick();
listen();
visibilityChanged();
