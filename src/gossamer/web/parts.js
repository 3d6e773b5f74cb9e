// Parts that several views show: a path of concepts, metadata, a text with marks, and the concept that is searched in.

import * as api from "./api.js";
import { el, find } from "./dom.js";
import { nameOf, shortened, sized } from "./format.js";
import { link } from "./router.js";
import { themeMark } from "./themes.js";

const AROUND = 3; // steps of a path that are shown at first

/**
 * Links to the concepts of a path from the root, without the root and without a document at its end.
 *
 * The three steps around the basic level are shown, the others on request.
 */
export function conceptPath(path, { endsInDocument = true, most = AROUND } = {}) {
  const between = path.slice(1, endsInDocument ? -1 : undefined);
  const links = between.map((concept) => el("li", {}, conceptLink(concept)));
  const list = el("ol");
  const first = Math.max(0, Math.min(between.findIndex((concept) => concept.basic) - 1, links.length - most));
  const gap = () => el("li", {}, el("button", {
    type: "button", class: "more", "aria-label": `Show all ${links.length} levels`, onclick: () => list.replaceChildren(...links),
  }, "…"));
  list.append(...(first > 0 ? [gap()] : []), ...links.slice(first, first + most), ...(first + most < links.length ? [gap()] : []));
  return el("nav", { class: "crumbs", "aria-label": "Path of concepts" }, themeMark(path.map((concept) => concept.id)), list);
}

function conceptLink(concept) {
  const about = `${concept.label}: ${sized(concept.size)}${concept.basic ? ", the basic level" : ""}`;
  return link({ at: concept.id, doc: null }, { title: about, class: concept.basic && "basic" },
    concept.label, concept.basic && el("span", { class: "hidden" }, " (basic level)"));
}

/** The first `most` fields of a document's metadata, but not the one that is its title. */
export function metadataList(metadata, title, most = 4) {
  const entries = Object.entries(metadata ?? {}).filter(([, value]) => value !== null && value !== title).slice(0, most);
  if (!entries.length) return "";
  const shown = (value) => shortened(typeof value === "string" ? value : JSON.stringify(value), 60);
  return el("dl", { class: "facts" }, entries.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, shown(value)))));
}

/** A text as nodes, with spans in <mark>. A span is [start, stop) in code points, counted from `offset` on. */
export function marked(text, spans, offset = 0) {
  const points = Array.from(text); // a string counts UTF-16 units, the server counts code points
  const nodes = [];
  let done = 0;
  for (const [start, stop] of spans.map((span) => span.map((place) => place + offset))) {
    if (stop > points.length) break; // behind the end of a shortened text
    nodes.push(points.slice(done, start).join(""), el("mark", {}, points.slice(start, stop).join("")));
    done = stop;
  }
  return [...nodes, points.slice(done).join("")];
}

/** Show which concept is searched in, with a link that searches everything. */
export async function showScope(id) {
  const { concept } = await api.concept(id).catch(() => ({ concept: null }));
  if (concept === null) return; // deleted: the search itself says so
  find("#scope")?.replaceChildren(el("p", { class: "chips" }, el("span", { class: "soft" }, "Searching inside"),
    link({ in: null }, { class: "chip", "aria-label": `Searching inside ${nameOf(concept)}: search everything instead` },
      `${nameOf(concept)} ×`)));
}
