// The line above the map: the path to the concept shown, links back, and a search within it.

import * as api from "./api.js";
import { el, find } from "./dom.js";
import { go, link } from "./router.js";
import { isDocument, nameOf } from "./format.js";

const SHOWN = 3;

let turn = 0;

/** Update the line. */
export async function showMapHeader(now) {
  const mine = (turn += 1);
  const box = find("#where");
  if (now.at === null) return box.replaceChildren(trail([]));
  try {
    const { path } = await api.concept(now.at);
    if (mine !== turn) return undefined;
    const inside = path.filter((concept) => !isDocument(concept)).at(-1);
    return box.replaceChildren(trail(path), el("span", { class: "links" }, inside ? within(inside, now) : "", out(path)));
  } catch {
    return undefined; // the map shows the problem
  }
}

function trail(path) {
  const links = path.slice(1).map((concept, at) => place(concept, at === path.length - 2));
  const left = links.splice(0, Math.max(0, links.length - SHOWN)).length;
  if (left) links.unshift(place(path[left], false, "…"));
  const everything = el("li", {}, link({ at: null }, { "aria-current": !path.length && "location" }, "Everything"));
  return el("nav", { class: "crumbs", "aria-label": "Place on the map" }, el("ol", {}, everything, ...links));
}

function place(concept, here, text = isDocument(concept) ? concept.exemplars[0].id : nameOf(concept)) {
  return el("li", {}, link({ at: concept.id }, { "aria-current": here && "location", title: concept.label }, text));
}

function out(path) {
  const above = path.at(-2);
  return el("button", { type: "button", class: "link", onclick: () => go({ at: above && path.length > 2 ? above.id : null }) }, "Zoom out");
}

function within(concept, now) {
  const already = now.in === concept.id;
  const search = () => {
    go({ in: concept.id, why: null });
    find("#query").focus();
  };
  return el("button", { type: "button", class: "link", disabled: already, onclick: search },
    already ? "Searching inside" : "Search inside");
}
