// An explanation: one sentence, and folded below it what each concept on the path adds to the score.

import { el } from "./dom.js";
import { link } from "./router.js";
import { number, signed } from "./format.js";

/** A panel for an explanation as /v1/explain returns it. */
export function explanationPanel(why) {
  const steps = why.path.slice(1);
  const most = Math.max(...steps.map((step) => Math.abs(step.contribution)), why.lexical, 1e-9);
  return el("section", { class: "why", "aria-label": `Why ${why.id}` },
    el("p", { class: "plain" }, plainReason(why)),
    el("details", {},
      el("summary", {}, "How the score adds up"),
      el("ol", { class: "bars", "aria-label": "What each level adds to the score" },
        steps.map((step, at) => row(why, step, at + 1, most)),
        why.opening < 0 && el("li", { class: "words" }, el("span", { class: "name" }, "How the text begins"), bar(why.opening, most)),
        why.weight > 0 && el("li", { class: "words" },
          el("span", { class: "name" }, "Shared words", words(why)), bar(why.lexical, most))),
      el("p", { class: "sum" }, sum(why, steps)),
      el("p", { class: "small soft" }, why.text)));
}

/** The reason in one sentence. */
export function plainReason(why) {
  const place = why.path.find((step) => step.concept.basic && step.concept.children.length)?.concept
    ?? why.path.filter((step) => step.concept.children.length).at(-1)?.concept;
  const inside = place && place.parent !== null ? `, in “${place.label}”` : "";
  const rank = why.missing > 0
    ? `Not among the first ${number(why.k)}: number ${number(why.rank)} of ${number(why.of)}, ${why.missing.toFixed(2)} short`
    : `Number ${number(why.rank)} of ${number(why.of)}`;
  return `${rank}. ${why.missing > 0 ? "What it has, it has" : "Found"} ${causes(why)}${inside}.`;
}

function causes(why) {
  if (!(why.weight > 0)) return "by meaning";
  if (!(why.lexical > 0) || !why.words.length) return "by meaning alone: it holds none of the query’s words";
  const held = why.words.map((word) => `“${word}”`).join(", ");
  const share = Math.round((100 * why.lexical) / Math.max(1e-9, why.lexical + Math.max(0, why.dense)));
  return share >= 50 ? `mostly by its words ${held} (${share} %)` : `by meaning (${100 - share} %) and by ${held} (${share} %)`;
}

function words(why) {
  return why.words.length ? el("span", { class: "soft" }, ` ${why.words.join(", ")}`) : "";
}

function row(why, step, at, most) {
  const { concept } = step;
  const decides = at === why.decided_at && why.rival !== null;
  return el("li", { class: decides && "decides" },
    link({ at: concept.id }, { class: concept.basic ? "name basic" : "name", title: concept.label },
      concept.label, el("span", { class: "soft" }, ` ${number(concept.size)}`)),
    bar(step.contribution, most),
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

function sum(why, steps) {
  const path = steps.reduce((total, step) => total + step.contribution, 0);
  const parts = [`${why.base.toFixed(3)} as any document here`, `${path.toFixed(3)} along the path`];
  if (why.opening < 0) parts.push(`${why.opening.toFixed(3)} for how the text begins`);
  if (why.weight > 0) parts.push(`${why.lexical.toFixed(3)} by words`);
  return `${parts.join(" + ")} = ${why.score.toFixed(3)}`;
}
