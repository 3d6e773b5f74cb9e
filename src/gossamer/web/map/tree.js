// The part of the concept tree that has been loaded. A node spans [y0, y1) of the corpus, which is [0, 1).

export class Tree {
  constructor() {
    this.root = null;
    this.nodes = new Map();
  }

  get size() {
    return this.nodes.size;
  }

  /** Add an answer of /v1/map. It is ignored if its top is neither the root nor loaded already. */
  merge(columns) {
    columns.ids.forEach((id, at) => {
      if (this.nodes.has(id)) return;
      const parent = this.nodes.get(columns.parents[at] ?? NaN) ?? null;
      if (parent === null && (this.root !== null || columns.depths[at] !== 0)) return;
      this.put(id, parent, columns, at);
    });
    for (const id of columns.ids) {
      const node = this.nodes.get(id);
      if (node?.children && !node.placed) place(node);
    }
  }

  put(id, parent, columns, at) {
    const node = {
      id,
      parent,
      size: columns.sizes[at],
      depth: columns.depths[at],
      label: columns.labels?.[at] ?? "",
      inside: columns.children[at],
      children: null,
      placed: false,
      y0: 0,
      y1: 1,
      lines: null,
    };
    this.nodes.set(id, node);
    if (parent === null) this.root = node;
    else (parent.children ??= []).push(node);
  }

  /** The last node of a path (ids from the root) that is loaded. */
  deepest(path) {
    let found = this.root;
    for (const id of path) found = this.nodes.get(id) ?? found;
    return found;
  }

  /** The node at a depth that covers y, or the last one above it. */
  at(y, depth) {
    let node = this.root;
    while (node && node.depth < depth && node.children) node = childAt(node.children, y);
    return node && y >= node.y0 && y < node.y1 ? node : null;
  }

  /** The deepest loaded node that covers a whole range. */
  covering(y0, y1) {
    let node = this.root;
    while (node?.children) {
      const below = childAt(node.children, (y0 + y1) / 2);
      if (y0 < below.y0 - 1e-12 || y1 > below.y1 + 1e-12 || !below.children) break;
      node = below;
    }
    return node;
  }
}

/** Divide the span of a node among its children by size. All children arrive together, so this is final. */
function place(node) {
  const total = node.children.reduce((sum, child) => sum + child.size, 0);
  let y = node.y0;
  for (const child of node.children) {
    child.y0 = y;
    child.y1 = y += ((node.y1 - node.y0) * child.size) / total;
  }
  node.children.at(-1).y1 = node.y1;
  node.placed = true;
}

function childAt(children, y) {
  let low = 0;
  let high = children.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (y < children[middle].y1) high = middle;
    else low = middle + 1;
  }
  return children[low];
}
