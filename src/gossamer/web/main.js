// Entry point: the address says what to show; the list and the map show it.

import { landed, openEditor } from "./add.js";
import * as api from "./api.js";
import { Browse } from "./browse.js";
import { DocumentView } from "./document.js";
import { el, failure, find } from "./dom.js";
import { countPassages, titleOf } from "./format.js";
import { askForKey } from "./key.js";
import { ConceptMap } from "./map/map.js";
import { showMapHeader } from "./map_header.js";
import { PlaneView } from "./plane/plane.js";
import { showSelection } from "./plane/selection.js";
import { Results } from "./results.js";
import { go, read, state, subscribe } from "./router.js";

const query = find("#query");
let info = null;

const map = new ConceptMap({
  source: api,
  onZoom: (id) => go({ at: id }, { from: "map" }),
  onDocument: pickDocument,
});
const plane = new PlaneView({
  source: api,
  onZoom: (id) => go({ at: id }, { from: "map" }),
  onDocument: ({ id }) => go(state().q ? { why: id } : { doc: id }),
  onSelect: (selection) => (pane("list"), showSelection(selection)),
});
const results = new Results({ onHits: showHits, onPath: (path) => map.trace(path) });
const browse = new Browse({ onPath: (path) => map.trace(path) });
const documentView = new DocumentView({ onPath: locate, onChanged: renew });

subscribe((now, before, from) => {
  if (now.index !== before.index) return start();
  if (info) show(now, before, from); // else `start` will, when it knows the index
});

async function start() {
  api.use(state().index);
  map.reset();
  plane.reset();
  results.forget();
  try {
    await readInfo();
    show(state(), null, "page");
    listIndexes();
  } catch (problem) {
    find("#list").replaceChildren(failure(problem, start));
    map.note(null);
  }
}

/** Read how many documents the index holds, and whether this key may add to it. */
async function readInfo() {
  info = await api.info();
  countPassages(info.passages !== info.documents);
  find("#add").hidden = !info.writable;
  document.body.classList.toggle("empty-index", !info.documents);
}

function show(now, before, from) {
  document.title = now.q ? `${now.q} · Gossamer` : "Gossamer";
  // What is typed while the page loads stays.
  if (document.activeElement !== query || (before?.q ?? null) !== (now.q ?? null)) query.value = now.q ?? "";
  if (from === "add") return showMapHeader(now);
  if (from === "view") return showView(now);
  if (now.doc) {
    results.leave();
    documentView.show(now, info);
    if (!now.q) showHits([]);
  } else if (now.q) results.show(now);
  else {
    results.forget();
    showHits([]);
    browse.show(now, info);
  }
  if (!info.documents) return;
  showMapHeader(now);
  showView(now);
  if (before === null || now.at !== before.at) zoom(now, before, from);
}

/** Show the map or the plane, as the address says. */
function showView(now) {
  const views = [["Map", null], ["Plane", "plane"]];
  find("#views").hidden = false;
  find("#views").replaceChildren(...views.map(([name, view]) =>
    el("button", { type: "button", "aria-pressed": String(now.view === view), onclick: () => go({ view }, { from: "view" }) }, name)));
  find("#canvas").hidden = now.view === "plane";
  plane.show(now.view === "plane");
  plane.zoomTo(now.at);
}

function showHits(hits) {
  map.glow(hits.map((hit) => ({ path: hit.path, title: titleOf(hit) })));
  plane.glow(hits);
}

/** Outline the path of the document that is shown, and without a query show it on the map. */
function locate(path) {
  map.trace(path);
  if (state().q || state().at !== null) return;
  const at = path.length > 2 ? path.at(-2).id : null;
  showMapHeader({ ...state(), at });
  map.zoomTo(at);
}

/** Ask for everything again: a document was changed or deleted. */
async function renew() {
  api.forget();
  results.forget();
  map.reset();
  await readInfo();
  await map.zoomTo(state().at).catch(() => map.zoomTo(null));
}

/** Zoom to the concept of the address; to everything if the concept no longer exists. */
async function zoom(now, before, from) {
  const here = (map.focus?.parent && map.focus.id) || null;
  if (from === "map" && here === now.at) return;
  if (from === "page" && before !== null && now.q) pane("map");
  try {
    await map.zoomTo(now.at, before === null ? { milliseconds: 1 } : {});
  } catch (problem) {
    if (problem.status === 404) go({ at: null }, { replace: true });
    else map.note(problem);
  }
}

async function pickDocument(node) {
  const { concept } = await api.concept(node.id);
  if (state().q) {
    pane("list");
    go({ why: concept.exemplars[0].id, doc: null });
  } else go({ doc: concept.exemplars[0].id });
}

async function listIndexes() {
  const { indexes } = await api.indexes();
  const select = find("#indexes");
  select.hidden = indexes.length < 2;
  select.replaceChildren(...indexes.map(({ name }) => el("option", { value: name, selected: name === info.name }, name)));
}

/** On a small screen, show the list or the map. */
function pane(name) {
  document.body.dataset.pane = name;
  for (const button of document.querySelectorAll("#panes button")) {
    button.setAttribute("aria-pressed", String(button.dataset.pane === name));
  }
}

find("#search").addEventListener("submit", (event) => {
  event.preventDefault();
  const asked = query.value.trim();
  pane("list");
  if (asked && asked === state().q) results.show(state());
  else go({ q: asked || null, why: null, doc: null, k: null, ...(asked ? {} : { where: null }) });
});
query.addEventListener("search", () => query.value || go({ q: null, why: null, doc: null, where: null, k: null }));
find("#panes").addEventListener("click", (event) => event.target.dataset.pane && pane(event.target.dataset.pane));
find("#indexes").addEventListener("change", (event) => {
  go({ ...read(""), index: event.target.value });
});
find("#add").addEventListener("click", () => openEditor({ onSaved: added }));

async function added(id, text) {
  const path = (await api.explain(text.slice(0, 2000), id)).path.map((step) => step.concept);
  await readInfo();
  map.reset();
  plane.renew();
  results.forget();
  const inner = path.filter((concept) => concept.children.length && concept.parent !== null);
  go({ ...read(""), index: state().index, at: inner.at(-1)?.id ?? null }, { from: "add" });
  landed(id, path);
  map.trace(path);
  map.glow([{ path }]);
  pane(matchMedia("(max-width: 860px)").matches ? "map" : "list");
  map.descend(path.map((concept) => concept.id));
}

/** Close menus that are open, unless the event is inside one. */
function closeMenus(event) {
  for (const menu of document.querySelectorAll(".menu[open]")) {
    if (event.key === "Escape" || !menu.contains(event.target)) menu.open = false;
  }
}

document.addEventListener("pointerdown", closeMenus);
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") closeMenus(event);
  if (event.key !== "/" || event.target.closest("input, textarea, select")) return;
  event.preventDefault();
  query.select();
});

api.onLocked(askForKey);
start();
