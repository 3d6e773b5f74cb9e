// A form that adds a document, and the path to where it lies in the tree.

import * as api from "./api.js";
import { el, find } from "./dom.js";
import { fill } from "./list.js";
import { link } from "./router.js";
import { nameOf, number } from "./format.js";

/** Open the form. `onAdded(id, path)` is called when the document is stored, with the concepts from root to leaf. */
export function openAdd(onAdded) {
  const text = el("textarea", { id: "new-text", rows: "6", required: true, placeholder: "What should be found?" });
  const id = el("input", { id: "new-id", placeholder: "left empty, it gets a number", spellcheck: "false" });
  const note = el("p", { class: "notice", role: "alert", hidden: true });
  const send = el("button", { type: "submit", class: "primary" }, "Add it");
  const dialog = el("dialog", { "aria-labelledby": "add-title" },
    el("form", { method: "dialog", onsubmit: submit },
      el("h2", { id: "add-title" }, "Add a document"),
      el("label", { for: "new-text" }, "Text"), text,
      el("label", { for: "new-id" }, "Id"), id,
      note,
      el("div", { class: "buttons" },
        el("button", { type: "button", onclick: () => dialog.close() }, "Cancel"), send)));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  text.focus();

  async function submit(event) {
    event.preventDefault();
    if (!text.value.trim()) return;
    send.disabled = true;
    send.textContent = "Adding…";
    try {
      const wanted = id.value.trim();
      const { ids: [added] } = await api.add(wanted ? { text: text.value, id: wanted } : { text: text.value });
      api.forget();
      const why = await api.explain(text.value.slice(0, 2000), added);
      dialog.close();
      onAdded(added, why.path.map((step) => step.concept));
    } catch (problem) {
      note.textContent = problem.message;
      note.hidden = false;
      send.disabled = false;
      send.textContent = "Add it";
    }
  }
}

/** Show the concepts on the path of the new document, in step with the map. */
export async function landed(id, path) {
  const steps = path.filter((concept) => concept.children.length);
  await fill(async () => [
    el("h1", { tabindex: "-1" }, "It landed here"),
    el("p", { class: "lead" }, `“${id}” is in, and can be found from now on. Its way through the tree:`),
    el("ol", { class: "landing" }, steps.map(landing)),
  ]);
  find("#list h1")?.focus({ preventScroll: true });
}

function landing(concept, at) {
  const step = el("li", {},
    link({ at: concept.id }, { class: concept.basic && "basic" }, nameOf(concept)),
    el("span", { class: "soft" }, ` ${number(concept.size)}`));
  step.style.setProperty("--at", at);
  return step;
}
