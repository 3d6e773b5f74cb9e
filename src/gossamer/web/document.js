// One document: its text, where it lies, what is like it, and changes to it.

import * as api from "./api.js";
import { announce, el, failure, find } from "./dom.js";
import { openEditor } from "./add.js";
import { shortened, tellingId, titleOf } from "./format.js";
import { fill } from "./list.js";
import { conceptPath, metadataList } from "./parts.js";
import { go, link, state } from "./router.js";

const NEIGHBOURS = 6;
const QUERY = 2000; // characters of a text that are searched for

export class DocumentView {
  /** `onPath(concepts)` when the place of the document is known, `onChanged()` after it was edited or deleted. */
  constructor({ onPath, onChanged }) {
    this.onPath = onPath;
    this.onChanged = onChanged;
  }

  async show(wanted, info) {
    let found = null;
    const shown = await fill(
      async (signal) => this.view((found = await api.documentOf(wanted.doc, signal)), wanted, info),
      (problem) => failure(problem, () => this.show(state(), info), back(wanted)));
    if (!shown) return;
    find("#list h1")?.focus({ preventScroll: true });
    announce(`Document ${found.id}`);
    await this.surroundings(found);
  }

  view(found, wanted, info) {
    const title = titleOf(found);
    const heading = title ?? (tellingId(found.id) ? found.id : shortened(found.text.replace(/\s+/g, " ").trim(), 80));
    return [
      el("p", { class: "back" }, back(wanted)),
      el("div", { id: "path" }),
      el("h1", { tabindex: "-1", class: "id" }, heading),
      el("p", { class: "text whole" }, found.text),
      metadataList(found.metadata, title, 40),
      heading === found.id ? "" : el("p", { class: "id" }, found.id),
      el("div", { class: "tools" },
        wanted.q && link({ doc: null, why: found.id }, { class: "button" }, `Why, for “${shortened(wanted.q, 40)}”`),
        info.writable && el("button", { type: "button", id: "edit", onclick: () => this.edit(found) }, "Edit"),
        info.writable && el("button", { type: "button", id: "delete", onclick: () => this.remove(found) }, "Delete")),
      el("section", { id: "neighbours" }, el("h2", { class: "over" }, "More like this"), el("div", { class: "skeleton" })),
    ];
  }

  /** Find the nearest documents and the path of this one: one search tells both, as a text is nearest to itself. */
  async surroundings(found) {
    const place = find("#neighbours");
    const text = found.text.slice(0, QUERY);
    try {
      const { hits } = await api.search({ query: text, k: NEIGHBOURS + 1, hybrid: false });
      const own = hits.find((hit) => hit.id === found.id);
      const path = own?.path ?? (await api.explain(text, found.id)).path.map((step) => step.concept);
      if (!place.isConnected) return;
      const others = hits.filter((hit) => hit.id !== found.id).slice(0, NEIGHBOURS);
      place.replaceChildren(el("h2", { class: "over" }, "More like this"),
        others.length ? el("ol", { class: "neighbours" }, others.map(neighbour)) : el("p", { class: "soft" }, "It is the only one."));
      find("#path").replaceChildren(conceptPath(path, { most: 6 }));
      this.onPath(path);
    } catch (problem) {
      if (place.isConnected) place.replaceChildren(el("p", { class: "notice", role: "alert" }, problem.message));
    }
  }

  edit(found) {
    openEditor({ document: found, onSaved: async () => (await this.onChanged(), this.show(state(), { writable: true })) });
  }

  remove(found) {
    const note = el("p", { class: "notice", role: "alert", hidden: true });
    const send = async (event) => {
      event.preventDefault();
      try {
        await api.remove(found.id);
        dialog.close();
        await this.onChanged();
        go({ doc: null, why: null }, { replace: true });
      } catch (problem) {
        note.textContent = problem.message;
        note.hidden = false;
      }
    };
    const dialog = el("dialog", { "aria-labelledby": "delete-title" }, el("form", { method: "dialog", onsubmit: send },
      el("h2", { id: "delete-title" }, "Delete this document?"),
      el("p", {}, `“${shortened(titleOf(found) ?? found.id, 80)}” is taken out of the index for good.`), note,
      el("div", { class: "buttons" },
        el("button", { type: "button", onclick: () => dialog.close() }, "Keep it"),
        el("button", { type: "submit", class: "danger" }, "Delete"))));
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }
}

function back(wanted) {
  return link({ doc: null }, { class: "link" }, wanted.q ? "← Answers" : "← Back");
}

function neighbour(hit) {
  const heading = titleOf(hit) ?? (tellingId(hit.id) ? hit.id : null);
  return el("li", {}, link({ doc: hit.id, why: null }, { class: "card" },
    heading && el("h3", {}, heading), el("p", { class: "examples" }, shortened(hit.passage.replace(/\s+/g, " "), 160))));
}
