// What the pointer is on: a name at once, exemplars as soon as they are there.

import * as api from "../api.js";
import { el, find } from "../dom.js";
import { documents, shortened } from "../words.js";

const WAIT = 130;

export class Tip {
  constructor() {
    this.box = find("#tip");
    this.id = null;
    this.timer = 0;
  }

  show(node, x, y) {
    this.put(x, y);
    if (this.id === node.id) return;
    this.id = node.id;
    clearTimeout(this.timer);
    const root = node.parent === null;
    const head = el("strong", {}, root ? "Everything" : shortened(node.label, 90));
    this.box.replaceChildren(head, node.inside ? el("span", { class: "soft" }, documents(node.size)) : "");
    this.box.hidden = false;
    this.put(x, y);
    if (node.inside) this.timer = setTimeout(() => this.exemplars(node.id, x, y), WAIT);
  }

  async exemplars(id, x, y) {
    try {
      const { concept } = await api.concept(id);
      if (this.id !== id) return;
      this.box.append(el("ul", {}, concept.exemplars.map((each) => el("li", {}, shortened(each.text, 120)))));
      this.put(x, y);
    } catch {
      // The name is there already.
    }
  }

  hide() {
    clearTimeout(this.timer);
    this.id = null;
    this.box.hidden = true;
  }

  /** Beside the pointer, and always on the screen. */
  put(x, y) {
    const box = this.box.getBoundingClientRect();
    const left = x + 18 + box.width > innerWidth ? Math.max(8, x - 14 - box.width) : x + 18;
    const top = Math.max(8, Math.min(y + 14, innerHeight - box.height - 8));
    this.box.style.setProperty("transform", `translate(${left}px, ${top}px)`);
  }
}
