// Mouse, pen and touch on the plane: dragging moves, the wheel and two fingers zoom, a click picks, and with the lasso
// (its button, or the shift key) dragging draws around documents.

const STILL = 5; // pixels: less is a click

export class Pointer {
  /** `view`: see PlaneView. */
  constructor(canvas, view) {
    this.canvas = canvas;
    this.view = view;
    this.down = new Map();
    this.moved = 0;
    this.drawing = false;
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.release(event));
    canvas.addEventListener("pointercancel", (event) => this.cancel(event));
    canvas.addEventListener("pointerleave", () => this.view.hover(null));
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  press(event) {
    if (event.button) return;
    if (this.down.size === 0) {
      this.moved = 0;
      this.drawing = this.view.lassoing || event.shiftKey;
    }
    this.down.set(event.pointerId, this.place(event));
    this.canvas.setPointerCapture(event.pointerId);
    if (this.drawing) this.view.draw(this.place(event), true);
  }

  move(event) {
    const to = this.place(event);
    const from = this.down.get(event.pointerId);
    if (!from) {
      if (event.pointerType !== "touch") this.view.hover(to, event.clientX, event.clientY);
      return;
    }
    if (this.down.size === 2) this.pinch(event, from, to);
    else {
      this.moved += Math.abs(to.x - from.x) + Math.abs(to.y - from.y);
      if (this.drawing) this.view.draw(to, false);
      else if (this.moved > STILL) this.view.move(1, from.x, from.y, to.x - from.x, to.y - from.y);
      else return;
      this.down.set(event.pointerId, to);
    }
  }

  pinch(event, from, to) {
    const [other] = [...this.down].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
    const before = Math.hypot(from.x - other.x, from.y - other.y);
    const after = Math.hypot(to.x - other.x, to.y - other.y);
    this.moved = Infinity;
    if (this.drawing) this.view.draw(null);
    this.drawing = false;
    this.down.set(event.pointerId, to);
    const [x, y] = [(from.x + other.x) / 2, (from.y + other.y) / 2];
    if (before > 0) this.view.move(after / before, x, y, (to.x - from.x) / 2, (to.y - from.y) / 2);
  }

  release(event) {
    const at = this.down.get(event.pointerId);
    this.down.delete(event.pointerId);
    if (!at || this.down.size) return;
    if (this.drawing && this.moved > STILL) this.view.enclose();
    else if (this.moved <= STILL) {
      this.view.draw(null);
      this.view.pick(at);
    } else this.view.settle();
    this.drawing = false;
  }

  cancel(event) {
    this.down.delete(event.pointerId);
    this.view.draw(null);
    this.drawing = false;
  }

  wheel(event) {
    event.preventDefault();
    const { x, y } = this.place(event);
    const lines = event.deltaMode === 1 ? 16 : 1;
    this.view.move(Math.exp(-event.deltaY * lines * 0.0022), x, y);
    this.view.settle();
  }
}
