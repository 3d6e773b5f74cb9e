// The part of the map in view: [y0, y1) of the corpus from top to bottom, and the depth at the left edge.

const MILLISECONDS = 480;
const PARENT = 0.22; // of a column: the strip on the left that leads back up

export class Camera {
  constructor() {
    this.now = { y0: 0, y1: 1, depth: 0 };
    this.flight = null;
  }

  static on(node) {
    return { y0: node.y0, y1: node.y1, depth: Math.max(0, node.depth - PARENT) };
  }

  jump(to) {
    this.now = { ...to };
    this.flight = null;
  }

  fly(to, time, milliseconds = MILLISECONDS) {
    this.flight = { from: { ...this.now }, to, start: time, milliseconds };
  }

  /** Advance the animation; returns whether it goes on. */
  step(time) {
    if (!this.flight) return false;
    const { from, to, start, milliseconds } = this.flight;
    const t = Math.min(1, Math.max(0, (time - start) / milliseconds));
    this.now = between(from, to, 1 - (1 - t) ** 3);
    if (t === 1) this.flight = null;
    return t < 1;
  }

  /** Scale by `factor` about a point (a share of the height), and shift by a share of the height. */
  zoom(factor, about, shift = 0) {
    const { y0, y1, depth } = this.now;
    const span = Math.min(1, Math.max(1e-7, (y1 - y0) / factor));
    const top = y0 + about * (y1 - y0) - about * span - shift * span;
    const start = Math.min(1 - span, Math.max(0, top));
    this.jump({ y0: start, y1: start + span, depth });
  }
}

/** Interpolate. The span shrinks by a constant factor, so that zooming looks even; one point stays in place. */
function between(from, to, t) {
  const before = from.y1 - from.y0;
  const after = to.y1 - to.y0;
  const span = before * (after / before) ** t;
  const share = Math.abs(after - before) < 1e-9 * before ? t : (span - before) / (after - before);
  const y0 = from.y0 + (to.y0 - from.y0) * share;
  return { y0, y1: t === 1 ? to.y1 : y0 + span, depth: from.depth + (to.depth - from.depth) * t };
}
