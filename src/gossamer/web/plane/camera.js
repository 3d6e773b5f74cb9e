// The part of the plane in view: the place in the middle, and how many times larger than "everything fits" it is drawn.

const MILLISECONDS = 520;
const FARTHEST = 0.8;
const NEAREST = 400;

export class Camera {
  constructor() {
    this.now = { x: 0.5, y: 0.5, zoom: 1 };
    this.flight = null;
    this.resize(1, 1);
  }

  resize(width, height) {
    this.width = width;
    this.height = height;
  }

  /** Pixels that the unit square is wide. */
  get scale() {
    return Math.min(this.width, this.height) * this.now.zoom;
  }

  toScreen({ x, y }) {
    return { x: this.width / 2 + (x - this.now.x) * this.scale, y: this.height / 2 + (y - this.now.y) * this.scale };
  }

  toPlane(x, y) {
    return { x: this.now.x + (x - this.width / 2) / this.scale, y: this.now.y + (y - this.height / 2) / this.scale };
  }

  /** The view of a disc, with room around it. */
  on({ x, y, radius }, room = 1.35) {
    const zoom = Math.min(this.width, this.height) / (2 * Math.max(radius, 1e-4) * room) / Math.min(this.width, this.height);
    return { x, y, zoom: clamp(zoom, FARTHEST, NEAREST) };
  }

  jump(to) {
    this.now = { ...to };
    this.flight = null;
  }

  fly(to, time) {
    this.flight = { from: { ...this.now }, to, start: time };
  }

  /** Advance the animation; returns whether it goes on. */
  step(time) {
    if (!this.flight) return false;
    const { from, to, start } = this.flight;
    const t = Math.min(1, Math.max(0, (time - start) / MILLISECONDS));
    this.now = between(from, to, 1 - (1 - t) ** 3);
    if (t === 1) this.flight = null;
    return t < 1;
  }

  /** Scale by `factor` about a place of the screen, then move by pixels. */
  zoom(factor, x, y, dx = 0, dy = 0) {
    const fixed = this.toPlane(x, y);
    this.flight = null;
    this.now.zoom = clamp(this.now.zoom * factor, FARTHEST, NEAREST);
    this.now.x = clamp(fixed.x - (x + dx - this.width / 2) / this.scale, 0, 1);
    this.now.y = clamp(fixed.y - (y + dy - this.height / 2) / this.scale, 0, 1);
  }
}

/** Interpolate: the zoom by a constant factor, so that it looks even, and places such that one of them stays fixed. */
function between(from, to, t) {
  if (t === 1) return { ...to };
  const zoom = from.zoom * (to.zoom / from.zoom) ** t;
  const even = Math.abs(to.zoom - from.zoom) < 1e-6 * from.zoom;
  const share = even ? t : (1 / zoom - 1 / from.zoom) / (1 / to.zoom - 1 / from.zoom);
  return { x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share, zoom };
}

const clamp = (value, least, most) => Math.min(most, Math.max(least, value));
