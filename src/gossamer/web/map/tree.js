// The part of the concept tree that has been loaded.

export class Tree {
  constructor() {
    this.root = null;
    this.nodes = new Map();
  }

  get size() {
    return this.nodes.size;
  }

  /** Add an answer of /v1/map. A node is ignored if its parent is not loaded; the first node of all is the root. */
  merge(columns) {
    columns.ids.forEach((id, at) => {
      if (this.nodes.has(id)) return;
      const parent = this.nodes.get(columns.parents[at] ?? NaN) ?? null;
      if (parent === null && (this.root !== null || columns.depths[at] !== 0)) return;
      this.put(id, parent, columns, at);
    });
  }

  put(id, parent, columns, at) {
    const node = {
      id,
      parent,
      size: columns.sizes[at],
      depth: columns.depths[at],
      label: columns.labels?.[at] ?? "",
      inside: columns.children[at], // how many children it has, loaded or not
      children: null,
      theme: id,
      lines: null,
    };
    if (parent?.parent) node.theme = parent.theme;
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
}

/** Whether `node` is `other` or lies below it. */
export function isWithin(node, other) {
  let at = node;
  while (at && at !== other) at = at.parent;
  return at === other;
}
