// What lies over the points: labels of regions, the answers of a query, what is chosen, and the lasso.

import { hueOf } from "../themes.js";
import { placedLabels } from "./labels.js";

const CHOSEN = 2000; // points that are drawn one by one when they are chosen

export class Overlay {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.labels = [];
    this.widths = new Map();
  }

  resize(width, height, ratio) {
    this.width = width;
    this.height = height;
    this.canvas.width = Math.max(1, Math.round(width * ratio));
    this.canvas.height = Math.max(1, Math.round(height * ratio));
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  /** Read the colours of the style sheet; returns those of points, by theme: lively, and quiet beside answers. */
  retheme(data) {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(name).trim();
    this.colour = Object.fromEntries(["paper", "ink", "soft", "glow", "accent", "card"].map((name) => [name, of(`--${name}`)]));
    this.font = of("--font") || "sans-serif";
    this.widths.clear();
    const themes = (data?.levels[0]?.regions ?? []).map((region) => hueOf(region.concept));
    const tones = (tone) => ({
      paper: packed(this.colour.paper),
      other: packed(this.colour.soft),
      themes: themes.map((hue) => packed(`oklch(${of(tone)} ${hue})`)),
    });
    return { lively: tones("--plane-tone"), quiet: tones("--plane-quiet") };
  }

  measure(text, look) {
    const key = `${look.size} ${text}`;
    if (!this.widths.has(key)) {
      this.context.font = `${look.weight} ${look.size}px ${this.font}`;
      this.widths.set(key, this.context.measureText(text).width);
    }
    return this.widths.get(key);
  }

  draw(data, camera, marks, diameter) {
    const { context } = this;
    context.clearRect(0, 0, this.width, this.height);
    this.chosen(data, camera, marks.chosen, diameter);
    this.labels = placedLabels(data, camera, (text, look) => this.measure(text, look));
    for (const label of this.labels) this.write(label, marks.region === label.region);
    this.hits(data, camera, marks.hits, diameter);
    if (marks.hover !== null) this.ring(camera.toScreen(data.place(marks.hover)), diameter / 2 + 3, this.colour.ink, 1.5);
    this.line(camera, marks.line);
  }

  /** The region whose label is at a place of the screen. */
  labelAt({ x, y }) {
    const found = this.labels.find(({ box }) => x >= box.left && x <= box.right && y >= box.top && y <= box.bottom);
    return found?.region ?? null;
  }

  write({ x, y, lines, look }, current) {
    const { context, colour } = this;
    context.font = `${look.weight} ${look.size}px ${this.font}`;
    context.textAlign = "center";
    context.textBaseline = "top";
    context.lineJoin = "round";
    context.strokeStyle = colour.paper;
    context.fillStyle = current ? colour.accent : colour.ink;
    context.lineWidth = 4;
    lines.forEach((line, at) => {
      context.globalAlpha = 0.86;
      context.strokeText(line, x, y + at * look.size * 1.2);
      context.globalAlpha = 1;
      context.fillText(line, x, y + at * look.size * 1.2);
    });
  }

  hits(data, camera, hits, diameter) {
    const { context, colour } = this;
    const radius = Math.max(5, diameter / 2 + 2);
    context.save();
    for (const { point } of hits) {
      const { x, y } = camera.toScreen(data.place(point));
      context.shadowColor = context.fillStyle = colour.glow;
      context.shadowBlur = 14;
      context.beginPath();
      context.arc(x, y, radius, 0, 7);
      context.fill();
      context.shadowBlur = 0;
      this.ring({ x, y }, radius, colour.ink, 1.2);
    }
    context.restore();
  }

  chosen(data, camera, points, diameter) {
    const { context, colour } = this;
    context.fillStyle = colour.accent;
    for (const point of points.slice(0, CHOSEN)) {
      const { x, y } = camera.toScreen(data.place(point));
      context.beginPath();
      context.arc(x, y, Math.max(1.6, diameter / 2), 0, 7);
      context.fill();
    }
  }

  ring({ x, y }, radius, colour, width) {
    this.context.strokeStyle = colour;
    this.context.lineWidth = width;
    this.context.beginPath();
    this.context.arc(x, y, radius, 0, 7);
    this.context.stroke();
  }

  line(camera, places) {
    if (places.length < 2) return;
    const { context, colour } = this;
    context.beginPath();
    places.forEach((place, at) => {
      const { x, y } = camera.toScreen(place);
      if (at) context.lineTo(x, y);
      else context.moveTo(x, y);
    });
    context.closePath();
    context.fillStyle = context.strokeStyle = colour.accent;
    context.globalAlpha = 0.12;
    context.fill();
    context.globalAlpha = 1;
    context.lineWidth = 1.5;
    context.setLineDash([5, 4]);
    context.stroke();
    context.setLineDash([]);
  }
}

const sample = document.createElement("canvas").getContext("2d", { willReadFrequently: true });

/** A colour of the style sheet as 0xBBGGRR. */
function packed(colour) {
  sample.fillStyle = colour;
  sample.fillRect(0, 0, 1, 1);
  const [red, green, blue] = sample.getImageData(0, 0, 1, 1).data;
  return red | (green << 8) | (blue << 16);
}
