// The list without a query: topics as cards, one concept with its children, or one document.

import * as api from "./api.js";
import { announce, el, failure, find } from "./dom.js";
import { documents, isDocument, nameOf, number, shortened } from "./format.js";
import { fill } from "./list.js";
import { conceptPath, metadataList, showScope } from "./parts.js";
import { go, link, state } from "./router.js";

const TOPICS = 12;

export class Browse {
  constructor({ onPath }) {
    this.onPath = onPath;
  }

  async show(wanted, info) {
    const follow = find("#list").contains(document.activeElement);
    const shown = await fill(
      async (signal) => [el("div", { id: "scope" }), ...(await this.view(wanted, info, signal))],
      (problem) => failure(problem, () => this.show(state(), info), wanted.at !== null && toStart()));
    if (!shown) return;
    if (wanted.in !== null) showScope(wanted.in);
    if (follow) find("#list h1")?.focus({ preventScroll: true });
  }

  async view(wanted, info, signal) {
    if (!info.documents) return nothing(info);
    if (wanted.at === null) return this.everything(info);
    const found = await api.concept(wanted.at);
    if (found.concept.parent === null && !isDocument(found.concept)) return this.everything(info);
    this.onPath(found.path);
    announce(`${nameOf(found.concept)}, ${documents(found.concept.size)}`);
    return isDocument(found.concept) ? this.document(found, signal) : concept(found);
  }

  async everything(info) {
    const { levels: [cut] } = await api.topics(TOPICS);
    this.onPath([]);
    announce(`${documents(info.documents)} in ${cut.concepts.length} topics`);
    return [
      el("h1", { tabindex: "-1" }, "Look around"),
      el("p", { class: "lead" }, `${documents(info.documents)} in “${info.name}”, sorted by meaning. These are the topics it falls into; pick one, or ask.`),
      cards(cut.concepts, info.passages),
    ];
  }

  async document({ concept, path }, signal) {
    const found = await api.documentOf(concept.exemplars[0].id, signal);
    const like = shortened(found.text.replace(/\s+/g, " "), 300);
    return [
      conceptPath(path, 6),
      el("h1", { tabindex: "-1", class: "id" }, found.id),
      el("p", { class: "text whole" }, found.text),
      metadataList(found.metadata, 20),
      concept.size > 1 ? el("p", { class: "soft small" }, `${number(concept.size - 1)} more of the same here.`) : "",
      el("p", {}, el("button", { type: "button", onclick: () => go({ q: like, why: null }) }, "More like this")),
    ];
  }
}

function concept({ concept: at, children, path }) {
  return [
    conceptPath(path.slice(0, -1), 6),
    el("h1", { tabindex: "-1" }, nameOf(at)),
    el("p", { class: "soft" }, `${documents(at.size)} in ${number(children.length)} parts`),
    el("p", { class: "chips" }, at.terms.slice(0, 10).map((term) =>
      link({ q: term, in: at.id, why: null }, { class: "chip", title: "Search for it in here" }, term))),
    el("h2", { class: "over" }, "Typical"),
    examples(at, 3),
    el("h2", { class: "over" }, "Parts"),
    cards(children, at.size),
  ];
}

function cards(concepts, of) {
  return el("ul", { class: "cards" }, concepts.map((each) => el("li", {}, card(each, of))));
}

function card(concept, of) {
  const share = el("span", { class: "share", "aria-hidden": "true" });
  share.style.setProperty("--share", `${(100 * concept.size) / Math.max(1, of)}%`);
  return link({ at: concept.id }, { class: "card" },
    isDocument(concept) ? el("h3", { class: "id" }, concept.exemplars[0].id) : el("h3", {}, nameOf(concept)),
    isDocument(concept) ? "" : el("p", { class: "soft small" }, share, documents(concept.size)),
    examples(concept, isDocument(concept) ? 1 : 2));
}

function examples(concept, most) {
  return el("ul", { class: "examples" }, concept.exemplars.slice(0, most).map((each) => el("li", {}, shortened(each.text, 140))));
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
