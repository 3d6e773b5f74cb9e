// What became of a concept and its parts: new, grown, shrunk, merged, split or gone.

import * as api from "./api.js";
import { el } from "./dom.js";
import { number } from "./format.js";
import { link } from "./router.js";

const SPANS = [["1d", "the last day"], ["7d", "the last week"], ["30d", "the last 30 days"], ["1", "the last change"],
  ["100", "the last 100 changes"], ["Infinity", "as far back as is known"]];
const DAY = 86_400_000;
const MOST = 15;

/** A section that is filled when it is opened. Of the root everything is told, else what concerns the concept or its parts. */
export function changesSection(info, concept, parts) {
  const place = el("div");
  const select = el("select", { "aria-label": "Since", onchange: () => fill() },
    SPANS.map(([span, words]) => el("option", { value: span }, words)));
  const known = new Set([concept.id, ...parts.map((part) => part.id)]);
  const concerns = ({ id, other }) => concept.parent === null ? id !== concept.id : known.has(id) || known.has(other);
  const section = el("details", { class: "section", id: "changes" }, el("summary", {}, "What changed"),
    el("p", { class: "chips" }, el("span", { class: "soft" }, "In"), select), place);
  const start = (span) => span.endsWith("d")
    ? { time: new Date(Date.now() - parseInt(span, 10) * DAY).toISOString() }
    : { since: Math.max(0, info.operation - Number(span)) };
  section.addEventListener("toggle", () => section.open && fill());
  return section;

  async function fill() {
    place.replaceChildren(el("div", { class: "skeleton" }));
    try {
      const { changes, labels } = await api.changes(start(select.value));
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
