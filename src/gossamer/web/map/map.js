// The map of concepts: a tree, a camera on it, and what the reader does with them. It knows the data by `source` alone.

import { el, find } from "../dom.js";
import { documents } from "../format.js";
import { Camera } from "./camera.js";
import { Loader } from "./loader.js";
import { Painter } from "./painter.js";
import { Pointer } from "./pointer.js";
import { Tip } from "./tip.js";
import { Tree } from "./tree.js";

const SETTLED = 220; // milliseconds after the last turn of the wheel

export class ConceptMap {
  /**
   * `source`: where concepts come from. `map({root, depth, limit})` and `concept(id)` resolve to what /v1/map and
   * /v1/concepts/{id} return; `forget()` drops what is cached; `complete` is true if the first answer holds all concepts.
   * `onZoom(id)` is called when the reader zooms to a concept (null: everything), `onDocument(node)` when a document is
   * picked.
   */
  constructor({ source, onZoom, onDocument }) {
    this.source = source;
    this.onZoom = onZoom;
    this.onDocument = onDocument;
    this.canvas = find("#canvas");
    this.painter = new Painter(this.canvas);
    this.tip = new Tip(source);
    this.reset();
    new Pointer(this.canvas, this);
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.canvas.addEventListener("blur", () => this.mark({ cursor: null }));
    new ResizeObserver(() => (this.painter.resize(), this.paint())).observe(this.canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => (this.painter.retheme(), this.paint()));
  }

  /** Forget the tree: another index is shown, or this one has changed. */
  reset() {
    this.tree = new Tree();
    this.camera = new Camera();
    this.focus = null;
    this.marks = { heat: new Map(), hits: [], trace: [], hover: null, cursor: null };
    this.loader = new Loader(this.tree, this.source, {
      onChange: () => (this.note(null), this.paint()),
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

  /** Highlight the hits of a query. */
  glow(hits) {
    const paths = hits.map((hit) => hit.path.map((concept) => concept.id));
    const heat = new Map();
    for (const path of paths) {
      for (const id of path.slice(1)) heat.set(id, (heat.get(id) ?? 0) + 1 / paths.length);
    }
    this.mark({ hits: paths, heat });
  }

  /** Outline the path to a document. */
  trace(concepts) {
    this.mark({ trace: concepts.map((concept) => concept.id) });
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
      await this.loader.path(concept.path);
      node = this.tree.deepest(concept.path);
    }
    if (node) this.fly(node, milliseconds);
  }

  /** Zoom along a path, one concept after the other, to where a new document lies. */
  async descend(ids) {
    await this.loader.path(ids);
    for (const id of ids.slice(1)) {
      const node = this.tree.nodes.get(id);
      if (!node) break;
      this.fly(node, 650);
      await new Promise((done) => setTimeout(done, calm() ? 0 : 720));
    }
  }

  fly(node, milliseconds) {
    const target = node.inside || !node.parent ? node : node.parent;
    this.focus = target;
    if (calm()) this.camera.jump(Camera.on(target));
    else this.camera.fly(Camera.on(target), performance.now(), milliseconds);
    this.paint();
  }

  /** Zoom about a point of the picture; the first column shown follows the concept that fills the picture. */
  scale(factor, about, shift) {
    this.camera.zoom(factor, about, shift);
    const { y0, y1 } = this.camera.now;
    const covering = this.tree.covering(y0, y1);
    if (covering && covering !== this.focus) this.focus = covering;
    this.drift();
    this.paint();
    clearTimeout(this.settling);
    this.settling = setTimeout(() => this.focus && this.onZoom(this.focus.parent ? this.focus.id : null), SETTLED);
  }

  /** Move the columns one step towards the focus. */
  drift() {
    const aim = this.focus ? Camera.on(this.focus).depth : 0;
    this.camera.now.depth += (aim - this.camera.now.depth) * 0.22;
    this.drifting = Math.abs(aim - this.camera.now.depth) > 0.002;
  }

  /** A click, or Enter: zoom to a concept, or out of the one in focus; report a document. */
  pick(node) {
    if (!node.inside) this.onDocument(node);
    else this.onZoom(node === this.focus ? node.parent?.parent ? node.parent.id : null : node.parent ? node.id : null);
  }

  // -- drawing -------------------------------------------------------------------------------------

  /** Draw at the next frame, once for any number of calls. */
  paint() {
    this.request ??= requestAnimationFrame((time) => this.frame(time));
  }

  frame(time) {
    this.request = null;
    const flying = this.camera.step(time);
    if (!flying && this.drifting) this.drift();
    this.painter.draw(this.tree, this.camera.now, this.marks);
    if (flying || this.drifting) this.paint();
    this.loader.look(this.painter, this.camera.now);
  }

  note(problem) {
    const box = find("#stage-note");
    box.hidden = problem === null;
    box.replaceChildren(problem === null ? "" : el("p", {}, `The map cannot be loaded. ${problem.message}`),
      problem === null ? "" : el("button", { type: "button", onclick: () => this.loader.start() }, "Try again"));
  }

  /** The node at a place of the canvas. */
  under(x, y) {
    const { y0, y1, depth } = this.camera.now;
    const level = Math.floor(depth + x / this.painter.column);
    const node = this.tree.at(y0 + (y / this.painter.height) * (y1 - y0), level);
    return node && node.depth === level ? node : null;
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
    else if (["Backspace", "Escape"].includes(event.key) && this.focus?.parent) this.onZoom(this.focus.parent.parent ? this.focus.parent.id : null);
    else return;
    event.preventDefault();
  }

  speak(node) {
    this.mark({ cursor: node });
    find("#spoken").textContent = node.inside ? `${node.label}, ${documents(node.size)}, level ${node.depth}` : `Document: ${node.label}`;
    const { y0, y1 } = this.camera.now;
    if (node.y0 < y0 || node.y1 > y1 || node.depth + 1 < this.camera.now.depth) this.fly(node.parent ?? node);
  }
}

const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
