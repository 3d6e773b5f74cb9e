// Entry point: the address says what to show; the list and the map show it.

import { landed, openAdd } from "./add.js";
import * as api from "./api.js";
import { Browse } from "./browse.js";
import { el, failure, find } from "./dom.js";
import { askForKey } from "./key.js";
import { ConceptMap } from "./map/map.js";
import { showMapHeader } from "./map_header.js";
import { PlaneView } from "./plane/plane.js";
import { showDocument, showSelection } from "./plane/selection.js";
import { Results } from "./results.js";
import { go, state, subscribe } from "./router.js";

const query = find("#query");
let info = null;
let answers = null;

const map = new ConceptMap({
  source: api,
  onZoom: (id) => go({ at: id }, { from: "map" }),
  onDocument: pickDocument,
});
const plane = new PlaneView({
  source: api,
  onZoom: (id) => go({ at: id }, { from: "map" }),
  onDocument: ({ id }) => (state().q ? go({ why: id }) : showDocument(id, api.documentOf)),
  onSelect: (selection) => (pane("list"), showSelection(selection)),
});
const results = new Results({ onHits: showHits, onPath: (path) => map.trace(path) });
const browse = new Browse({ onPath: (path) => map.trace(path) });

subscribe((now, before, from) => {
  if (now.index !== before.index) return start();
  show(now, before, from);
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
  find("#add").hidden = !info.writable;
  document.body.classList.toggle("empty-index", !info.documents);
}

function show(now, before, from) {
  document.title = now.q ? `${now.q} · Gossamer` : "Gossamer";
  if (document.activeElement !== query || before?.q !== now.q) query.value = now.q ?? "";
  if (from === "add") return showMapHeader(now);
  if (from === "view") return showView(now);
  if (now.q) results.show(now);
  else {
    results.forget();
    showHits([]);
    browse.show(now, info);
  }
  if (!info.documents) return;
  showMapHeader(now, answers);
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
  map.glow(hits);
  plane.glow(hits);
  answers = shared(hits.map((hit) => hit.path.map((concept) => concept.id)));
  showMapHeader(state(), answers);
}

/** The deepest concept below the root that is on all paths, or null. */
function shared(paths) {
  const [first = [], ...others] = paths;
  const common = first.slice(1, -1).filter((id, at) => others.every((path) => path[at + 1] === id));
  return common.at(-1) ?? null;
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
    go({ why: concept.exemplars[0].id });
  } else go({ at: concept.id }, { from: "page" });
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
  else go({ q: asked || null, why: null, k: null });
});
query.addEventListener("search", () => query.value || go({ q: null, why: null, k: null }));
find("#panes").addEventListener("click", (event) => event.target.dataset.pane && pane(event.target.dataset.pane));
find("#indexes").addEventListener("change", (event) => {
  go({ index: event.target.value, q: null, in: null, at: null, why: null, k: null });
});
find("#add").addEventListener("click", () => openAdd(async (id, path) => {
  await readInfo();
  map.reset();
  plane.renew();
  results.forget();
  const inner = path.filter((concept) => concept.children.length && concept.parent !== null);
  go({ q: null, in: null, why: null, k: null, at: inner.at(-1)?.id ?? null }, { from: "add" });
  landed(id, path);
  map.trace(path);
  map.glow([{ path }]);
  pane(matchMedia("(max-width: 860px)").matches ? "map" : "list");
  await map.descend(path.map((concept) => concept.id));
}));
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target.closest("input, textarea, select")) return;
  event.preventDefault();
  query.select();
});

api.onLocked(askForKey);
start();
