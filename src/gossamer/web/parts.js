// Parts that several views show: a path of concepts, metadata, a text with marks, and the concept that is searched in.

import * as api from "./api.js";
import { el, find } from "./dom.js";
import { documents, isDocument, nameOf, shortened } from "./format.js";
import { link } from "./router.js";

const LEVELS = 4;

/** Links from the first concept below the root to the last one above the document; the basic level is marked. */
export function conceptPath(path, most = LEVELS) {
  const between = path.filter((concept, at) => at > 0 && !isDocument(concept));
  const list = el("ol");
  const fill = (shown) => list.replaceChildren(...shown.map((each) => el("li", {}, each)));
  const links = between.map(conceptLink);
  if (links.length <= most) fill(links);
  else {
    const gap = () => el("button", {
      type: "button", class: "more", "aria-label": `Show all ${links.length} levels`, onclick: () => fill(links),
    }, "…");
    fill(chosenLevels(between, most).map((at) => (at === null ? gap() : links[at])));
  }
  return el("nav", { class: "crumbs", "aria-label": "Path of concepts" }, list);
}

function conceptLink(concept) {
  const about = `${concept.label}: ${documents(concept.size)}${concept.basic ? ", the basic level" : ""}`;
  return link({ at: concept.id }, { title: about, class: concept.basic && "basic" },
    nameOf(concept), concept.basic && el("span", { class: "hidden" }, " (basic level)"));
}

/** The first level, the basic level and the last ones; null stands for a gap. */
function chosenLevels(path, most) {
  const keep = new Set([0, path.length - 1]);
  const basic = path.findIndex((concept) => concept.basic);
  if (basic >= 0) keep.add(basic);
  for (let at = path.length - 2; keep.size < most - 1 && at > 0; at--) keep.add(at);
  const shown = [];
  let before = -1;
  for (const at of [...keep].sort((one, other) => one - other)) {
    if (at > before + 1) shown.push(null);
    shown.push(at);
    before = at;
  }
  return shown;
}

/** The first `most` fields of a document's metadata. */
export function metadataList(metadata, most = 4) {
  const entries = Object.entries(metadata ?? {}).slice(0, most);
  if (!entries.length) return "";
  const shown = (value) => shortened(typeof value === "string" ? value : JSON.stringify(value), 40);
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
