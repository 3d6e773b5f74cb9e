// A tooltip for the node under the pointer: its name at once, exemplars when they have arrived.

import { el, find } from "../dom.js";
import { shortened, sized } from "../format.js";

const WAIT = 130; // milliseconds before exemplars are requested

export class Tip {
  constructor(source) {
    this.source = source;
    this.box = find("#tip");
    this.id = null;
    this.timer = 0;
  }

  show(node, x, y) {
    this.put(x, y);
    if (this.id === node.id) return;
    this.id = node.id;
    clearTimeout(this.timer);
    const head = el("strong", {}, shortened(node.label, 90));
    this.box.replaceChildren(head, node.inside ? el("span", { class: "soft" }, sized(node.size)) : "");
    this.box.hidden = false;
    this.put(x, y);
    if (node.inside) this.timer = setTimeout(() => this.exemplars(node.id, x, y), WAIT);
  }

  async exemplars(id, x, y) {
    try {
      const { concept } = await this.source.concept(id);
      if (this.id !== id) return;
      this.box.append(el("ul", {}, concept.exemplars.map((each) => el("li", {}, shortened(each.text, 120)))));
      this.put(x, y);
    } catch {
      // The name is shown already.
    }
  }

  hide() {
    clearTimeout(this.timer);
    this.id = null;
    this.box.hidden = true;
  }

  /** Move it beside the pointer, inside the window. */
  put(x, y) {
    const box = this.box.getBoundingClientRect();
    const left = x + 18 + box.width > innerWidth ? Math.max(8, x - 14 - box.width) : x + 18;
    const top = Math.max(8, Math.min(y + 14, innerHeight - box.height - 8));
    this.box.style.setProperty("transform", `translate(${left}px, ${top}px)`);
  }
}
