// Helpers to build DOM nodes. Texts of documents become text nodes, never markup.

/** An element. `class` and attributes as given, `onclick` and the like as listeners; null and false are left out. */
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "class") node.className = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export const find = (selector) => document.querySelector(selector);

/** A panel for an error, with a button that tries again and other choices. */
export function failure(problem, retry, ...others) {
  return el("div", { class: "failure", role: "alert" },
    el("h2", {}, problem.status ? "That did not work" : "The server does not answer"),
    el("p", {}, problem.message),
    problem.requestId && el("p", { class: "soft small" }, `Request ${problem.requestId}`),
    el("p", { class: "choices" }, el("button", { type: "button", onclick: retry }, "Try again"), others));
}

/** Have screen readers read `text`. */
export function announce(text) {
  find("#status").textContent = text;
}
