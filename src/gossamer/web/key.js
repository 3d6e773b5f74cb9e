// A dialog for the server's key, which is kept in sessionStorage.

import * as api from "./api.js";
import { el } from "./dom.js";

let asking = null;

/** Ask for a key; resolves to whether one was given. */
export function askForKey() {
  asking ??= open().finally(() => (asking = null));
  return asking;
}

function open() {
  const input = el("input", { id: "key", type: "password", autocomplete: "off", required: true, placeholder: "gsm_…" });
  const refused = api.hasKey() && el("p", { class: "notice", role: "alert" }, "The server does not know this key.");
  const dialog = el("dialog", { "aria-labelledby": "key-title" },
    el("form", { method: "dialog", onsubmit: submit },
      el("h2", { id: "key-title" }, "This server wants a key"),
      el("p", { class: "soft" }, "Whoever runs it can make one with “gossamer keys”. It is kept until this tab is closed."),
      el("label", { for: "key" }, "Key"), input, refused,
      el("div", { class: "buttons" }, el("button", { type: "submit", class: "primary" }, "Unlock"))));
  document.body.append(dialog);
  dialog.showModal();

  function submit(event) {
    event.preventDefault();
    if (!input.value.trim()) return;
    api.keepKey(input.value.trim());
    dialog.close("given");
  }
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => (dialog.remove(), resolve(dialog.returnValue === "given")));
  });
}
