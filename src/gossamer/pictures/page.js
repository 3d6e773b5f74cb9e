// `gossamer tree --html`: the explorer's map over concepts that are in the page, and a list that describes one of them.

import { announce, el, find } from "../web/dom.js";
import { countPassages, number, sized } from "../web/format.js";
import { ConceptMap } from "../web/map/map.js";
import { themeMark } from "../web/themes.js";

const FOUND = 100; // concepts listed for a search

const data = JSON.parse(find("#data").textContent);
countPassages(data.passages);
const concepts = data.concepts; // parents before children
const byId = new Map(concepts.map((concept) => [concept.id, concept]));
const top = concepts[0];
const childrenOf = new Map(concepts.map((concept) => [concept.id, []]));
for (const concept of concepts.slice(1)) childrenOf.get(concept.parent).push(concept);
const haystack = new Map(concepts.map((concept) => [concept, textsOf(concept).join(" ").toLowerCase()]));

const source = {
  complete: true,
  name: top.label,
  map: async () => ({
    ids: concepts.map((concept) => concept.id),
    parents: concepts.map((concept) => (concept === top ? null : concept.parent)),
    sizes: concepts.map((concept) => concept.size),
    depths: concepts.map((concept) => concept.depth - top.depth),
    children: concepts.map((concept) => concept.children),
    labels: concepts.map((concept) => concept.label),
  }),
  concept: async (id) => ({ concept: { ...byId.get(id), path: pathOf(byId.get(id)).map((each) => each.id) } }),
  forget() {},
};

const map = new ConceptMap({
  source,
  onZoom: (id) => go(byId.get(id) ?? top),
  onDocument: (node) => go(byId.get(node.id)),
});
let shown = top;

function textsOf(concept) {
  return [concept.label, ...concept.terms, ...concept.exemplars.flatMap(({ id, text }) => [id, text])];
}

function pathOf(concept) {
  return concept === top ? [top] : [...pathOf(byId.get(concept.parent)), concept];
}

const ids = (concept) => pathOf(concept).map((each) => each.id);

/** Show a concept, and have it in the address. */
function go(concept) {
  if (location.hash === `#${concept.id}`) show(concept);
  else location.hash = concept.id;
}

/** Describe a concept in the list and zoom the map to it. */
function show(concept, options = {}) {
  shown = concept;
  find("#query").value = "";
  const path = pathOf(concept);
  find("#where").replaceChildren(el("nav", { class: "crumbs", "aria-label": "Place on the map" },
    el("ol", {}, path.map((each) => el("li", {}, conceptLink(each, { "aria-current": each === concept && "location" }))))));
  find("#list").replaceChildren(...description(concept));
  announce(`${concept.label}, ${sized(concept.size)}`);
  map.trace(path);
  glow(data.answers.map((answer) => byId.get(answer.concept)));
  map.zoomTo(concept.id, options);
}

function description(concept) {
  const share = ((100 * concept.size) / top.size).toPrecision(2);
  const children = childrenOf.get(concept.id);
  return [
    el("h1", { tabindex: "-1" }, themeMark(ids(concept)), concept.label),
    el("p", { class: "soft" }, `#${concept.id} · ${sized(concept.size)} of ${number(top.size)} (${Number(share)} %) · ` +
      `depth ${concept.depth} · spread ${concept.spread} · utility ${concept.utility}`),
    el("p", { class: "chips" }, concept.terms.map((term) => el("span", { class: "chip" }, term))),
    ...section(`Answers to “${data.query}”`, data.answers.map(answerEntry)),
    ...section("Typical", concept.exemplars.map(({ id, text }) => el("div", { class: "hit" }, el("h3", {}, id), el("p", { class: "text" }, text)))),
    ...section("Parts", children.length ? [cards(children, concept.size)] : []),
    concept.children > children.length
      ? el("p", { class: "notice" }, `${number(concept.children)} concepts below are not in this page: write it again with ` +
        `--concept ${concept.id}, or with a larger --most.`)
      : "",
    el("p", { class: "soft small" }, "Keys: arrows move, Enter zooms in, Escape zooms out, / finds, d switches between light and dark."),
  ];
}

function answerEntry({ rank, id, text, concept }) {
  return el("div", { class: "hit" },
    el("div", { class: "line" }, el("span", { class: "rank" }, rank), el("h3", {}, conceptLink(byId.get(concept), {}, id))),
    el("p", { class: "text" }, text));
}

function section(title, parts) {
  return parts.length ? [el("h2", { class: "over" }, title), ...parts] : [];
}

function cards(some, of) {
  return el("ul", { class: "cards" }, some.map((each) => {
    const share = el("span", { class: "share", "aria-hidden": "true" });
    share.style.setProperty("--share", `${(100 * each.size) / of}%`);
    return el("li", {}, conceptLink(each, { class: "card" },
      el("h3", {}, themeMark(ids(each)), each.label), el("p", { class: "soft small" }, share, sized(each.size))));
  }));
}

function conceptLink(concept, props, ...children) {
  const again = () => concept === shown && show(concept); // the address stays as it is
  return el("a", { ...props, href: `#${concept.id}`, onclick: again }, ...(children.length ? children : [concept.label]));
}

/** List the concepts whose label, terms or typical documents contain every word of the search box. */
function search() {
  const words = find("#query").value.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return show(shown);
  const named = (concept) => words.every((word) => concept.label.toLowerCase().includes(word));
  const found = concepts.filter((concept) => words.every((word) => haystack.get(concept).includes(word)))
    .sort((one, other) => named(other) - named(one) || other.size - one.size);
  const count = `${number(found.length)} found`;
  find("#list").replaceChildren(el("p", { class: "soft small", id: "count" }, count), cards(found.slice(0, FOUND), top.size));
  glow(found.length < concepts.length / 2 ? found : []);
  return announce(count);
}

function glow(some) {
  map.glow(some.map((concept) => ({ path: pathOf(concept) })));
}

const named = () => (location.hash ? byId.get(Number(location.hash.slice(1))) : null) ?? top;

const system = matchMedia("(prefers-color-scheme: dark)");
const darkRule = [...document.styleSheets[0].cssRules].find((rule) => rule.media?.mediaText.includes("dark"));

function setTheme(dark) {
  darkRule.media.mediaText = dark ? "all" : "not all";
  document.documentElement.style.setProperty("color-scheme", dark ? "dark" : "light");
  map.painter.retheme();
  map.paint();
}

const switchTheme = () => setTheme(darkRule.media.mediaText !== "all");

find("#search").addEventListener("submit", (event) => (event.preventDefault(), find("#list .card")?.click()));
find("#query").addEventListener("input", search);
find("#theme").addEventListener("click", switchTheme);
find("#panes").addEventListener("click", ({ target: { dataset: { pane } } }) => {
  if (pane) document.body.dataset.pane = pane;
  for (const button of document.querySelectorAll("#panes button")) {
    button.setAttribute("aria-pressed", String(button.dataset.pane === document.body.dataset.pane));
  }
});
system.addEventListener("change", () => setTheme(system.matches));
addEventListener("hashchange", () => show(named()));
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input")) return;
  if (event.key === "/") find("#query").select();
  else if (event.key === "d") switchTheme();
  else return event.target === document.body && map.key(event);
  return event.preventDefault();
});
setTheme(system.matches);
show(named(), { milliseconds: 1 });
