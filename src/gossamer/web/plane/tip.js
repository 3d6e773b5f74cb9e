// A tooltip on the plane: the text of the document under the pointer, or the size of a region.

import { el, find } from "../dom.js";
import { documents, shortened } from "../format.js";

const WAIT = 90; // milliseconds before a text is requested

export class PointTip {
  /** `read(point)` resolves to a document of /v1/plane/documents, or to null. */
  constructor(read) {
    this.read = read;
    this.box = find("#tip");
    this.key = null;
    this.timer = 0;
  }

  region(region, x, y) {
    if (this.begin(`region ${region.concept}`, x, y)) this.fill(x, y, el("strong", {}, region.label), el("span", { class: "soft" }, documents(region.size)));
  }

  point(point, region, x, y) {
    const key = `point ${point}`;
    if (!this.begin(key, x, y)) return;
    this.timer = setTimeout(async () => {
      const found = await this.read(point);
      if (this.key !== key || !found) return;
      this.fill(x, y, el("strong", {}, shortened(found.id, 80)), el("span", {}, shortened(found.text.replace(/\s+/g, " "), 220)),
        region?.label ? el("ul", {}, el("li", {}, region.label)) : "");
    }, WAIT);
  }

  /** Move an open tip; returns whether another thing is under the pointer now. */
  begin(key, x, y) {
    if (this.key === key) {
      this.put(x, y);
      return false;
    }
    this.hide();
    this.key = key;
    return true;
  }

  fill(x, y, ...content) {
    this.box.replaceChildren(...content);
    this.box.hidden = false;
    this.put(x, y);
  }

  hide() {
    clearTimeout(this.timer);
    if (this.key !== null) this.box.hidden = true;
    this.key = null;
  }

  /** Move it beside the pointer, inside the window. */
  put(x, y) {
    const box = this.box.getBoundingClientRect();
    const left = x + 18 + box.width > innerWidth ? Math.max(8, x - 14 - box.width) : x + 18;
    const top = Math.max(8, Math.min(y + 14, innerHeight - box.height - 8));
    this.box.style.setProperty("transform", `translate(${left}px, ${top}px)`);
  }
}
