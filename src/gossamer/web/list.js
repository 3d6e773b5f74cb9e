// The content of the list. A new content aborts the request for the one before.

import { latest } from "./api.js";
import { el, find } from "./dom.js";

const PATIENCE = 120; // milliseconds before placeholders are shown

const turn = latest();

/** Show the nodes that `make(signal)` resolves to, or on an error `otherwise(problem)`; returns whether `make` succeeded. */
export async function fill(make, otherwise) {
  const list = find("#list");
  let shown = false;
  await turn(async (signal) => {
    const waiting = setTimeout(() => signal.aborted || list.replaceChildren(...placeholders(4)), PATIENCE);
    list.setAttribute("aria-busy", "true");
    try {
      const nodes = await make(signal);
      if (signal.aborted) return;
      list.replaceChildren(...nodes);
      shown = true;
    } catch (problem) {
      if (!signal.aborted) list.replaceChildren(otherwise(problem));
    } finally {
      clearTimeout(waiting);
      if (!signal.aborted) finish(list);
    }
  });
  return shown;
}

function finish(list) {
  list.removeAttribute("aria-busy");
  list.scrollTop = 0;
}

function placeholders(count) {
  const empty = Array.from({ length: count }, () => el("div", { class: "skeleton" }));
  return [el("p", { class: "hidden" }, "Loading"), ...empty];
}
