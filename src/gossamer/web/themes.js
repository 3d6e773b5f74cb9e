// Colours of themes, the concepts below the root. A theme's hue depends on its id, which it keeps when the tree is renewed.

import { el } from "./dom.js";

const HUES = [250, 145, 20, 310, 195, 60, 275, 120, 345, 220, 95, 170];

const hues = new Map();
const waiting = new Map();

/** Choose hues for all themes. Each prefers a hue by its id; those whose hue is taken get the next free one, at the end. */
export function learnThemes(ids) {
  hues.clear();
  const taken = new Set();
  const late = [];
  const wanted = (id) => (Math.imul(id, 2654435761) >>> 0) % HUES.length;
  const take = (id, at) => (taken.add(at), hues.set(id, HUES[at]));
  for (const id of [...ids].sort((one, other) => one - other)) taken.has(wanted(id)) ? late.push(id) : take(id, wanted(id));
  for (const id of late) {
    let at = wanted(id);
    for (let step = 0; step < HUES.length && taken.has(at); step++) at = (at + 5) % HUES.length;
    take(id, at);
  }
  for (const [mark, id] of waiting) mark.style.setProperty("--hue", hueOf(id));
  waiting.clear();
}

/** The hue of a theme, in degrees. */
export const hueOf = (id) => hues.get(id) ?? HUES[0];

/** A small square in the colour of the theme that a path of ids lies in; nothing for the root. */
export function themeMark(path) {
  if (path.length < 2) return "";
  const mark = el("span", { class: "theme", "aria-hidden": "true" });
  if (hues.has(path[1])) mark.style.setProperty("--hue", hueOf(path[1]));
  else waiting.set(mark, path[1]);
  return mark;
}
