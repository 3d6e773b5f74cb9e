// Numbers and texts formatted for people.

const NUMBER = new Intl.NumberFormat("en");

export const number = (value) => NUMBER.format(value);

/** A contribution to a score, with its sign. */
export function signed(value) {
  const size = Math.abs(value).toFixed(3);
  if (size === "0.000") return size;
  return `${value < 0 ? "−" : "+"}${size}`;
}

export const documents = (count) => (count === 1 ? "1 document" : `${number(count)} documents`);

let passages = false;

/** Say whether concepts are counted in passages: where long texts are split, there are more of these than documents. */
export const countPassages = (split) => (passages = split);

/** The size of a concept, with its unit. */
export function sized(count) {
  if (!passages) return documents(count);
  return count === 1 ? "1 passage" : `${number(count)} passages`;
}

/** The label of a concept; "Everything" for the root. */
export const nameOf = (concept) => (concept.parent === null && concept.children.length ? "Everything" : concept.label);

export const isDocument = (concept) => concept.children.length === 0;

export function shortened(text, most) {
  if (text.length <= most) return text;
  const head = text.slice(0, most - 1);
  const cut = head.lastIndexOf(" ");
  return `${cut > most / 2 ? head.slice(0, cut) : head}…`;
}

const TITLES = ["title", "headline", "subject", "name"];

/** The title of a document by its metadata: the field “title”, or one that is named alike; null where there is none. */
export function titleOf({ metadata }) {
  for (const wanted of TITLES) {
    const field = Object.keys(metadata ?? {}).find((name) => name.toLowerCase() === wanted);
    const title = field === undefined ? "" : String(metadata[field] ?? "").replace(/\s+/g, " ").trim();
    if (title) return title;
  }
  return null;
}

/** Whether an id says something to people: a name or a path, not a number or a hash. */
export const tellingId = (id) => /\p{L}{3,}/u.test(id) && !/^[0-9a-f-]{16,}$/i.test(id);
