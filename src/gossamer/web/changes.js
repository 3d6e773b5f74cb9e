// What became of a concept and its parts: new, grown, shrunk, merged, split or gone.

import * as api from "./api.js";
import { el } from "./dom.js";
import { number } from "./format.js";
import { link } from "./router.js";

const SPANS = [[1, "the last change"], [10, "the last 10 changes"], [100, "the last 100 changes"], [Infinity, "as far back as is known"]];
const MOST = 15;

/** A section that is filled when it is opened. Of the root everything is told, else what concerns the concept or its parts. */
export function changesSection(info, concept, parts) {
  const place = el("div");
  const select = el("select", { "aria-label": "Since", onchange: () => fill() },
    SPANS.map(([count, words]) => el("option", { value: count, selected: count === 100 }, words)));
  const known = new Set([concept.id, ...parts.map((part) => part.id)]);
  const concerns = ({ id, other }) => concept.parent === null ? id !== concept.id : known.has(id) || known.has(other);
  const section = el("details", { class: "section", id: "changes" }, el("summary", {}, "What changed"),
    el("p", { class: "chips" }, el("span", { class: "soft" }, "In"), select), place);
  section.addEventListener("toggle", () => section.open && fill());
  return section;

  async function fill() {
    place.replaceChildren(el("div", { class: "skeleton" }));
    try {
      const { changes, labels } = await api.changes(Math.max(0, info.operation - Number(select.value)));
      const shown = changes.filter(concerns);
      place.replaceChildren(
        el("ul", { class: "changes" }, shown.slice(0, MOST).map((change) => row(change, labels))),
        shown.length > MOST ? el("p", { class: "soft small" }, `${number(shown.length - MOST)} smaller ones more.`) : "",
        shown.length ? "" : el("p", { class: "soft small" }, "Nothing that is worth telling: only larger concepts that grew or shrank by a tenth are."));
    } catch (problem) {
      place.replaceChildren(el("p", { class: "notice", role: "alert" }, problem.message));
    }
  }
}

function row({ id, kind, size_before: before, size_after: after, other }, labels) {
  const named = (each) => (labels[each] === undefined ? `a concept that is gone` : link({ at: each, doc: null }, {}, labels[each]));
  const sizes = before && after ? `${number(before)} → ${number(after)}` : number(before || after);
  const towards = { new: " from ", split: " from ", merged: " into ", gone: " into " }[kind];
  return el("li", {}, el("span", { class: `kind ${kind}` }, kind), el("span", {}, named(id),
    towards && other !== null && labels[other] !== undefined ? [towards, named(other)] : ""), el("span", { class: "soft" }, sizes));
}
