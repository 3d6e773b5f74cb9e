// The words of a query, marked in a text.

import { el } from "./dom.js";

const WORD = /[\p{L}\p{N}]+/gu;
const ENDINGS = ["ings", "ing", "edly", "ed", "ies", "es", "s", "ly", "e", "y", "er"];
const STOP = new Set((
  "a an and any are as at be been but by can could did do does for from had has have how i if in into is it its me " +
  "my no not of on one or our should so than that the their them then there these they this to was we were what " +
  "when where which who why will with would you your"
).split(" "));

/** Enough of a stem that "parsing" finds "parser"; the same as the command line's. */
export function stem(word) {
  const lower = word.toLowerCase();
  for (const ending of ENDINGS) {
    if (!lower.endsWith(ending) || lower.length - ending.length < 3) continue;
    if (ending === "s" && lower.endsWith("ss")) continue;
    const base = lower.slice(0, -ending.length);
    const last = base.at(-1);
    return base.length > 3 && last === base.at(-2) && !"ls".includes(last) ? base.slice(0, -1) : base;
  }
  return lower;
}

/** The stems of the words of a query that say something; of all of them where none does. */
export function telling(query) {
  const words = (query.match(WORD) ?? []).map((word) => word.toLowerCase());
  const some = words.filter((word) => !STOP.has(word));
  return new Set((some.length ? some : words).map(stem));
}

/** A text as nodes, with words of these stems in <mark>. */
export function marked(text, stems) {
  const nodes = [];
  let done = 0;
  for (const found of text.matchAll(WORD)) {
    if (!stems.has(stem(found[0]))) continue;
    nodes.push(text.slice(done, found.index), el("mark", {}, found[0]));
    done = found.index + found[0].length;
  }
  nodes.push(text.slice(done));
  return nodes;
}
