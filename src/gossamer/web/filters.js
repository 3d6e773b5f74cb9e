// Filters by metadata: the values that the answers have, to choose from, and chips for what is chosen.
//
// The filter in the address is one that /v1/search takes; only fields with $in, $gte and $lte can be changed here.

import * as api from "./api.js";
import { el } from "./dom.js";
import { number, shortened } from "./format.js";
import { go, link, state } from "./router.js";

const FIELDS = 6;
const MOST = 12; // values to choose from
const VARIED = 0.6; // a field with more different values than this share of the documents tells documents apart, not groups

/** The filter of an address as an object; null where there is none or it is no JSON object. */
export function filterOf({ where }) {
  try {
    const found = JSON.parse(where ?? "null");
    return found !== null && typeof found === "object" && !Array.isArray(found) ? found : null;
  } catch {
    return null;
  }
}

/** Fields of facets that are worth choosing by. */
export function choosable(facets) {
  const worth = ({ distinct, count, least }) => distinct > 1 && (distinct <= MOST || least !== null || distinct < VARIED * count);
  const named = ({ field }) => !/^(title|headline|subject|name|text)$|\\/i.test(field);
  return facets.fields.filter((facet) => worth(facet) && named(facet)).slice(0, FIELDS);
}

/** Chips for the filter that is set; each takes its part away. */
export function filterChips(wanted) {
  const where = filterOf(wanted);
  if (where === null) return "";
  const parts = Object.keys(where).map((field) => {
    return link({ where: asText(without(where, field)), k: null }, { class: "chip", "aria-label": `Only ${told(field, where[field])}: take this filter away` },
      `${told(field, where[field])} ×`);
  });
  return el("p", { class: "chips", id: "filters" }, el("span", { class: "soft" }, "Only"), parts);
}

function told(key, condition) {
  const field = fieldOf(key);
  if (typeof condition !== "object" || condition === null) return `${field}: ${condition}`;
  if (Array.isArray(condition.$in)) return `${field}: ${shortened(condition.$in.join(", "), 50)}`;
  const { $gte: from, $lte: to } = condition;
  if (from !== undefined || to !== undefined) return `${field}: ${from ?? "…"} to ${to ?? "…"}`;
  return `${field}: ${shortened(JSON.stringify(condition), 50)}`;
}

/** A field as the key of a filter, in which a dot leads into an object and a dollar begins an operator; and back. */
const keyOf = (field) => field.replaceAll(".", "\\.").replace(/^\$/, "\\$");
const fieldOf = (key) => key.replaceAll("\\.", ".").replace(/^\\\$/, "$");

const asText = (where) => (Object.keys(where).length ? JSON.stringify(where) : null);

/** A menu for each field, with the values among the best answers to a query. */
export async function facetMenus(asked, signal) {
  const count = (where) => api.facets({ query: asked.query, where, within: asked.within, most: MOST }, signal);
  const chosen = Object.keys(asked.where ?? {}).filter((field) => !field.startsWith("$"));
  const [found, ...others] = await Promise.all([asked.where ?? null, ...chosen.map((field) => without(asked.where, field))].map(count));
  const fields = new Map(found.fields.map((facet) => [facet.field, facet]));
  chosen.forEach((field, at) => { // what else this field could be, were it not for its own part of the filter
    const facet = others[at].fields.find((each) => each.field === fieldOf(field));
    if (facet) fields.set(facet.field, facet);
  });
  return choosable({ fields: [...fields.values()] }).map((facet) => menu(facet));
}

const without = (where, field) => Object.fromEntries(Object.entries(where).filter(([name]) => name !== field));

function menu(facet) {
  const isRange = facet.least !== null && facet.distinct > MOST;
  return el("details", { class: "menu", name: "facet" }, el("summary", {}, facet.field),
    el("div", { class: "panel" }, isRange ? range(facet) : values(facet)));
}

function set(field, condition) {
  const where = { ...(filterOf(state()) ?? {}) };
  if (condition === null) delete where[keyOf(field)];
  else where[keyOf(field)] = condition;
  go({ where: asText(where), why: null, k: null });
}

function values({ field, values: listed }) {
  const chosen = filterOf(state())?.[keyOf(field)]?.$in ?? [];
  const toggle = (value) => {
    const next = chosen.includes(value) ? chosen.filter((each) => each !== value) : [...chosen, value];
    set(field, next.length ? { $in: next } : null);
  };
  return el("ul", {}, listed.map(({ value, count }) => el("li", {}, el("label", {},
    el("input", { type: "checkbox", checked: chosen.includes(value), onchange: () => toggle(value) }),
    el("span", {}, shortened(String(value), 40)), el("span", { class: "soft" }, number(count))))));
}

function range({ field, least, most }) {
  const now = filterOf(state())?.[keyOf(field)] ?? {};
  const from = el("input", { type: "number", step: "any", value: now.$gte, placeholder: String(least), "aria-label": `${field} from` });
  const to = el("input", { type: "number", step: "any", value: now.$lte, placeholder: String(most), "aria-label": `${field} to` });
  const apply = (event) => {
    event.preventDefault();
    const condition = {};
    if (from.value !== "") condition.$gte = Number(from.value);
    if (to.value !== "") condition.$lte = Number(to.value);
    set(field, Object.keys(condition).length ? condition : null);
  };
  return el("form", { class: "range", onsubmit: apply }, from, el("span", { class: "soft" }, "to"), to, el("button", { type: "submit" }, "Apply"));
}
