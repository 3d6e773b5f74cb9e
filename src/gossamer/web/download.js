// The answers as a file that the browser makes: CSV for tables, JSON for programs.

import { el } from "./dom.js";

const COLUMNS = ["rank", "id", "score", "dense", "lexical", "concepts", "text"];

/** A menu that saves answers as CSV or JSON. */
export function exportMenu(query, hits) {
  const close = (menu) => (menu.open = false);
  const menu = el("details", { class: "menu", name: "facet" }, el("summary", {}, "Export"),
    el("div", { class: "panel" },
      el("button", { type: "button", onclick: () => (save(query, "csv", "text/csv", asCsv(hits)), close(menu)) }, "CSV"),
      el("button", { type: "button", onclick: () => (save(query, "json", "application/json", asJson(query, hits)), close(menu)) }, "JSON")));
  return menu;
}

function rows(hits) {
  return hits.map((hit, at) => ({
    rank: at + 1, id: hit.id, score: hit.score, dense: hit.dense, lexical: hit.lexical,
    concepts: hit.path.slice(1, -1).map((concept) => concept.label), text: hit.text, metadata: hit.metadata,
  }));
}

export const asJson = (query, hits) => `${JSON.stringify({ query, answers: rows(hits) }, null, 1)}\n`;

/** A table with a column for each metadata field. Cells that a spreadsheet would take for a formula get an apostrophe. */
export function asCsv(hits) {
  const fields = [...new Set(hits.flatMap((hit) => Object.keys(hit.metadata ?? {})))];
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
    const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const lines = rows(hits).map((row) => [
    ...COLUMNS.map((name) => cell(name === "concepts" ? row.concepts.join(" > ") : row[name])),
    ...fields.map((field) => cell(row.metadata?.[field])),
  ]);
  return `${[[...COLUMNS, ...fields.map((field) => cell(field))], ...lines].map((line) => line.join(",")).join("\r\n")}\r\n`;
}

function save(query, suffix, type, text) {
  const name = query.normalize("NFKD").replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "").slice(0, 60) || "answers";
  const address = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  el("a", { href: address, download: `${name}.${suffix}` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
