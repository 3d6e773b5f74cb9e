// The path of concepts to a document, as links into the map.

import { el } from "./dom.js";
import { link } from "./router.js";
import { documents, isDocument, nameOf } from "./words.js";

const MOST = 4;

/** From the first concept below the root to the last one above the document; the basic level is marked. */
export function crumbs(path, most = MOST) {
  const between = path.filter((concept, at) => at > 0 && !isDocument(concept));
  const list = el("ol");
  const fill = (shown) => list.replaceChildren(...shown.map((each) => el("li", {}, each)));
  const links = between.map(crumb);
  if (links.length <= most) fill(links);
  else {
    const gap = () => el("button", {
      type: "button", class: "more", "aria-label": `Show all ${links.length} levels`, onclick: () => fill(links),
    }, "…");
    fill(chosen(between, most).map((at) => (at === null ? gap() : links[at])));
  }
  return el("nav", { class: "crumbs", "aria-label": "Path of concepts" }, list);
}

function crumb(concept) {
  const about = `${concept.label}: ${documents(concept.size)}${concept.basic ? ", the basic level" : ""}`;
  return link({ at: concept.id }, { title: about, class: concept.basic && "basic" },
    nameOf(concept), concept.basic && el("span", { class: "hidden" }, " (basic level)"));
}

/** The first, the basic level and the last ones; null stands for a gap. */
function chosen(path, most) {
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
