// The list of documents that were chosen on the plane, and the concepts that most of them lie in.

import { announce, el, failure } from "../dom.js";
import { documents, number, shortened } from "../format.js";
import { fill } from "../list.js";
import { metadataList } from "../parts.js";
import { link } from "../router.js";

const PAGE = 30;

/** Show a selection (see `PlaneView.selection`) in the list. */
export async function showSelection(selection) {
  await fill(async () => {
    const first = await selection.read(0, PAGE);
    announce(`${documents(selection.size)} chosen`);
    return [
      el("h1", { tabindex: "-1" }, `${documents(selection.size)} chosen`),
      selection.concepts.length ? el("p", { class: "chips" }, el("span", { class: "soft" }, "Mostly in"), selection.concepts.slice(0, 6).map(chip)) : "",
      listOf(selection, first),
    ];
  }, (problem) => failure(problem, () => showSelection(selection)));
}

/** Show one document that was picked on the plane. */
export async function showDocument(id, read) {
  await fill(async (signal) => {
    const found = await read(id, signal);
    announce(`Document ${found.id}`);
    return [
      el("h1", { tabindex: "-1", class: "id" }, found.id),
      el("p", { class: "text whole" }, found.text),
      metadataList(found.metadata, 20),
      el("p", {}, link({ q: shortened(found.text.replace(/\s+/g, " "), 300), why: null }, { class: "button" }, "More like this")),
    ];
  }, (problem) => failure(problem, () => showDocument(id, read)));
}

function chip({ concept, label, size, count }) {
  const about = `${number(count)} of the chosen, of ${documents(size)} in this concept`;
  return link({ at: concept }, { class: "chip", title: about }, label);
}

function listOf(selection, first) {
  const list = el("ol", { class: "hits chosen" }, first.map(entry));
  const box = el("div", {}, list);
  let shown = PAGE;
  const more = el("button", { type: "button", class: "wide" }, "Show more");
  more.addEventListener("click", async () => {
    more.disabled = true;
    list.append(...(await selection.read(shown, shown + PAGE)).map(entry));
    shown += PAGE;
    more.disabled = false;
    if (shown >= selection.size) more.remove();
  });
  if (shown < selection.size) box.append(more);
  return box;
}

function entry(found) {
  return el("li", { class: "hit" }, el("div", { class: "line" }, el("h3", { class: "id" }, found.id)),
    el("p", { class: "text" }, shortened(found.text.replace(/\s+/g, " "), 220)), metadataList(found.metadata, 3));
}

