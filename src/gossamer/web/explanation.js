// An explanation: its sentences, and a bar for what each concept on the path adds to the score.

import { el } from "./dom.js";
import { link } from "./router.js";
import { nameOf, number, signed } from "./format.js";

/** A panel for an explanation as /v1/explain returns it. */
export function explanationPanel(why) {
  const most = Math.max(...why.path.map((step) => Math.abs(step.contribution)), Math.abs(why.base), why.lexical, 1e-9);
  const rows = why.path.map((step, at) => row(why, step, at, most));
  return el("section", { class: "why", "aria-label": `Why ${why.id}` },
    el("p", {}, why.text),
    el("ol", { class: "bars", "aria-label": "What each level adds to the score" }, rows),
    why.weight > 0 && el("ol", { class: "bars words" },
      el("li", {}, el("span", { class: "name" }, "Shared words", words(why)), bar(why.lexical, most))),
    el("p", { class: "sum" }, sum(why)));
}

function words(why) {
  return why.words.length ? el("span", { class: "soft" }, ` ${why.words.join(", ")}`) : "";
}

function row(why, step, at, most) {
  const { concept } = step;
  const value = at === 0 ? why.base : step.contribution;
  const decides = at === why.decided_at && why.rival !== null;
  return el("li", { class: decides && "decides" },
    link({ at: concept.id }, { class: concept.basic ? "name basic" : "name", title: concept.label },
      nameOf(concept), el("span", { class: "soft" }, ` ${number(concept.size)}`)),
    bar(value, most),
    decides && el("p", { class: "note" }, parting(why, step)));
}

function parting(why, step) {
  const other = why.rival.concept.label;
  const better = step.margin !== null && step.margin < 0;
  return `Here it parts from “${why.rival.id}” (number ${number(why.rival.rank)}), which lies in “${other}”` +
    (better ? "; the query fits that one better." : ".");
}

/** A bar that starts in the middle: positive values to the right, negative ones to the left. */
function bar(value, most) {
  const fill = el("span", { class: value < 0 ? "fill less" : "fill" });
  fill.style.setProperty("--share", `${(50 * Math.abs(value)) / most}%`);
  return el("span", { class: "bar" }, el("span", { class: "track", "aria-hidden": "true" }, fill),
    el("span", { class: "value" }, signed(value)));
}

function sum(why) {
  const parts = `${why.dense.toFixed(3)} by meaning`;
  return why.weight > 0 ? `${parts} + ${why.lexical.toFixed(3)} by words = ${why.score.toFixed(3)}` : parts;
}
