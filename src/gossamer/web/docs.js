// The HTTP API as a page, from the OpenAPI document of this server. Requests can be tried.

import * as api from "./api.js";
import { el, failure, find } from "./dom.js";
import { askForKey } from "./key.js";

const ORDER = ["search", "documents", "concepts", "about", "health"];
const PER_INDEX = "/v1/indexes/{name}"; // where the routes of /v1 are again, for every index

async function start() {
  try {
    const described = await (await fetch("v1/openapi.json")).json();
    show(described);
  } catch (problem) {
    find("#routes").replaceChildren(failure(problem, start));
  }
}

function show(described) {
  const groups = new Map();
  for (const [path, operations] of Object.entries(described.paths)) {
    if (path.startsWith(PER_INDEX)) continue;
    for (const [method, operation] of Object.entries(operations)) {
      const [tag = "other"] = operation.tags ?? [];
      if (!groups.has(tag)) groups.set(tag, []);
      groups.get(tag).push({ path, method, operation });
    }
  }
  const place = ([tag]) => (ORDER.includes(tag) ? ORDER.indexOf(tag) : ORDER.length);
  const ordered = [...groups].sort((one, other) => place(one) - place(other));
  const sections = ordered.map(([tag, routes]) => [el("h2", {}, tag), ...routes.map((each) => route(described, each))]);
  find("#routes").replaceChildren(
    el("h1", {}, `${described.info.title} ${described.info.version}`),
    el("p", { class: "lead" }, prose(described.info.description)),
    el("p", { class: "lead" }, `Every route below /v1 is also at ${PER_INDEX}, for each index that is served. `,
      "Where the server has keys, send one as “Authorization: Bearer gsm_…”."),
    ...sections.flat());
  find("#contents").replaceChildren(...ordered.flatMap(([tag, routes]) => [el("h2", {}, tag), ...routes.map(entry)]));
}

const nameOf = ({ path, method }) => `${method}-${path.replace(/\W+/g, "-")}`;
const badge = (method) => el("span", { class: `method ${method}` }, method.toUpperCase());

function entry(each) {
  const open = () => (document.getElementById(nameOf(each)).open = true);
  return el("a", { href: `#${nameOf(each)}`, onclick: open }, badge(each.method), each.path.replace("/v1", "") || "/");
}

function route(described, each) {
  const { path, method, operation } = each;
  const schema = resolved(described, bodyOf(operation));
  return el("details", { class: "route", id: nameOf(each), open: location.hash === `#${nameOf(each)}` },
    el("summary", {}, badge(method), el("span", { class: "path" }, path), el("p", {}, prose(operation.description ?? operation.summary))),
    el("div", { class: "inside" },
      ...fields(described, schema),
      ...answers(described, operation),
      trial(each, schema)));
}

/** A text in which names stand between backticks. */
const prose = (text) => String(text ?? "").split("`").map((part, at) => (at % 2 ? el("code", {}, part) : part));

const bodyOf = (operation) => operation.requestBody?.content?.["application/json"]?.schema;

/** A schema with its reference followed; of several the first. */
function resolved(described, schema) {
  if (!schema) return null;
  if (schema.$ref) return resolved(described, described.components.schemas[schema.$ref.split("/").at(-1)]);
  const several = schema.oneOf ?? schema.anyOf;
  return several && !schema.properties ? resolved(described, several.find((each) => each.type !== "null") ?? several[0]) : schema;
}

/** A type in words: “string”, “list of Hit”, “integer or null”. */
function typeOf(schema) {
  if (!schema) return "any";
  if (schema.$ref) return schema.$ref.split("/").at(-1);
  const several = schema.oneOf ?? schema.anyOf;
  if (several) return [...new Set(several.map(typeOf))].join(" or ");
  if (schema.type === "array") return `list of ${typeOf(schema.items)}`;
  return schema.type ?? "any";
}

function table(heads, rows) {
  return el("table", {}, el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))), el("tbody", {}, rows));
}

function fields(described, schema) {
  if (!schema?.properties) return [];
  const rows = Object.entries(schema.properties).map(([name, field]) => el("tr", {},
    el("td", {}, el("code", {}, name), schema.required?.includes(name) ? " *" : ""),
    el("td", {}, typeOf(field)), el("td", {}, prose(field.description ?? resolved(described, field)?.description))));
  return [el("h3", {}, "Request"), table(["field", "type", ""], rows)];
}

function answers(described, operation) {
  const answer = operation.responses["200"];
  const schema = resolved(described, answer?.content?.["application/json"]?.schema);
  if (!schema?.properties) return [];
  const rows = Object.entries(schema.properties).map(([name, field]) =>
    el("tr", {}, el("td", {}, el("code", {}, name)), el("td", {}, typeOf(field)), el("td", {}, prose(field.description))));
  return [el("h3", {}, "Answer"), table(["field", "type", ""], rows)];
}

/** A form that sends a request and shows the answer. */
function trial({ path, method, operation }, schema) {
  const parameters = (operation.parameters ?? []).map((each) => ({
    ...each, input: el("input", { "aria-label": each.name, placeholder: String(each.schema?.default ?? ""), required: each.required }),
  }));
  const example = schema?.examples?.[0];
  const body = operation.requestBody && el("textarea", { rows: "6", spellcheck: "false", "aria-label": "Body of the request" });
  if (body) body.value = example ? JSON.stringify(example, null, 1) : "";
  const output = el("pre", { hidden: true, tabindex: "0", "aria-label": "Answer of the server" });
  const send = async (event) => {
    event.preventDefault();
    output.hidden = false;
    output.textContent = "…";
    output.textContent = await answered(path, method, parameters, body);
  };
  return el("form", { onsubmit: send }, el("h3", {}, "Try it"),
    parameters.length ? table(["parameter", "", ""], parameters.map(({ name, required, description, input }) =>
      el("tr", {}, el("td", {}, el("code", {}, name), required ? " *" : ""), el("td", {}, input), el("td", {}, prose(description))))) : "",
    body ?? "", el("button", { type: "submit" }, "Send"), output);
}

async function answered(path, method, parameters, body) {
  let address = path;
  const query = new URLSearchParams();
  for (const { name, in: place, input } of parameters) {
    if (place === "path") address = address.replace(`{${name}}`, encodeURIComponent(input.value));
    else if (input.value) query.append(name, input.value);
  }
  const asked = `${address}${query.size ? `?${query}` : ""}`;
  const content = body?.value;
  const response = await api.send(asked, { method: method.toUpperCase(), body: content });
  if (response.status === 401 && (await askForKey())) return answered(path, method, parameters, body);
  const text = await response.text();
  try {
    return `${response.status} ${response.statusText}\n\n${JSON.stringify(JSON.parse(text), null, 1)}`;
  } catch {
    return `${response.status} ${response.statusText}\n\n${text}`;
  }
}

start();
