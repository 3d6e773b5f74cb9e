// Draws boxes on a canvas. There are only as many as have room, so the cost of a frame depends on the window and not on
// the size of the tree.

import { number } from "../format.js";
import { hueOf } from "../themes.js";
import { wrap } from "./text.js";

const GAP = [0, 4, 3, 2]; // pixels between boxes, by level
const LEAST = { width: 30, height: 16 }; // pixels that a label needs
const BADGE = 18; // pixels

export class Painter {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: false });
    this.drawn = 0;
    this.resize();
    this.retheme();
  }

  resize() {
    const box = this.canvas.getBoundingClientRect();
    const scale = Math.min(2, window.devicePixelRatio || 1);
    this.width = Math.max(1, box.width);
    this.height = Math.max(1, box.height);
    this.canvas.width = Math.ceil(this.width * scale);
    this.canvas.height = Math.ceil(this.height * scale);
    this.context.setTransform(scale, 0, 0, scale, 0, 0);
  }

  /** Colours come from the style sheet, which knows about light and dark. */
  retheme() {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(name).trim();
    this.colour = {
      paper: of("--paper"), ink: of("--ink"), soft: of("--map-soft"), glow: of("--hit"), onGlow: of("--on-hit"), accent: of("--accent"),
    };
    this.font = of("--font") || "sans-serif";
    this.tones = { lively: of("--map-tones").split(","), quiet: of("--map-quiet").split(",") };
    this.fills = new Map();
  }

  /** `marks`: hits (path and title of each), heat (id to number of hits), trace (ids), hover and cursor (nodes). */
  draw(boxes, marks, tree) {
    const { context, colour } = this;
    context.fillStyle = colour.paper;
    context.fillRect(0, 0, this.width + 1, this.height + 1);
    context.textBaseline = "middle";
    const ranks = this.ranks(boxes, marks, tree);
    this.drawn = 0;
    for (const box of boxes) {
      if (box.level === 0 || box.x > this.width || box.y > this.height || box.x + box.w < 0 || box.y + box.h < 0) continue;
      context.globalAlpha = box.alpha ?? 1;
      this.box(inset(box), marks, ranks.get(box.node.id) ?? []);
      this.drawn += 1;
    }
    context.globalAlpha = 1;
    for (const box of boxes) {
      if (marks.trace.has(box.node.id) && box.level > 0) this.outline(inset(box), colour.accent, 2, []);
    }
    this.outline(boxOf(boxes, marks.hover), colour.ink, 1.5, []);
    this.outline(boxOf(boxes, marks.cursor), colour.accent, 2.5, [5, 3]);
  }

  /** For the innermost box of each hit, the numbers of its hits and the title of the first. */
  ranks(boxes, marks, tree) {
    const shown = new Set(boxes.map((box) => box.node.id));
    const found = new Map();
    marks.hits.forEach(({ path, title }, at) => {
      const id = path.findLast((each) => shown.has(each) && tree.nodes.has(each));
      if (id === undefined) return;
      if (!found.has(id)) found.set(id, []);
      found.get(id).push({ rank: at + 1, title });
    });
    return found;
  }

  box(box, marks, hits) {
    const { context, colour } = this;
    const { node, x, y, w, h } = box;
    if (w <= 0 || h <= 0) return;
    const isHit = hits.length > 0 && !node.inside;
    context.fillStyle = isHit ? colour.glow : this.fill(box, marks);
    context.beginPath();
    context.roundRect(x, y, w, h, Math.min(box.level === 1 ? 8 : 5, w / 4, h / 4));
    context.fill();
    if (hits.length && node.inside) this.outline(box, colour.glow, 2, []);
    const badges = hits.length ? this.badges(box, hits.map(({ rank }) => rank), isHit) : 0;
    const label = (isHit && hits[0].title) || node.label;
    if (box.open) this.heading(box, label, isHit ? 0 : badges);
    else if (w >= LEAST.width && h >= LEAST.height) this.name(box, label, badges, isHit);
  }

  /** The colour of a box: the hue of its theme, turned a little by its own id, and a tone by its level. */
  fill({ node, level, open }, marks) {
    const quiet = marks.heat.size > 0 && !marks.heat.has(node.id);
    const tone = !node.inside ? 0 : level === 1 ? (open ? 1 : 2) : open && level % 2 === 0 ? 2 : 3;
    const turn = (((Math.imul(node.id, 2654435761) >>> 0) % 5) - 2) * 4;
    const key = `${node.theme} ${tone} ${turn} ${quiet}`;
    let found = this.fills.get(key);
    if (!found) {
      found = `oklch(${this.tones[quiet ? "quiet" : "lively"][tone]} ${hueOf(node.theme) + turn})`;
      this.fills.set(key, found);
    }
    return found;
  }

  heading({ node, x, y, w, head, level }, label, badges) {
    const { context, colour } = this;
    if (w < LEAST.width || !head) return;
    const middle = Math.round(y + head / 2 + 1);
    const count = number(node.size);
    context.font = `400 11px ${this.font}`;
    const beside = w > 150 ? context.measureText(count).width + 14 : 0;
    if (beside) {
      context.fillStyle = colour.soft;
      context.fillText(count, Math.round(x + w - beside + 6 - badges), middle);
    }
    context.font = `600 ${level === 1 ? 13.5 : 12.5}px ${this.font}`;
    context.fillStyle = colour.ink;
    context.fillText(wrap(context, node, label, w - 16 - beside - badges, 1)[0], Math.round(x + 9), middle);
  }

  /** The name of a box that shows nothing inside, and its size where there is room. */
  name({ node, x, y, w, h }, label, badges, isHit) {
    const { context, colour } = this;
    const large = w > 150 && h > 90;
    const size = large ? 13.5 : 12;
    const line = Math.round(size * 1.3);
    const edge = w > 60 ? 8 : 4;
    const top = isHit && h > 44 ? BADGE + 6 : 0;
    const counts = node.inside > 0 && h - top >= 3 * line;
    const most = Math.max(1, Math.floor((h - top - 6) / line) - (counts ? 1 : 0));
    const beside = badges && !top && h < 44 ? badges : 0;
    context.font = `${node.inside ? 500 : 400} ${size}px ${this.font}`;
    context.fillStyle = isHit ? colour.onGlow : colour.ink;
    const lines = wrap(context, node, label, w - 2 * edge - beside, Math.min(most, 12));
    const left = Math.round(x + edge + beside);
    let at = Math.round(h < 2 * line ? y + h / 2 : y + top + line / 2 + 5);
    for (const text of lines) {
      context.fillText(text, left, at);
      at += line;
    }
    if (counts) {
      context.font = `400 11px ${this.font}`;
      context.fillStyle = colour.soft;
      context.fillText(number(node.size), left, at + 1);
    }
  }

  /** The numbers of hits: at the left of a document, at the right of a concept. Returns the width they take. */
  badges({ x, y, w, h, open, head }, ranks, isHit) {
    const { context, colour } = this;
    if (w < BADGE + 2 || h < 14) return 0;
    const most = Math.max(1, Math.floor((w - 8) / (BADGE + 3)));
    const shown = ranks.length > most ? [...ranks.slice(0, most - 1), "+"] : ranks;
    const width = shown.length * (BADGE + 3);
    const middle = open ? y + head / 2 : isHit ? y + Math.min(BADGE / 2 + 5, h / 2) : y + h - BADGE / 2 - 4;
    let at = (isHit ? x + 6 : x + w - width - 3) + BADGE / 2;
    context.textAlign = "center";
    context.font = `650 11px ${this.font}`;
    for (const rank of shown) {
      context.fillStyle = isHit ? colour.onGlow : colour.glow;
      context.beginPath();
      context.arc(at, middle, BADGE / 2, 0, 7);
      context.fill();
      context.fillStyle = isHit ? colour.glow : colour.onGlow;
      context.fillText(rank, at, middle + 0.5);
      at += BADGE + 3;
    }
    context.textAlign = "left";
    return width;
  }

  outline(box, colour, width, dash) {
    if (!box) return;
    const { context } = this;
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.setLineDash(dash);
    context.beginPath();
    context.roundRect(box.x + 0.5, box.y + 0.5, Math.max(2, box.w - 1), Math.max(2, box.h - 1), Math.min(box.level === 1 ? 8 : 5, box.w / 4, box.h / 4));
    context.stroke();
    context.setLineDash([]);
  }
}

function boxOf(boxes, node) {
  const box = node && boxes.find((each) => each.node === node);
  return box && box.level > 0 ? inset(box) : null;
}

/** The box without the gap to its neighbours. */
function inset(box) {
  const gap = Math.min(GAP[Math.min(box.level, GAP.length - 1)], box.w / 3, box.h / 3);
  return { ...box, x: box.x + gap / 2, y: box.y + gap / 2, w: box.w - gap, h: box.h - gap };
}
