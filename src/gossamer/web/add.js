// A form that adds or replaces a document, and the path to where a new one lies in the tree.

import * as api from "./api.js";
import { el, find } from "./dom.js";
import { fill } from "./list.js";
import { link } from "./router.js";
import { nameOf, number } from "./format.js";

/** Open the form for a new document, or for one to edit. `onSaved(id, text)` is called when it is stored. */
export function openEditor({ document: old = null, onSaved }) {
  const text = el("textarea", { id: "new-text", rows: "8", required: true, placeholder: "What should be found?" });
  const id = el("input", { id: "new-id", placeholder: "left empty, it gets a number", spellcheck: "false", readonly: old !== null });
  const metadata = el("textarea", { id: "new-metadata", rows: "3", placeholder: '{"year": 2024}', spellcheck: "false", class: "code" });
  const note = el("p", { class: "notice", role: "alert", hidden: true });
  const send = el("button", { type: "submit", class: "primary" }, old ? "Save" : "Add it");
  const dialog = el("dialog", { "aria-labelledby": "add-title" },
    el("form", { method: "dialog", onsubmit: submit },
      el("h2", { id: "add-title" }, old ? "Edit the document" : "Add a document"),
      el("label", { for: "new-text" }, "Text"), text,
      el("label", { for: "new-id" }, "Id"), id,
      el("label", { for: "new-metadata" }, "Metadata, as JSON"), metadata,
      note,
      el("div", { class: "buttons" },
        el("button", { type: "button", onclick: () => dialog.close() }, "Cancel"), send)));
  if (old) {
    [text.value, id.value] = [old.text, old.id];
    metadata.value = Object.keys(old.metadata ?? {}).length ? JSON.stringify(old.metadata, null, 1) : "";
  }
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  text.focus();
  text.setSelectionRange(0, 0);

  async function submit(event) {
    event.preventDefault();
    if (!text.value.trim()) return;
    send.disabled = true;
    try {
      const { ids: [added] } = await api.add({
        text: text.value, ...(id.value.trim() && { id: id.value.trim() }), ...metadataOf(metadata.value),
      });
      api.forget();
      await onSaved(added, text.value);
      dialog.close();
    } catch (problem) {
      note.textContent = problem.message;
      note.hidden = false;
      send.disabled = false;
    }
  }
}

function metadataOf(text) {
  if (!text.trim()) return {};
  let found = null;
  try {
    found = JSON.parse(text);
  } catch {
    // The message below says what is wrong.
  }
  if (found === null || typeof found !== "object" || Array.isArray(found)) {
    throw new Error('The metadata must be a JSON object, as in {"year": 2024}, or nothing.');
  }
  return { metadata: found };
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
