// A treemap: a concept is a box whose area is its share, and holds the boxes of its children.
//
// Boxes are laid out row by row so that they are as square as possible (Bruls, Huizing and van Wijk, Squarified
// Treemaps, 2000). Positions are in pixels; a heading keeps its height at every zoom, so a layout is made anew for each
// concept that is zoomed to.

const ROOM = [{ w: 0, h: 0 }, { w: 104, h: 72 }, { w: 138, h: 98 }]; // pixels, by level: smaller boxes show their name alone
const ANSWERS = { w: 58, h: 56 }; // the same for boxes that hold answers
const LOW = 110; // pixels: lower boxes are opened without a heading
const SMALLEST = 2; // pixels: what is thinner is left out
const FRAME = [{ head: 0, edge: 0 }, { head: 25, edge: 4 }, { head: 20, edge: 3 }];

/**
 * The boxes below `focus` in an area of `width` by `height`, parents first; `focus` itself is the first one.
 *
 * A box has its node, its place (x, y, w, h), the height of its heading, and whether its children are boxes too.
 * `weigh(node)` is the share of a node among its siblings, in any unit; boxes of nodes that are hot are opened sooner.
 */
export function layOut(focus, width, height, weigh, isHot = () => false) {
  const boxes = [{ node: focus, x: 0, y: 0, w: width, h: height, level: 0, head: 0, open: false, hot: isHot(focus) }];
  for (let at = 0; at < boxes.length; at++) {
    const box = boxes[at];
    if (box.node.children && hasRoom(box)) fill(box, boxes, weigh, isHot);
  }
  return boxes;
}

/** Whether a box is large enough to show what is inside it. */
export function hasRoom({ level, w, h, hot }) {
  const least = hot && level > 0 ? ANSWERS : ROOM[Math.min(level, ROOM.length - 1)];
  return w >= least.w && h >= least.h;
}

function fill(box, boxes, weigh, isHot) {
  const frame = FRAME[Math.min(box.level, FRAME.length - 1)];
  const { edge } = frame;
  const head = box.level > 1 && box.h < LOW ? 0 : frame.head;
  const area = { x: box.x + edge, y: box.y + Math.max(head, edge), w: box.w - 2 * edge, h: box.h - Math.max(head, edge) - edge };
  box.head = head;
  box.open = true;
  const items = box.node.children.map((node) => ({ node, weight: weigh(node) }));
  items.sort((one, other) => other.weight - one.weight || one.node.id - other.node.id);
  const total = items.reduce((sum, item) => sum + item.weight, 0);
  for (const item of items) item.area = (item.weight / total) * area.w * area.h;
  for (const { node, x, y, w, h } of squarified(items, area)) {
    if (w < SMALLEST || h < SMALLEST) continue;
    boxes.push({ node, x, y, w, h, level: box.level + 1, head: 0, open: false, hot: isHot(node) });
  }
}

/** Places for items, largest first, in an area: rows along its shorter side, each ended where boxes would get longer. */
function squarified(items, { x, y, w, h }) {
  const placed = [];
  let first = 0;
  while (first < items.length) {
    const side = Math.max(1e-9, Math.min(w, h));
    let end = first + 1;
    let sum = items[first].area;
    let worst = longest(sum, items[first].area, items[first].area, side);
    while (end < items.length) {
      const next = longest(sum + items[end].area, items[first].area, items[end].area, side);
      if (next > worst) break;
      worst = next;
      sum += items[end].area;
      end += 1;
    }
    const thick = sum / side;
    let at = w < h ? x : y;
    for (const { node, area } of items.slice(first, end)) {
      const long = sum ? (area / sum) * side : 0;
      placed.push(w < h ? { node, x: at, y, w: long, h: thick } : { node, x, y: at, w: thick, h: long });
      at += long;
    }
    if (w < h) [y, h] = [y + thick, h - thick];
    else [x, w] = [x + thick, w - thick];
    first = end;
  }
  return placed;
}

/** The largest ratio of sides in a row of a sum of areas, the largest and the smallest among them. */
function longest(sum, largest, smallest, side) {
  return Math.max((side * side * largest) / (sum * sum), (sum * sum) / (side * side * Math.max(smallest, 1e-9)));
}
