// The points of a plane and the regions of its concepts, as read from the bytes of /v1/plane (format: docs/server.md).

const LARGEST = 65535;
export const NONE = LARGEST; // a point that lies in no region of a level

export class PlaneData {
  constructor(buffer) {
    const length = new DataView(buffer).getUint32(0, true);
    const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
    const column = (at) => new Uint16Array(buffer, 4 + length + 2 * at * header.points, header.points);
    this.size = header.points;
    this.operation = header.operation;
    this.x = column(0);
    this.y = column(1);
    this.levels = header.levels.map((regions, at) => ({ regions, of: column(2 + at) }));
    this.levels.forEach(({ regions }, at) => regions.forEach((region) => Object.assign(region, { level: at + 1, lines: null })));
    this.regions = new Map(this.levels.flatMap(({ regions }) => regions.map((region) => [region.concept, region])));
    this.grid = gridOf(this);
  }

  place(point) {
    return { x: this.x[point] / LARGEST, y: this.y[point] / LARGEST };
  }

  /** The region of a level (from 1) that a point lies in, or the deepest one above it; null if there is none. */
  regionOf(point, level) {
    for (let at = Math.min(level, this.levels.length) - 1; at >= 0; at--) {
      const found = this.levels[at].of[point];
      if (found !== NONE) return this.levels[at].regions[found];
    }
    return null;
  }

  /** The point nearest to a place, if one is within `radius`; else null. */
  nearest(x, y, radius) {
    let found = null;
    let best = (radius * LARGEST) ** 2;
    this.within(x - radius, y - radius, x + radius, y + radius, (point) => {
      const distance = (this.x[point] - x * LARGEST) ** 2 + (this.y[point] - y * LARGEST) ** 2;
      if (distance < best) [found, best] = [point, distance];
    });
    return found;
  }

  /** Call `visit(point)` for all points in the cells that a box touches. */
  within(left, top, right, bottom, visit) {
    const { side, starts, points } = this.grid;
    const cell = (share) => Math.min(side - 1, Math.max(0, Math.floor(share * side)));
    for (let row = cell(top); row <= cell(bottom); row++) {
      const first = row * side;
      for (let at = starts[first + cell(left)]; at < starts[first + cell(right) + 1]; at++) visit(points[at]);
    }
  }

  /** The points inside a polygon, which is a list of places. */
  inside(polygon) {
    const xs = polygon.map(({ x }) => x);
    const ys = polygon.map(({ y }) => y);
    const found = [];
    this.within(Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys), (point) => {
      if (isInside(polygon, this.x[point] / LARGEST, this.y[point] / LARGEST)) found.push(point);
    });
    return found.sort((one, other) => one - other);
  }
}

/** Points by cell of a grid: those of cell c are points[starts[c]] to points[starts[c + 1]]. */
function gridOf({ size, x, y }) {
  const side = Math.min(256, Math.max(1, Math.ceil(Math.sqrt(size / 4))));
  const cell = (at) => Math.floor((y[at] * side) / (LARGEST + 1)) * side + Math.floor((x[at] * side) / (LARGEST + 1));
  const starts = new Uint32Array(side * side + 1);
  for (let at = 0; at < size; at++) starts[cell(at) + 1] += 1;
  for (let at = 1; at < starts.length; at++) starts[at] += starts[at - 1];
  const next = starts.slice();
  const points = new Uint32Array(size);
  for (let at = 0; at < size; at++) points[next[cell(at)]++] = at;
  return { side, starts, points };
}

/** Whether a ray to the right crosses the polygon an odd number of times. */
function isInside(polygon, x, y) {
  let inside = false;
  for (let at = 0, before = polygon.length - 1; at < polygon.length; before = at++) {
    const [one, other] = [polygon[at], polygon[before]];
    if (one.y > y !== other.y > y && x < ((other.x - one.x) * (y - one.y)) / (other.y - one.y) + one.x) inside = !inside;
  }
  return inside;
}
