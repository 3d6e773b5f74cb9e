// Loads the tree as it is needed: concepts tall enough to be read are opened, the largest first.

const AT_ONCE = 2;
const WORTH = 7; // pixels: lower concepts are not opened
const FIRST = { depth: 3, limit: 40 };
const CHILDREN = { depth: 1, limit: 5000 };
const NEXT = { depth: 3, limit: 40 };

export class Loader {
  /** `source`: see `ConceptMap`. `onChange()` is called when nodes have arrived, `onFailure(problem)` on an error. */
  constructor(tree, source, { onChange, onFailure }) {
    this.tree = tree;
    this.source = source;
    this.onChange = onChange;
    this.onFailure = onFailure;
    this.asked = new Map();
  }

  async start() {
    if (!this.tree.root) await this.ask(null, FIRST);
  }

  /** Open concepts in view. Called after every frame. */
  look(painter, camera) {
    if (!this.tree.root || this.source.complete || this.asked.size >= AT_ONCE) return;
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

  /** Load every node of a path (ids from the root). Missing ones are requested together and merged from the top. */
  async path(ids) {
    await this.start();
    const missing = ids.filter((id, at) => at + 1 < ids.length && !this.tree.nodes.get(id)?.children);
    const answers = await Promise.all(missing.map((root) => this.source.map({ root, ...CHILDREN })));
    for (const answer of answers) this.tree.merge(answer);
    this.onChange();
  }

  ask(root, what) {
    if (this.asked.has(root)) return this.asked.get(root);
    const answer = this.load(root, what).finally(() => this.asked.delete(root));
    this.asked.set(root, answer);
    return answer;
  }

  async load(root, what) {
    try {
      const columns = await this.source.map({ root, ...what });
      const node = this.tree.nodes.get(root);
      this.tree.merge(columns);
      if (root === null && this.tree.root?.inside) this.tree.root.label = this.source.name ?? "Everything";
      if (node && !node.children) node.inside = 0; // deleted meanwhile: do not ask again
      this.onChange();
    } catch (problem) {
      this.onFailure(problem);
    }
  }
}
