// Metadata, in short.

import { el } from "./dom.js";
import { shortened } from "./words.js";

export function facts(metadata, most = 4) {
  const entries = Object.entries(metadata ?? {}).slice(0, most);
  if (!entries.length) return "";
  const shown = (value) => shortened(typeof value === "string" ? value : JSON.stringify(value), 40);
  return el("dl", { class: "facts" }, entries.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, shown(value)))));
}
