// How the values of a metadata field are spread over the parts of a concept.

import * as api from "./api.js";
import { el } from "./dom.js";
import { choosable } from "./filters.js";
import { number, shortened } from "./format.js";
import { link } from "./router.js";

const SHOWN = 6; // values with a colour of their own
const MOST_PARTS = 12;

/** A section that is filled when it is opened; it goes away if no field is worth it. */
export function fieldsSection(concept, parts) {
  if (parts.length < 2) return "";
  const place = el("div");
  const section = el("details", { class: "section", id: "fields" }, el("summary", {}, "By metadata"), place);
  const within = concept.parent === null ? null : concept.id;
  section.addEventListener("toggle", () => section.open && !place.hasChildNodes() && fill(place, within, parts));
  return section;
}

async function fill(place, within, parts) {
  place.replaceChildren(el("div", { class: "skeleton" }));
  try {
    const found = await api.facets({ within, most: SHOWN });
    const fields = choosable(found).filter((facet) => facet.distinct <= 100);
    if (!fields.length) return place.replaceChildren(el("p", { class: "soft small" }, "No field of the metadata divides these documents."));
    const table = el("div");
    const choose = (facet, button) => {
      for (const each of place.querySelectorAll(".choice")) each.setAttribute("aria-pressed", String(each === button));
      return show(table, facet, parts);
    };
    const buttons = fields.map((facet) => {
      const button = el("button", { type: "button", class: "chip choice", "aria-pressed": "false", onclick: () => choose(facet, button) }, facet.field);
      return button;
    });
    place.replaceChildren(el("p", { class: "chips" }, buttons), table);
    return await choose(fields[0], buttons[0]);
  } catch (problem) {
    return place.replaceChildren(el("p", { class: "notice", role: "alert" }, problem.message));
  }
}

async function show(table, facet, parts) {
  const listed = parts.slice(0, MOST_PARTS);
  const counts = await Promise.all(listed.map(async (part) => {
    const { fields } = await api.facets({ within: part.id, most: 100 });
    return fields.find((each) => each.field === facet.field) ?? { count: 0, values: [] };
  }));
  const values = facet.values.map(({ value }) => value);
  const rest = facet.distinct > values.length;
  table.replaceChildren(
    el("ul", { class: "legend" }, values.map((value, at) => el("li", {}, swatch(at), shortened(String(value), 30))),
      rest ? el("li", {}, swatch(values.length), `${number(facet.distinct - values.length)} others`) : ""),
    el("ul", { class: "spread" }, listed.map((part, at) => row(part, counts[at], values))));
}

function row(part, { count, values: own }, values) {
  const shares = values.map((value) => (own.find((each) => each.value === value)?.count ?? 0) / Math.max(1, count));
  const others = Math.max(0, 1 - shares.reduce((sum, share) => sum + share, 0));
  const all = count ? [...shares, others] : [];
  const told = values.map((value, at) => [value, shares[at]]).filter(([, share]) => share >= 0.005)
    .sort((one, other) => other[1] - one[1]).map(([value, share]) => `${value} ${Math.round(100 * share)} %`);
  const bar = el("span", { class: "stack", role: "img", "aria-label": told.join(", ") || "none", title: told.join("\n") },
    all.map((share, at) => {
      const piece = swatch(at);
      piece.style.setProperty("flex-grow", share);
      return piece;
    }));
  return el("li", {}, link({ at: part.id }, { class: "name" }, part.label), bar);
}

function swatch(at) {
  const piece = el("span", { class: at < SHOWN ? "swatch" : "swatch others", "aria-hidden": "true" });
  piece.style.setProperty("--hue", [250, 50, 145, 340, 195, 95][at] ?? 0);
  return piece;
}
