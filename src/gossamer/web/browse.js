// The list without a query: the themes of the collection as cards, or one concept with its parts.

import * as api from "./api.js";
import { changesSection } from "./changes.js";
import { announce, el, failure, find } from "./dom.js";
import { fieldsSection } from "./fields.js";
import { documents, isDocument, nameOf, number, shortened, sized } from "./format.js";
import { fill } from "./list.js";
import { conceptPath, showScope } from "./parts.js";
import { go, link, state } from "./router.js";
import { themeMark } from "./themes.js";

export class Browse {
  constructor({ onPath }) {
    this.onPath = onPath;
  }

  async show(wanted, info) {
    const follow = find("#list").contains(document.activeElement);
    const shown = await fill(
      async () => [el("div", { id: "scope" }), ...(await this.view(wanted, info))],
      (problem) => failure(problem, () => this.show(state(), info), wanted.at !== null && toStart()));
    if (!shown) return;
    if (wanted.in !== null) showScope(wanted.in);
    if (follow) find("#list h1")?.focus({ preventScroll: true });
  }

  async view(wanted, info) {
    if (!info.documents) return nothing(info);
    if (wanted.at === null) return this.everything(info);
    const found = await api.concept(wanted.at);
    if (isDocument(found.concept)) { // the address names a leaf: its document is shown, and the concept it lies in
      queueMicrotask(() => go({ doc: found.concept.exemplars[0].id, at: found.path.at(-2)?.id ?? null }, { replace: true }));
      return [];
    }
    if (found.concept.parent === null) return this.everything(info);
    this.onPath(found.path);
    announce(`${nameOf(found.concept)}, ${sized(found.concept.size)}`);
    return concept(found, info);
  }

  async everything(info) {
    const { concepts: [root, ...themes] } = await api.themes();
    this.onPath([]);
    announce(`${documents(info.documents)} in ${themes.length} themes`);
    const many = info.passages !== info.documents;
    return [
      el("h1", { tabindex: "-1" }, info.name),
      el("p", { class: "lead" }, `${documents(info.documents)}, sorted by meaning into ${number(themes.length)} themes. Pick one, or ask.`),
      many ? el("p", { class: "soft small split" },
        `Long texts are split, so there are ${number(info.passages)} passages; concepts are counted in these.`) : "",
      cards(themes, root.size),
      fieldsSection(root, themes),
      changesSection(info, root, themes),
      el("p", { class: "soft small foot" }, el("a", { href: "docs" }, "HTTP API")),
    ];
  }
}

function concept({ concept: at, children, path }, info) {
  const parts = children.filter((child) => !isDocument(child));
  return [
    conceptPath(path.slice(0, -1), { endsInDocument: false, most: 6 }),
    el("h1", { tabindex: "-1" }, themeMark(at.path), nameOf(at)),
    el("p", { class: "soft" }, `${sized(at.size)}, ${parts.length ? `${number(children.length)} parts` : "no smaller parts"}`),
    el("p", { class: "chips" }, at.terms.slice(0, 10).map((term) =>
      link({ q: term, in: at.id, why: null }, { class: "chip", title: "Search for it in here" }, term))),
    el("h2", { class: "over" }, "Typical"),
    examples(at, 3),
    el("h2", { class: "over" }, parts.length ? "Parts" : "Documents"),
    cards(children, at.size),
    fieldsSection(at, parts),
    changesSection(info, at, children),
  ];
}

function cards(concepts, of) {
  return el("ul", { class: "cards" }, concepts.map((each) => el("li", {}, card(each, of))));
}

function card(concept, of) {
  if (isDocument(concept)) {
    const [{ id, text }] = concept.exemplars;
    return link({ doc: id }, { class: "card" }, el("h3", { class: "id" }, id), el("p", { class: "examples" }, shortened(text, 140)));
  }
  const share = el("span", { class: "share", "aria-hidden": "true" });
  share.style.setProperty("--share", `${(100 * concept.size) / Math.max(1, of)}%`);
  return link({ at: concept.id }, { class: "card" },
    el("h3", {}, themeMark(concept.path), nameOf(concept)), el("p", { class: "soft small" }, share, sized(concept.size)),
    examples(concept, 2, false));
}

function examples(concept, most, linked = true) {
  return el("ul", { class: "examples" }, concept.exemplars.slice(0, most).map(({ id, text }) => {
    const shown = shortened(text, 140);
    return el("li", {}, linked ? link({ doc: id }, {}, shown) : shown); // a card is a link already
  }));
}

function toStart() {
  return el("a", { class: "button", href: "./" }, "Back to the start");
}

function nothing(info) {
  const how = info.writable
    ? "Add a document with the button above, or many from the command line:"
    : "Fill it from the command line:";
  return [el("div", { class: "empty" }, el("h1", { tabindex: "-1" }, "Nothing here yet"), el("p", {}, how),
    el("code", {}, `gossamer index FILES --to ${info.name}.gsm`))];
}
