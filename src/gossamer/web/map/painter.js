// Draws the icicle on a canvas: one column a level, heights by size. Only nodes in view are visited, so the cost of a
// frame depends on the window and not on the size of the tree.

import { number } from "../format.js";
import { wrap } from "./text.js";

const SMALLEST = 0.8; // pixels: what is thinner is not drawn
const TEXT = 15; // pixels that a line of text needs
const LINE = 16;

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
    this.column = this.width / Math.max(2.4, Math.min(7.4, this.width / 142));
  }

  /** Colours come from the style sheet, which knows about light and dark. */
  retheme() {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(name).trim();
    this.colour = { paper: of("--paper"), ink: of("--ink"), soft: of("--soft"), glow: of("--glow"), accent: of("--accent"), card: of("--card") };
    this.font = style.getPropertyValue("--font").trim() || "sans-serif";
    const light = of("--map-light").split(" ").map(Number);
    this.shades = light.map((lightness) =>
      Array.from({ length: 64 }, (_, at) => `hsl(${205 + (at / 64) * 95} ${of("--map-colour")} ${lightness}%)`));
  }

  x(depth, camera) {
    return (depth - camera.depth) * this.column;
  }

  y(share, camera) {
    return ((share - camera.y0) / (camera.y1 - camera.y0)) * this.height;
  }

  /** `marks`: heat (id to share of the hits), hits (paths), trace (ids), hover and cursor (nodes). */
  draw(tree, camera, marks) {
    const { context, colour } = this;
    context.fillStyle = colour.paper;
    context.fillRect(0, 0, this.width + 1, this.height + 1);
    this.drawn = 0;
    const tall = [];
    if (tree.root) this.boxes(tree.root, camera, marks, tall);
    this.halos(tall, camera, marks);
    this.labels(tall, camera, marks);
    this.outline(marks.hover, camera, colour.ink, 1.5, []);
    this.outline(marks.cursor, camera, colour.accent, 2, [4, 3]);
    this.trace(tree, camera, marks.trace);
    this.hits(tree, camera, marks.hits);
  }

  /** Draw all nodes in view, and collect those with room for text in `tall`. */
  boxes(root, camera, marks, tall) {
    const { context } = this;
    const waiting = [root];
    const quiet = marks.heat.size > 0;
    while (waiting.length) {
      const node = waiting.pop();
      const top = this.y(node.y0, camera);
      const height = this.y(node.y1, camera) - top;
      if (height < SMALLEST || top > this.height || top + height < 0) continue;
      const left = this.x(node.depth, camera);
      if (left > this.width) continue;
      if (left + this.column > 0) {
        const gap = height > 3 ? 1 : 0;
        context.fillStyle = this.fill(node, quiet);
        context.fillRect(left, top, this.column - 1, height - gap);
        if (node.inside && !node.children) this.more(left, top, height - gap);
        const heat = marks.heat.get(node.id);
        if (heat) {
          context.globalAlpha = node.inside ? 0.08 + 0.46 * heat : 1;
          context.fillStyle = this.colour.glow;
          context.fillRect(left, top, this.column - 1, height - gap);
          context.globalAlpha = 1;
        }
        this.drawn += 1;
        if (height >= TEXT) tall.push(node);
      }
      if (node.children) for (const child of node.children) waiting.push(child);
    }
  }

  /** Shade the place of the children of a concept that is not loaded. */
  more(left, top, height) {
    const { context } = this;
    context.globalAlpha = 0.4;
    context.fillRect(left + this.column, top, this.column * 0.5, height);
    context.globalAlpha = 0.15;
    context.fillRect(left + this.column * 1.5, top, this.column * 0.5, height);
    context.globalAlpha = 1;
  }

  fill(node, quiet) {
    if (!node.inside) return this.colour.card;
    const shade = this.shades[(quiet ? 2 : 0) + (node.depth % 2)];
    return shade[Math.min(63, Math.floor(((node.y0 + node.y1) / 2) * 64))];
  }

  /** Draw a glow around documents that are hits. */
  halos(nodes, camera, marks) {
    const { context, colour } = this;
    context.save();
    context.shadowColor = context.fillStyle = colour.glow;
    context.shadowBlur = 18;
    for (const node of nodes) {
      if (node.inside || !marks.heat.has(node.id)) continue;
      const top = this.y(node.y0, camera);
      context.fillRect(this.x(node.depth, camera), top, this.column - 1, this.y(node.y1, camera) - top - 1);
    }
    context.restore();
  }

  labels(nodes, camera, marks) {
    const { context, colour } = this;
    context.textBaseline = "middle";
    for (const node of nodes) {
      const left = Math.max(0, this.x(node.depth, camera)) + 8;
      const right = Math.min(this.x(node.depth + 1, camera), this.width) - (node.inside && marks.heat.has(node.id) ? 18 : 6);
      const top = Math.max(0, this.y(node.y0, camera));
      const bottom = Math.min(this.height, this.y(node.y1, camera));
      const room = bottom - top;
      if (right - left < 28 || room < TEXT) continue;
      const counts = node.inside > 0 && room >= 3 * LINE;
      const most = Math.min(4, Math.max(1, Math.floor(room / LINE) - (counts ? 1 : 0)));
      context.font = `${node.inside ? 500 : 400} 12.5px ${this.font}`;
      const lines = wrap(context, node, node.label, right - left, most);
      const rows = lines.length + (counts ? 1 : 0);
      let y = (top + bottom) / 2 - ((rows - 1) * LINE) / 2;
      context.fillStyle = colour.ink;
      for (const line of lines) {
        context.fillText(line, left, y);
        y += LINE;
      }
      if (counts) {
        context.font = `400 11.5px ${this.font}`;
        context.fillStyle = colour.soft;
        context.fillText(number(node.size), left, y);
      }
    }
  }

  outline(node, camera, colour, width, dash) {
    if (!node) return;
    const { context } = this;
    const top = Math.max(1, this.y(node.y0, camera));
    const bottom = Math.min(this.height - 1, this.y(node.y1, camera) - 1);
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.setLineDash(dash);
    context.strokeRect(this.x(node.depth, camera) + 1, top, this.column - 3, Math.max(2, bottom - top));
    context.setLineDash([]);
  }

  /** Outline the path to the document that is explained. */
  trace(tree, camera, path) {
    for (const id of path) {
      const node = tree.nodes.get(id);
      if (node && node.parent) this.outline(node, camera, this.colour.accent, 1.5, []);
    }
  }

  /** Draw a dot at the last loaded node of each hit's path, unless it is a document large enough to glow. */
  hits(tree, camera, hits) {
    if (!tree.root) return;
    const { context, colour } = this;
    context.save();
    context.shadowColor = context.fillStyle = colour.glow;
    context.strokeStyle = colour.ink;
    context.lineWidth = 1;
    for (const path of hits) {
      const node = tree.deepest(path);
      const y = this.y((node.y0 + node.y1) / 2, camera);
      const x = Math.min(this.width, this.x(node.depth + 1, camera)) - 9;
      const shining = !node.inside && this.y(node.y1, camera) - this.y(node.y0, camera) >= TEXT;
      if (shining || x < 0 || y < 0 || y > this.height) continue;
      context.shadowBlur = 14;
      context.beginPath();
      context.arc(x, y, 4, 0, 7);
      context.fill();
      context.shadowBlur = 0;
      context.stroke();
    }
    context.restore();
  }
}
