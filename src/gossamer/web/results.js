// The answers to a query, each with its path of concepts and, on request, its explanation.

import * as api from "./api.js";
import { announce, el, failure, find } from "./dom.js";
import { exportMenu } from "./download.js";
import { explanationPanel } from "./explanation.js";
import { facetMenus, filterChips, filterOf } from "./filters.js";
import { nameOf, shortened, sized, tellingId, titleOf } from "./format.js";
import { fill } from "./list.js";
import { conceptPath, marked, metadataList, showScope } from "./parts.js";
import { go, link, state } from "./router.js";

const K = 10;
const MOST = 100;
const UNUSUAL = 0.005; // below this confidence a notice is shown; short queries are always a little unlike documents

export class Results {
  /** `onHits(hits)` when they are there, `onPath(concepts)` when a document is explained. */
  constructor({ onHits, onPath }) {
    this.onHits = onHits;
    this.onPath = onPath;
    this.key = null; // the request whose answers are shown, as JSON
    this.asked = null;
    this.hits = [];
    this.left = null; // the request whose answers another view replaced, and the place in them
    this.explaining = api.latest();
  }

  forget() {
    this.key = null;
  }

  /** Remember where the reader was: another view takes the list. */
  leave() {
    if (this.key !== null) this.left = { key: this.key, place: find("#list").scrollTop };
    this.key = null;
  }

  /** Show the answers to a query; the server is asked only if the request has changed. */
  async show(wanted) {
    const asked = { query: wanted.q, k: wanted.k ?? K };
    if (wanted.in !== null) asked.within = wanted.in;
    const where = filterOf(wanted);
    if (where !== null) asked.where = where;
    const key = JSON.stringify(asked);
    if (key !== this.key) await this.search(asked, key);
    else this.explain(wanted.why);
  }

  async search(asked, key) {
    this.key = null;
    const same = (one, other) => JSON.stringify({ ...one, k: 0 }) === JSON.stringify({ ...other, k: 0 });
    const more = this.asked !== null && same(this.asked, asked) && asked.k > this.asked.k;
    const place = more ? find("#list").scrollTop : 0;
    const shown = await fill((signal) => this.ask(asked, signal), (problem) => this.failed(asked, problem));
    if (!shown) return;
    this.key = key;
    this.asked = asked;
    find("#list").scrollTop = this.left?.key === key ? this.left.place : place;
    this.left = null;
    this.onHits(this.hits);
    this.explain(state().why);
    this.surroundings(asked.query);
    this.facets(asked);
    if (asked.within !== undefined) showScope(asked.within);
  }

  async ask(asked, signal) {
    const { hits, seconds } = await api.search(asked, signal);
    this.hits = hits;
    const count = hits.length === 1 ? "1 answer" : `${hits.length} answers`;
    announce(`${count} for ${asked.query}`);
    return [
      el("h1", { class: "hidden", tabindex: "-1" }, `Answers to “${asked.query}”`),
      el("div", { id: "scope" }),
      el("div", { class: "bar-of-tools" },
        el("p", { class: "soft small", id: "count" }, `${count} in ${Math.max(1, Math.round(seconds * 1000))} ms`),
        el("div", { id: "facets" }), hits.length ? exportMenu(asked.query, hits) : ""),
      filterChips(state()),
      el("div", { id: "around" }),
      hits.length ? el("ol", { class: "hits" }, hits.map((hit) => this.hit(hit))) : nothing(),
      hits.length === asked.k && asked.k < MOST ? more(asked.k) : "",
      whyNot(),
    ];
  }

  failed(asked, problem) {
    this.onHits([]);
    const narrow = asked.within !== undefined || asked.where !== undefined;
    const everywhere = narrow && link({ in: null, where: null }, { class: "button" }, "Search everything");
    return failure(problem, () => this.show(state()), everywhere);
  }

  hit(hit) {
    const long = hit.passage.length < hit.text.length || hit.passage.length > 420;
    const title = titleOf(hit);
    const heading = title ?? (tellingId(hit.id) ? hit.id : null);
    const text = el(heading === null ? "span" : "p", { class: "text" }, marked(shortened(hit.passage, 420), hit.matches));
    const all = long && el("button", {
      type: "button", class: "link", onclick: () => (text.replaceChildren(...marked(hit.text, hit.matches, hit.start)), all.remove()),
    }, "Read all of it");
    return el("li", { class: heading === null ? "hit untitled" : "hit", "data-id": hit.id },
      el("div", { class: "line" },
        el("span", { class: "rank", "aria-hidden": "true" }, this.hits.indexOf(hit) + 1),
        el("h3", {}, link({ doc: hit.id, why: null }, {}, heading ?? text)), score(hit)),
      heading === null ? "" : text,
      conceptPath(hit.path),
      el("div", { class: "tools" },
        el("button", {
          type: "button", class: "link reason", "aria-expanded": "false",
          onclick: () => go({ why: state().why === hit.id ? null : hit.id }),
        }, "Why this one"),
        all,
        metadataList(hit.metadata, title),
        heading === hit.id ? "" : el("span", { class: "id" }, hit.id)),
      el("div", { class: "place" }));
  }

  /** Show the explanation of one document: below its answer, or under “Why not?” if it is not among the answers. */
  async explain(id) {
    for (const place of document.querySelectorAll(".place")) place.replaceChildren();
    for (const button of document.querySelectorAll(".reason")) button.setAttribute("aria-expanded", "false");
    if (id === null) {
      this.explaining(() => {}); // abandon a request that is still under way
      return this.onPath([]);
    }
    const hit = [...document.querySelectorAll(".hit")].find((each) => each.dataset.id === id);
    hit?.querySelector(".reason").setAttribute("aria-expanded", "true");
    const place = (hit ?? find("#why-not"))?.querySelector(".place");
    if (!place) return undefined;
    if (!hit) find("#why-not input").value = id;
    place.replaceChildren(el("div", { class: "skeleton tall" }));
    return this.explaining(async (signal) => {
      try {
        const why = await api.explain(state().q, id, signal);
        if (signal.aborted || !place.isConnected) return;
        place.replaceChildren(explanationPanel(why));
        this.onPath(why.path.map((step) => step.concept));
        announce(why.text);
        const shown = hit ?? place; // the answer stays in sight above its explanation, which may be taller than the list
        shown.scrollIntoView({ block: shown.offsetHeight > find("#list").clientHeight ? "start" : "nearest" });
      } catch (problem) {
        if (signal.aborted || !place.isConnected) return;
        this.onPath([]);
        place.replaceChildren(el("p", { class: "notice", role: "alert" }, problem.message));
      }
    });
  }

  /** Above the answers: menus of metadata values to filter by. */
  async facets(asked) {
    const place = find("#facets");
    try {
      place.replaceChildren(...(await facetMenus(asked)));
    } catch {
      // These are extras: the answers are shown without them.
    }
  }

  /** Above the answers: concepts that fit the query, and a notice if the query is unlike every document. */
  async surroundings(query) {
    const place = find("#around");
    try {
      const [{ matches }, novelty] = await Promise.all([api.matches(query, 3), api.novelty(query)]);
      const fitting = matches.map(({ concept }) => concept).filter((concept) => concept.children.length && concept.parent !== null);
      place.replaceChildren(
        novelty.confidence < UNUSUAL && this.hits.length ? el("p", { class: "notice" }, `Take these with care: ${novelty.verdict}.`) : "",
        fitting.length ? el("p", { class: "chips" }, el("span", { class: "soft" }, "Concepts that fit"),
          fitting.map((concept) => link({ at: concept.id }, { class: "chip", title: sized(concept.size) }, nameOf(concept)))) : "");
    } catch {
      // These are extras: the answers are shown without them.
    }
  }
}

function score(hit) {
  const meter = el("span", { class: "meter", "aria-hidden": "true" }, el("span", { class: "dense" }), el("span", { class: "lexical" }));
  meter.style.setProperty("--dense", `${Math.max(0, Math.min(100, 100 * hit.dense))}%`);
  meter.style.setProperty("--lexical", `${Math.max(0, Math.min(100, 100 * hit.lexical))}%`);
  const about = `Score ${hit.score.toFixed(3)}: ${hit.dense.toFixed(3)} by meaning, ${hit.lexical.toFixed(3)} by words`;
  return el("span", { class: "score", title: about }, meter, el("span", { "aria-label": about, role: "img" }, hit.score.toFixed(2)));
}

function more(k) {
  const ask = () => go({ k: Math.min(MOST, k + K), why: null }, { replace: true });
  return el("button", { type: "button", class: "wide", onclick: ask }, "More answers");
}

function nothing() {
  return el("div", { class: "empty" }, el("h2", {}, "No answers"),
    el("p", {}, "Nothing here matches. Try other words, or look around on the map."));
}

function whyNot() {
  const input = el("input", { id: "expected", name: "id", placeholder: "its id, or click it on the map", spellcheck: "false" });
  const ask = (event) => {
    event.preventDefault();
    if (input.value.trim()) go({ why: input.value.trim() });
  };
  return el("section", { id: "why-not" },
    el("form", { onsubmit: ask },
      el("label", { for: "expected" }, "Expected another one?"), input, el("button", { type: "submit" }, "Why not?")),
    el("div", { class: "place" }));
}
