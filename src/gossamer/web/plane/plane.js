// The plane: documents as points, concepts as regions with labels. It knows the data by `source` alone.

import { el, find } from "../dom.js";
import { documents } from "../format.js";
import { learnThemes } from "../themes.js";
import { Camera } from "./camera.js";
import { PlaneData } from "./data.js";
import { Overlay } from "./overlay.js";
import { Pointer } from "./pointer.js";
import { PointPainter } from "./points.js";
import { PointTip } from "./tip.js";

const REACH = 9; // pixels from the pointer within which a point is picked
const SETTLED = 260; // milliseconds after the last turn of the wheel
const EVERYTHING = { x: 0.5, y: 0.5, zoom: 1 };

export class PlaneView {
  /**
   * `source`: `plane()` resolves to the bytes of /v1/plane, `planeRegions(level)` and `planeDocuments(asked)` to what
   * these routes return, `concept(id)` to what /v1/concepts/{id} returns. `onZoom(id)` is called when the reader zooms to
   * a concept (null: everything), `onDocument(id)` when a document is picked, `onSelect(selection)` after a lasso.
   */
  constructor({ source, onZoom, onDocument, onSelect }) {
    this.source = source;
    this.onZoom = onZoom;
    this.onDocument = onDocument;
    this.onSelect = onSelect;
    this.build();
    this.camera = new Camera();
    this.points = new PointPainter(this.pixels);
    this.overlay = new Overlay(this.canvas);
    this.tip = new PointTip((point) => this.documentAt(point));
    this.reset();
    new Pointer(this.canvas, this);
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.resize()).observe(this.box);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => (this.retheme(), this.paint()));
  }

  build() {
    this.pixels = el("canvas", { class: "points", "aria-hidden": "true", "aria-label": "Points" });
    this.canvas = el("canvas", {
      class: "over", tabindex: "0", role: "application", "aria-roledescription": "plane of documents", "aria-describedby": "plane-keys",
      "aria-label": "Plane of documents: near each other where they are alike, concepts as regions",
    });
    this.lasso = el("button", { type: "button", class: "tool", "aria-pressed": "false", title: "Draw around documents (or hold Shift)", onclick: () => this.arm(!this.lassoing) }, "Lasso");
    this.box = el("div", { id: "plane", hidden: true }, this.pixels, this.canvas,
      el("p", { id: "plane-keys", class: "hidden" }, "Arrow keys move, plus and minus zoom, Enter opens the concept in the middle, Backspace zooms out, L switches the lasso."),
      el("div", { class: "tools-of-plane" },
        el("button", { type: "button", class: "tool", "aria-label": "Zoom in", onclick: () => this.zoomBy(1.6) }, "+"),
        el("button", { type: "button", class: "tool", "aria-label": "Zoom out", onclick: () => this.zoomBy(1 / 1.6) }, "−"), this.lasso),
      (this.note = el("p", { class: "plane-note", role: "status", hidden: true })));
    find("#stage").append(this.box);
  }

  /** Forget the points: another index is shown, or this one has changed. */
  reset() {
    this.data = null;
    this.loading = null;
    this.marks = { hits: [], chosen: [], hover: null, line: [], region: null };
    this.texts = new Map();
    this.wanted = null; // what to zoom to when points have come
    this.lassoing = false;
    this.turn = (this.turn ?? 0) + 1;
  }

  get shown() {
    return !this.box.hidden;
  }

  show(visible) {
    this.box.hidden = !visible;
    if (visible) this.load();
    else this.tip.hide();
  }

  /** Load the points, once, and then the labels of one level after the other. */
  load() {
    this.loading ??= this.fetch().catch((problem) => {
      this.loading = null;
      this.tell(`The plane cannot be loaded. ${problem.message}`, () => this.load());
    });
    return this.loading;
  }

  async fetch() {
    const turn = this.turn;
    const slow = setTimeout(() => this.tell("Laying out all documents. The first time takes a few seconds."), 400);
    let data;
    try {
      data = new PlaneData(await this.source.plane());
    } finally {
      clearTimeout(slow);
    }
    if (turn !== this.turn) return;
    this.data = data;
    learnThemes((data.levels[0]?.regions ?? []).map((region) => region.concept));
    this.tell(null);
    this.resize();
    this.retheme();
    this.camera.jump(EVERYTHING);
    if (this.hits) this.glow(this.hits);
    if (this.wanted !== null) this.zoomTo(this.wanted, { still: true });
    this.paint();
    for (let level = 1; level <= data.levels.length; level++) await this.label(level, turn);
  }

  async label(level, turn) {
    const { regions } = await this.source.planeRegions(level);
    if (turn !== this.turn) return;
    for (const { concept, label } of regions) {
      const region = this.data.regions.get(concept);
      if (region) Object.assign(region, { label, lines: null });
    }
    this.paint();
  }

  /** Load everything again, since the index has changed; the view stays. */
  async renew() {
    const { hits, camera: { now } } = this;
    this.reset();
    this.hits = hits;
    if (!this.shown) return;
    await this.load();
    this.camera.jump(now);
    this.paint();
  }

  // -- marks ---------------------------------------------------------------------------------------

  /** Highlight the answers to a query. */
  async glow(hits) {
    this.hits = hits;
    if (!this.data) return;
    const ids = hits.map((hit) => hit.id);
    const found = ids.length ? await this.ask({ ids }) : [];
    if (this.hits !== hits) return;
    const rank = new Map(ids.map((id, at) => [id, at + 1]));
    this.mark({ hits: found.map(({ point, id }) => ({ point, rank: rank.get(id) })) });
  }

  mark(changes) {
    Object.assign(this.marks, changes);
    this.paint();
  }

  async documentAt(point) {
    if (!this.texts.has(point)) {
      const [found] = await this.ask({ points: [point] });
      this.texts.set(point, found ?? null);
    }
    return this.texts.get(point);
  }

  /** Documents of points, or points of documents. A plane that the server has forgotten is loaded again. */
  async ask(asked) {
    try {
      return (await this.source.planeDocuments({ operation: this.data.operation, ...asked })).documents;
    } catch (problem) {
      if (problem.status === 404) this.renew();
      return [];
    }
  }

  // -- moving --------------------------------------------------------------------------------------

  /** Show the region of a concept; one that has none is shown by the smallest region around it. */
  async zoomTo(id, { still = false } = {}) {
    this.wanted = id;
    if (!this.data || !this.shown) return;
    let region = id === null ? null : this.data.regions.get(id);
    if (id !== null && !region) {
      const { concept } = await this.source.concept(id).catch(() => ({ concept: { path: [] } }));
      region = concept.path.map((each) => this.data.regions.get(each)).findLast((each) => each) ?? null;
      if (this.wanted !== id) return;
    }
    this.marks.region = region ?? null;
    this.fly(region ? this.camera.on(region) : EVERYTHING, still);
  }

  fly(to, still = false) {
    if (still || matchMedia("(prefers-reduced-motion: reduce)").matches) this.camera.jump(to);
    else this.camera.fly(to, performance.now());
    this.paint();
  }

  /** Zoom about a place of the screen, and move by pixels. */
  move(factor, x, y, dx = 0, dy = 0) {
    this.camera.zoom(factor, x, y, dx, dy);
    this.tip.hide();
    this.paint();
  }

  zoomBy(factor) {
    this.move(factor, this.camera.width / 2, this.camera.height / 2);
    this.settle();
  }

  /** Say what is in the middle once the view has come to rest. */
  settle() {
    clearTimeout(this.settling);
    this.settling = setTimeout(() => {
      const region = this.middle();
      if (region?.label) find("#spoken").textContent = `${region.label}, ${documents(region.size)}`;
    }, SETTLED);
  }

  // -- picking -------------------------------------------------------------------------------------

  /** The level whose labels are shown at this zoom, from 1. */
  get level() {
    const { zoom } = this.camera.now;
    return zoom < 2.2 ? 1 : zoom < 6 ? 2 : 3;
  }

  /** The region in the middle of the view. */
  middle() {
    const point = this.data?.nearest(this.camera.now.x, this.camera.now.y, 0.3 / this.camera.now.zoom) ?? null;
    return point === null ? null : this.data.regionOf(point, this.level);
  }

  pointAt({ x, y }, reach = REACH) {
    const place = this.camera.toPlane(x, y);
    return this.data?.nearest(place.x, place.y, reach / this.camera.scale) ?? null;
  }

  hover(at, clientX = 0, clientY = 0) {
    const label = at && this.overlay.labelAt(at);
    const point = at && !label ? this.pointAt(at) : null;
    if (this.marks.hover !== point) this.mark({ hover: point });
    this.canvas.classList.toggle("picks", Boolean(label) || point !== null);
    if (label) this.tip.region(label, clientX, clientY);
    else if (point === null) this.tip.hide();
    else this.tip.point(point, this.data.regionOf(point, 3), clientX, clientY);
  }

  /** A click: a label or an empty place gives the concept there, a point its document. */
  async pick(at) {
    const label = this.overlay.labelAt(at);
    const point = label ? null : this.pointAt(at);
    if (label) return this.onZoom(label.concept);
    if (point !== null) {
      this.mark({ chosen: [point] });
      const found = await this.documentAt(point);
      if (found) this.onDocument(found);
      return undefined;
    }
    const near = this.pointAt(at, 48);
    const region = near === null ? null : this.data.regionOf(near, this.level);
    if (region) this.onZoom(region.concept);
    return undefined;
  }

  // -- lasso ---------------------------------------------------------------------------------------

  arm(on) {
    this.lassoing = on;
    this.lasso.setAttribute("aria-pressed", String(on));
    this.canvas.classList.toggle("draws", on);
  }

  /** Add a place to the lasso; null takes it away. */
  draw(at, begin = false) {
    this.mark({ line: at === null ? [] : begin ? [this.camera.toPlane(at.x, at.y)] : [...this.marks.line, this.camera.toPlane(at.x, at.y)] });
  }

  enclose() {
    const chosen = this.data && this.marks.line.length > 2 ? this.data.inside(this.marks.line) : [];
    this.mark({ line: [], chosen });
    this.arm(false);
    if (chosen.length) this.onSelect(this.selection(chosen));
  }

  /** Points as documents to be read, and the concepts that most of them lie in. */
  selection(points) {
    const counts = new Map();
    for (const point of points) {
      for (let at = 1; at <= this.data.levels.length; at++) {
        const region = this.data.regionOf(point, at);
        if (region && region.level === at) counts.set(region, (counts.get(region) ?? 0) + 1);
      }
    }
    const concepts = [...counts].filter(([region, count]) => region.label && count >= 0.15 * points.length)
      .sort(([one, most], [other, least]) => other.level - one.level || least - most)
      .map(([region, count]) => ({ concept: region.concept, label: region.label, size: region.size, count }));
    return { size: points.length, concepts, read: (from, to) => this.ask({ points: points.slice(from, to) }) };
  }

  // -- keys ----------------------------------------------------------------------------------------

  key(event) {
    const step = Math.min(this.camera.width, this.camera.height) / 5;
    const moves = { ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
    const middle = [this.camera.width / 2, this.camera.height / 2];
    if (moves[event.key]) {
      this.move(1, ...middle, ...moves[event.key]);
      this.settle();
    } else if (event.key === "+" || event.key === "=") this.zoomBy(1.5);
    else if (event.key === "-") this.zoomBy(1 / 1.5);
    else if (event.key === "0") this.onZoom(null);
    else if (event.key === "l" || event.key === "L") this.arm(!this.lassoing);
    else if (event.key === "Enter" || event.key === " ") this.enter();
    else if (event.key === "Escape" && (this.lassoing || this.marks.chosen.length)) (this.arm(false), this.mark({ chosen: [], line: [] }));
    else if (event.key === "Backspace" || event.key === "Escape") this.out();
    else return;
    event.preventDefault();
  }

  enter() {
    const region = this.middle();
    if (region) this.onZoom(region.concept);
  }

  async out() {
    const here = this.marks.region;
    if (!here) return this.zoomBy(1 / 2);
    const { path } = (await this.source.concept(here.concept)).concept;
    return this.onZoom(path.length > 2 ? path.at(-2) : null);
  }

  // -- drawing -------------------------------------------------------------------------------------

  resize() {
    const { width, height } = this.box.getBoundingClientRect();
    if (!width || !height) return;
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    this.camera.resize(width, height);
    this.points.resize(width, height, ratio);
    this.overlay.resize(width, height, ratio);
    this.frame(performance.now()); // at once: canvases are empty after they were resized
  }

  retheme() {
    this.colours = this.overlay.retheme(this.data);
  }

  /** Draw at the next frame, once for any number of calls. */
  paint() {
    this.request ??= requestAnimationFrame((time) => this.frame(time));
  }

  frame(time) {
    this.request = null;
    if (!this.shown || !this.data || !this.colours) return;
    const flying = this.camera.step(time);
    const quiet = this.marks.hits.length > 0 || this.marks.chosen.length > 0;
    this.points.draw(this.data, this.camera, quiet ? this.colours.quiet : this.colours.lively);
    this.overlay.draw(this.data, this.camera, this.marks, this.points.diameter(this.data, this.camera));
    if (flying) this.paint();
  }

  tell(text, again = null) {
    this.note.hidden = text === null;
    this.note.replaceChildren(text ?? "", again ? el("button", { type: "button", class: "link", onclick: again }, "Try again") : "");
  }
}
