// Mouse, pen and touch: hovering shows a tooltip, a click zooms in, the wheel and two fingers zoom, dragging moves.

const STILL = 5; // pixels: less is a click

export class Pointer {
  constructor(canvas, map) {
    this.map = map;
    this.canvas = canvas;
    this.down = new Map();
    this.moved = 0;
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.release(event));
    canvas.addEventListener("pointercancel", (event) => this.down.delete(event.pointerId));
    canvas.addEventListener("pointerleave", () => this.leave());
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top, height: box.height };
  }

  press(event) {
    if (this.down.size === 0) this.moved = 0;
    this.down.set(event.pointerId, this.place(event));
    this.canvas.setPointerCapture(event.pointerId);
  }

  move(event) {
    const to = this.place(event);
    const from = this.down.get(event.pointerId);
    if (!from) this.hover(event, to);
    else if (this.down.size === 2) this.pinch(event, from, to);
    else {
      this.moved += Math.abs(to.y - from.y) + Math.abs(to.x - from.x);
      if (this.moved > STILL) {
        this.leave();
        this.map.scale(1, 0, (to.y - from.y) / to.height);
        this.down.set(event.pointerId, to);
      }
    }
  }

  pinch(event, from, to) {
    const [other] = [...this.down].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
    const before = Math.hypot(from.x - other.x, from.y - other.y);
    const after = Math.hypot(to.x - other.x, to.y - other.y);
    this.moved = Infinity;
    this.down.set(event.pointerId, to);
    if (before > 0) this.map.scale(after / before, (to.y + other.y) / 2 / to.height, 0);
  }

  release(event) {
    const from = this.down.get(event.pointerId);
    this.down.delete(event.pointerId);
    if (!from || this.moved > STILL) return;
    const node = this.map.under(from.x, from.y);
    this.leave();
    if (node) this.map.pick(node);
  }

  hover(event, { x, y }) {
    if (event.pointerType === "touch") return;
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
    const { y, height } = this.place(event);
    const lines = event.deltaMode === 1 ? 16 : 1;
    this.leave();
    this.map.scale(Math.exp(-event.deltaY * lines * 0.0022), y / height, 0);
  }
}
