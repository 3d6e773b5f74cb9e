// Loads the tree as it is needed: what is tall enough to be read is opened, the largest first.

import * as api from "../api.js";

const AT_ONCE = 2;
const WORTH = 7; // pixels: what is lower than this is not opened
const FIRST = { depth: 3, limit: 40 };
const CHILDREN = { depth: 1, limit: 5000 };
const NEXT = { depth: 3, limit: 40 };

export class Loader {
  /** `onChange()` after nodes have come in, `onFailure(problem)` where they cannot be had. */
  constructor(tree, { onChange, onFailure }) {
    this.tree = tree;
    this.onChange = onChange;
    this.onFailure = onFailure;
    this.asked = new Map();
  }

  async start() {
    if (!this.tree.root) await this.ask(null, FIRST);
  }

  /** Open what is in view. Called after every frame that shows something else. */
  look(painter, camera) {
    if (!this.tree.root || this.asked.size >= AT_ONCE) return;
    const closed = [];
    const waiting = [this.tree.root];
    while (waiting.length) {
      const node = waiting.pop();
      const height = painter.y(node.y1, camera) - painter.y(node.y0, camera);
      const outside = painter.y(node.y1, camera) < 0 || painter.y(node.y0, camera) > painter.height;
      if (height < WORTH || outside || painter.x(node.depth + 1, camera) > painter.width) continue;
      if (node.children) waiting.push(...node.children);
      else if (node.inside && !this.asked.has(node.id)) closed.push(node);
    }
    closed.sort((one, other) => other.size - one.size);
    for (const node of closed.slice(0, AT_ONCE - this.asked.size)) this.ask(node.id, NEXT);
  }

  /** Have every node of a path (ids from the root): what is missing is asked for at once, then put in from the top. */
  async path(ids) {
    await this.start();
    const missing = ids.filter((id, at) => at + 1 < ids.length && !this.tree.nodes.get(id)?.children);
    const answers = await Promise.all(missing.map((root) => api.map({ root, ...CHILDREN })));
    for (const answer of answers) this.tree.merge(answer);
    this.onChange();
  }

  ask(root, what) {
    if (this.asked.has(root)) return this.asked.get(root);
    const answer = this.fetch(root, what).finally(() => this.asked.delete(root));
    this.asked.set(root, answer);
    return answer;
  }

  async fetch(root, what) {
    try {
      const columns = await api.map({ root, ...what });
      const node = this.tree.nodes.get(root);
      this.tree.merge(columns);
      if (node && !node.children) node.inside = 0; // gone meanwhile: do not ask again
      this.onChange();
    } catch (problem) {
      this.onFailure(problem);
    }
  }
}
