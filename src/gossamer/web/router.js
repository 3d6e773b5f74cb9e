// The state of the page is its address, so that it can be shared and the back button works.
//
// q: the query   in: the concept to search in   at: the concept zoomed to   why: the document explained
// doc: the document shown   where: a filter, as JSON   k: how many answers   index: which collection
// view: "plane" for the plane in place of the map

import { el } from "./dom.js";

const TEXTS = ["index", "q", "where", "doc", "why", "view"];
const NUMBERS = ["in", "at", "k"];

const listeners = [];
let current = read(location.search);

export const state = () => current;

export function read(search) {
  const given = new URLSearchParams(search);
  const found = {};
  for (const name of TEXTS) found[name] = given.get(name) || null;
  for (const name of NUMBERS) {
    const value = Number(given.get(name) ?? NaN);
    found[name] = Number.isSafeInteger(value) && value >= 0 ? value : null;
  }
  return found;
}

/** The address of the current state with `changes`. */
export function address(changes) {
  const wanted = { ...current, ...changes };
  const parts = new URLSearchParams();
  for (const name of [...TEXTS, ...NUMBERS]) {
    if (wanted[name] !== null) parts.set(name, wanted[name]);
  }
  const text = parts.toString();
  return text ? `?${text}` : "./";
}

export function go(changes, { replace = false, from = "page" } = {}) {
  const to = address(changes);
  if (to === address({})) return;
  history[replace ? "replaceState" : "pushState"](null, "", to);
  tell({ ...current, ...changes }, from);
}

/** Call `listener(state, before, from)` on each change; `from` is "map", "add", "view" or "page". */
export function subscribe(listener) {
  listeners.push(listener);
}

function tell(next, from) {
  const before = current;
  current = next;
  for (const listener of listeners) listener(current, before, from);
}

window.addEventListener("popstate", () => tell(read(location.search), "page"));

// -- links -----------------------------------------------------------------------------------------
// Real links, so that they can be copied and opened in another tab. A link stands for a change of the state, which may
// itself change before the link is used: its href is updated when it gets the pointer or the focus.

const changesOf = new WeakMap();

/** A link that applies `changes` to the state. */
export function link(changes, props, ...children) {
  const made = el("a", { ...props, href: address(changes) }, ...children);
  changesOf.set(made, changes);
  return made;
}

const linkOf = (event) => event.target.closest?.("a");

for (const turning of ["pointerdown", "focusin"]) {
  document.addEventListener(turning, (event) => {
    const made = linkOf(event);
    if (changesOf.has(made)) made.setAttribute("href", address(changesOf.get(made)));
  });
}

document.addEventListener("click", (event) => {
  const made = linkOf(event);
  const start = made?.getAttribute("href") === "./";
  if (!(start || changesOf.has(made)) || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  go(changesOf.get(made) ?? { ...read(""), index: current.index });
});
