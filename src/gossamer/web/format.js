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

/** The label of a concept; "Everything" for the root. */
export const nameOf = (concept) => (concept.parent === null && concept.children.length ? "Everything" : concept.label);

export const isDocument = (concept) => concept.children.length === 0;

export function shortened(text, most) {
  if (text.length <= most) return text;
  const head = text.slice(0, most - 1);
  const cut = head.lastIndexOf(" ");
  return `${cut > most / 2 ? head.slice(0, cut) : head}…`;
}
