// The map of concepts: a tree, a layout of the part zoomed to, and what the reader does with them. It knows the data by
// `source` alone.

import { el, find } from "../dom.js";
import { sized } from "../format.js";
import { learnThemes } from "../themes.js";
import { layOut } from "./layout.js";
import { Loader } from "./loader.js";
import { Painter } from "./painter.js";
import { Pointer } from "./pointer.js";
import { Tip } from "./tip.js";
import { Transition } from "./transition.js";
import { Tree } from "./tree.js";

const ANSWERS = 0.6; // share of the area that is divided by answers and not by documents

export class ConceptMap {
  /**
   * `source`: where concepts come from. `map({roots, depth, limit})` and `concept(id)` resolve to what /v1/map and
   * /v1/concepts/{id} return; `forget()` drops what is cached; `complete` is true if the first answer holds all concepts.
   * `onZoom(id)` is called when the reader zooms to a concept (null: everything), `onDocument(node)` when a document is
   * picked.
   */
  constructor({ source, onZoom, onDocument }) {
    this.source = source;
    this.onZoom = onZoom;
    this.onDocument = onDocument;
    this.canvas = find("#canvas");
    this.canvas.map = this; // for the console, and for tests
    this.painter = new Painter(this.canvas);
    this.tip = new Tip(source);
    this.reset();
    new Pointer(this.canvas, this);
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.canvas.addEventListener("blur", () => this.mark({ cursor: null }));
    new ResizeObserver(() => (this.painter.resize(), this.arrange())).observe(this.canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => (this.painter.retheme(), this.paint()));
  }

  /** Forget the tree: another index is shown, or this one has changed. */
  reset() {
    find("#stage").classList.add("waiting");
    this.tree = new Tree();
    this.focus = null;
    this.boxes = [];
    this.shown = [];
    this.transition = null;
    this.marks = { heat: new Map(), hits: [], trace: new Set(), hover: null, cursor: null };
    this.loader = new Loader(this.tree, this.source, {
      onChange: () => (this.note(null), this.arrived()),
      onFailure: (problem) => (problem.status === 404 ? this.renew() : this.note(problem)),
    });
  }

  /** Load the tree again after someone has changed the index, and stay at the same concept. */
  async renew() {
    const { marks, focus } = this;
    this.reset();
    this.source.forget();
    this.mark({ ...marks, hover: null, cursor: null });
    await this.zoomTo(focus?.parent ? focus.id : null, { milliseconds: 1 }).catch(() => this.zoomTo(null));
  }

  // -- marks ---------------------------------------------------------------------------------------

  /** Highlight the answers to a query, best first, and make room for them. A hit has a path of concepts, and a title. */
  async glow(hits) {
    const marked = hits.map((hit) => ({ path: hit.path.map((concept) => concept.id), title: hit.title ?? null }));
    if (!marked.length && !this.marks.hits.length) return;
    const heat = new Map();
    for (const { path } of marked) {
      for (const id of path) heat.set(id, (heat.get(id) ?? 0) + 1);
    }
    this.mark({ hits: marked, heat });
    if (marked.length) await this.loader.paths(marked.map(({ path }) => path)).catch((problem) => this.note(problem));
    if (this.marks.heat === heat && this.focus) this.arrange({ moving: true });
  }

  /** Outline the path to a document. */
  trace(concepts) {
    this.mark({ trace: new Set(concepts.map((concept) => concept.id)) });
  }

  mark(changes) {
    Object.assign(this.marks, changes);
    this.paint();
  }

  // -- moving --------------------------------------------------------------------------------------

  /** Show a concept, or everything. */
  async zoomTo(id, { milliseconds } = {}) {
    await this.loader.start();
    let node = id === null ? this.tree.root : this.tree.nodes.get(id);
    if (!node && id !== null) {
      const { concept } = await this.source.concept(id);
      await this.loader.paths([concept.path]);
      node = this.tree.deepest(concept.path);
    }
    if (node) this.fly(node, milliseconds);
  }

  /** Zoom along a path, one concept after the other, to where a new document lies. */
  async descend(ids) {
    await this.loader.paths([ids]);
    for (const id of ids.slice(1)) {
      const node = this.tree.nodes.get(id);
      if (!node?.inside) break;
      this.fly(node, 650);
      await new Promise((done) => setTimeout(done, calm() ? 0 : 720));
    }
  }

  fly(node, milliseconds) {
    this.focus = node.inside || !node.parent ? node : node.parent;
    this.arrange({ moving: true, milliseconds });
  }

  /** Zoom in to the box at a place, one step, or out of the concept shown. */
  step(inwards, x, y) {
    const inner = this.boxes.find((box) => box.level === 1 && holds(box, x, y))?.node;
    if (inwards && inner?.inside) this.onZoom(inner.id);
    else if (!inwards && this.focus?.parent) this.zoomOut();
  }

  zoomOut() {
    const above = this.focus.parent;
    this.onZoom(above.parent ? above.id : null);
  }

  /** A click, or Enter: zoom to a concept, report a document. */
  pick(node) {
    if (!node.inside) this.onDocument(node);
    else if (node !== this.focus) this.onZoom(node.parent ? node.id : null);
  }

  // -- layout --------------------------------------------------------------------------------------

  /** Lay out what is shown, and move there from what is on the screen. */
  arrange({ moving = false, milliseconds } = {}) {
    if (!this.focus) return this.paint();
    const before = this.shown;
    const isHot = (node) => this.marks.heat.has(node.id);
    this.boxes = layOut(this.focus, this.painter.width, this.painter.height, (node) => this.weight(node), isHot);
    const still = calm() || !moving || !before.length || milliseconds === 1;
    this.transition = still ? null : new Transition(before, this.boxes, performance.now(), milliseconds);
    return this.paint();
  }

  /** Nodes have arrived: lay out again without leaving the way to the place that was aimed at. */
  arrived() {
    find("#stage").classList.remove("waiting");
    if (this.tree.root?.children && this.themed !== this.tree) this.learnThemes();
    const left = this.transition && this.transition.start + this.transition.milliseconds - performance.now();
    this.arrange({ moving: left > 20, milliseconds: left > 20 ? left : undefined });
  }

  learnThemes() {
    this.themed = this.tree;
    learnThemes(this.tree.root.children.map((node) => node.id));
    this.painter.retheme();
  }

  /** The share of a node among its siblings: by documents, and where there are answers, mostly by these. */
  weight(node) {
    const share = node.size / node.parent.size;
    const answers = this.marks.heat.get(node.parent.id) ?? 0;
    if (!answers) return share;
    return (1 - ANSWERS) * share + ANSWERS * ((this.marks.heat.get(node.id) ?? 0) / answers);
  }

  /** Where a concept or document is on the canvas, or null if it is not shown: [left, top, width, height] in pixels. */
  place(id) {
    const box = this.boxes.find(({ node }) => node.id === id);
    return box ? [box.x, box.y, box.w, box.h] : null;
  }

  /** The innermost node at a place of the canvas. */
  under(x, y) {
    return this.boxes.findLast((box) => box.level > 0 && holds(box, x, y))?.node ?? null;
  }

  // -- drawing -------------------------------------------------------------------------------------

  /** Draw at the next frame, once for any number of calls. */
  paint() {
    this.request ??= requestAnimationFrame((time) => this.frame(time));
  }

  frame(time) {
    this.request = null;
    const moving = this.transition?.at(time) ?? null;
    if (!moving) this.transition = null;
    this.shown = moving ?? this.boxes;
    this.painter.draw(this.shown, this.marks, this.tree);
    if (moving) this.paint();
    this.loader.look(this.boxes);
  }

  note(problem) {
    const box = find("#stage-note");
    box.hidden = problem === null;
    box.replaceChildren(problem === null ? "" : el("p", {}, `The map cannot be loaded. ${problem.message}`),
      problem === null ? "" : el("button", { type: "button", onclick: () => this.zoomTo(null) }, "Try again"));
  }

  // -- keys ----------------------------------------------------------------------------------------

  key(event) {
    const cursor = this.marks.cursor ?? this.focus ?? this.tree.root;
    if (!cursor) return;
    const siblings = cursor.parent?.children ?? [cursor];
    const beside = (step) => siblings[siblings.indexOf(cursor) + step] ?? cursor;
    const moves = {
      ArrowRight: () => cursor.children?.[0] ?? cursor,
      ArrowLeft: () => cursor.parent ?? cursor,
      ArrowDown: () => beside(1),
      ArrowUp: () => beside(-1),
    };
    if (moves[event.key]) this.speak(moves[event.key]());
    else if (event.key === "Enter" || event.key === " ") this.pick(cursor);
    else if (["Backspace", "Escape"].includes(event.key) && this.focus?.parent) this.zoomOut();
    else return;
    event.preventDefault();
  }

  speak(node) {
    this.mark({ cursor: node });
    find("#spoken").textContent = node.inside ? `${node.label}, ${sized(node.size)}, level ${node.depth}` : `Document: ${node.label}`;
    if (!this.boxes.some((box) => box.node === node)) this.fly(node.parent ?? node);
  }
}

const holds = (box, x, y) => x >= box.x && y >= box.y && x < box.x + box.w && y < box.y + box.h;

const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
