// The way from one layout to the next. Where the same concept is laid out anew, its boxes move to their new places.
// Where another one is zoomed to, both layouts grow or shrink together, and one fades into the other.

import { isWithin } from "./tree.js";

const MILLISECONDS = 420;

export class Transition {
  /** `before` and `after` are layouts, see `layOut`. */
  constructor(before, after, start, milliseconds = MILLISECONDS) {
    this.start = start;
    this.milliseconds = milliseconds;
    this.boxes = pairs(before, after);
  }

  /** The boxes at a time, each with its opacity `alpha`, or null when the transition is over. */
  at(time) {
    const passed = Math.min(1, Math.max(0, (time - this.start) / this.milliseconds));
    if (passed === 1) return null;
    const t = passed < 0.5 ? 4 * passed ** 3 : 1 - (2 - 2 * passed) ** 3 / 2;
    return this.boxes.map(({ box, from, to, fades }) => ({
      ...box,
      x: from.x + (to.x - from.x) * t,
      y: from.y + (to.y - from.y) * t,
      w: from.w + (to.w - from.w) * t,
      h: from.h + (to.h - from.h) * t,
      alpha: fades === 0 ? 1 : Math.min(1, Math.max(0, fades > 0 ? 1.6 * t - 0.3 : 1 - 1.6 * t)),
    }));
  }
}

/** Every box of either layout with where it starts and ends, those that go first. */
function pairs(before, after) {
  const [from, to] = anchors(before, after);
  const same = before[0].node === after[0].node;
  const placeBefore = new Map(same ? before.map((box) => [box.node.id, box]) : []);
  const placeAfter = new Map(same ? after.map((box) => [box.node.id, box]) : []);
  const gone = before.filter((box) => !placeAfter.has(box.node.id))
    .map((box) => ({ box, from: box, to: moved(box, from, to), fades: -1 }));
  const there = after.map((box) => {
    const was = placeBefore.get(box.node.id);
    return { box, from: was ?? moved(box, to, from), to: box, fades: was ? 0 : 1 };
  });
  return [...gone, ...there];
}

/** Two places that correspond: those of the concept that is zoomed to, or out of. */
function anchors(before, after) {
  const [one, other] = [before[0].node, after[0].node];
  const into = isWithin(other, one);
  const [outer, inner] = into ? [before, after] : [after, before];
  const found = outer.filter((box) => isWithin(inner[0].node, box.node)).at(-1) ?? outer[0];
  return into ? [found, inner[0]] : [inner[0], found];
}

/** A place moved by the map that takes `from` to `to`. */
function moved(place, from, to) {
  const [wide, high] = [to.w / from.w, to.h / from.h];
  return { x: to.x + (place.x - from.x) * wide, y: to.y + (place.y - from.y) * high, w: place.w * wide, h: place.h * high };
}
