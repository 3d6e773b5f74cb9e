// Mouse, pen and touch: hovering shows a tooltip, a click zooms in; the wheel and two fingers zoom by one step at a time.

const TURN = 60; // pixels of the wheel that make a step
const PINCH = 1.25; // how far two fingers spread for a step
const PAUSE = 380; // milliseconds between two steps

export class Pointer {
  constructor(canvas, map) {
    this.map = map;
    this.canvas = canvas;
    this.down = new Map();
    this.turned = 0;
    this.stepped = -Infinity;
    this.spread = null; // distance of two fingers at the last step
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.lift(event));
    canvas.addEventListener("pointercancel", (event) => this.lift(event));
    canvas.addEventListener("pointerleave", () => this.leave());
    canvas.addEventListener("click", (event) => this.click(event));
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  press(event) {
    this.down.set(event.pointerId, this.place(event));
    if (this.down.size === 2) this.spread = this.distance();
  }

  lift(event) {
    this.down.delete(event.pointerId);
    if (this.down.size === 0 && this.spread !== null) setTimeout(() => (this.spread = null)); // after the click it makes
  }

  move(event) {
    const to = this.place(event);
    if (this.down.has(event.pointerId)) this.down.set(event.pointerId, to);
    if (this.down.size === 2) this.pinch();
    else if (event.pointerType !== "touch") this.hover(event, to);
  }

  distance() {
    const [one, other] = this.down.values();
    return Math.max(1, Math.hypot(one.x - other.x, one.y - other.y));
  }

  pinch() {
    const ratio = this.distance() / this.spread;
    if (ratio < PINCH && ratio > 1 / PINCH) return;
    const [one, other] = this.down.values();
    this.spread = this.distance();
    this.step(ratio > 1, (one.x + other.x) / 2, (one.y + other.y) / 2);
  }

  click(event) {
    if (this.spread !== null) return;
    const { x, y } = this.place(event);
    const node = this.map.under(x, y);
    this.leave();
    if (node) this.map.pick(node);
  }

  hover(event, { x, y }) {
    const node = this.map.under(x, y);
    if (node !== this.map.marks.hover) this.map.mark({ hover: node });
    if (node) this.map.tip.show(node, event.clientX, event.clientY);
    else this.map.tip.hide();
  }

  leave() {
    this.map.tip.hide();
    if (this.map.marks.hover) this.map.mark({ hover: null });
  }

  wheel(event) {
    event.preventDefault();
    this.leave();
    this.turned += event.deltaY * (event.deltaMode === 1 ? 16 : 1);
    if (Math.abs(this.turned) < TURN) return;
    const { x, y } = this.place(event);
    this.step(this.turned < 0, x, y);
    this.turned = 0;
  }

  step(inwards, x, y) {
    const now = performance.now();
    if (now - this.stepped < PAUSE) return;
    this.stepped = now;
    this.map.step(inwards, x, y);
  }
}
