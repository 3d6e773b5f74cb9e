// Where only a part is searched.

import * as api from "./api.js";
import { el, find } from "./dom.js";
import { link } from "./router.js";
import { nameOf } from "./words.js";

/** Says that only a part is searched, and how to search all of it. */
export async function scope(id) {
  const { concept } = await api.concept(id).catch(() => ({ concept: null }));
  if (concept === null) return; // gone: the search itself says so
  find("#scope")?.replaceChildren(el("p", { class: "chips" }, el("span", { class: "soft" }, "Searching inside"),
    link({ in: null }, { class: "chip", "aria-label": `Searching inside ${nameOf(concept)}: search everything instead` },
      `${nameOf(concept)} ×`)));
}
