// Loads the tree as it is needed: boxes large enough to show what is inside are opened, the largest first.

import { hasRoom } from "./layout.js";

const AT_ONCE = 2;
const FIRST = { depth: 3, limit: 150 };
const NEXT = { depth: 2, limit: 80 };
const ROOTS = 200; // that the server takes at once
const CHILDREN = { depth: 1, limit: 5000 };

export class Loader {
  /** `source`: see `ConceptMap`. `onChange()` is called when nodes have arrived, `onFailure(problem)` on an error. */
  constructor(tree, source, { onChange, onFailure }) {
    this.tree = tree;
    this.source = source;
    this.onChange = onChange;
    this.onFailure = onFailure;
    this.asked = new Map();
    this.failed = new Set(); // not asked for again by themselves
  }

  async start() {
    this.failed.clear();
    if (!this.tree.root) await this.ask(null, FIRST);
  }

  /** Open concepts of a layout that have room for their children. */
  look(boxes) {
    if (this.source.complete || this.asked.size >= AT_ONCE) return;
    const known = (id) => this.asked.has(id) || this.failed.has(id);
    const closed = boxes.filter((box) => hasRoom(box) && isClosed(box.node) && !known(box.node.id));
    closed.sort((one, other) => other.w * other.h - one.w * one.h);
    for (const { node } of closed.slice(0, AT_ONCE - this.asked.size)) this.ask(node.id, NEXT);
  }

  /** Load every node of some paths (ids from the root), of a hundred answers in one or two requests. */
  async paths(paths) {
    await this.start();
    const inner = new Set(paths.flatMap((path) => path.slice(0, -1)));
    const missing = [...inner].filter((id) => !this.tree.nodes.get(id)?.children);
    if (!missing.length || this.source.complete) return;
    const parts = [];
    for (let at = 0; at < missing.length; at += ROOTS) {
      parts.push(this.source.map({ roots: missing.slice(at, at + ROOTS), ...CHILDREN }));
    }
    for (const part of await Promise.all(parts)) this.tree.merge(part);
    this.onChange();
  }

  ask(root, what) {
    if (this.asked.has(root)) return this.asked.get(root);
    const answer = this.load(root, what).finally(() => (this.asked.delete(root), this.onChange()));
    this.asked.set(root, answer);
    return answer;
  }

  async load(root, what) {
    try {
      const columns = await this.source.map({ roots: root === null ? [] : [root], ...what });
      const node = this.tree.nodes.get(root);
      this.tree.merge(columns);
      if (root === null && this.tree.root?.inside) this.tree.root.label = this.source.name ?? "Everything";
      if (node && !node.children) node.inside = 0; // deleted meanwhile: do not ask again
    } catch (problem) {
      this.failed.add(root);
      this.onFailure(problem);
    }
  }
}

const isClosed = (node) => node.inside > 0 && !node.children;
