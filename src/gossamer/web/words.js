// Figures and texts as people read them.

const NUMBER = new Intl.NumberFormat("en");

export const number = (value) => NUMBER.format(value);

/** With its sign, as contributions are read. */
export function signed(value) {
  const size = Math.abs(value).toFixed(3);
  if (size === "0.000") return size;
  return `${value < 0 ? "−" : "+"}${size}`;
}

export const documents = (count) => (count === 1 ? "1 document" : `${number(count)} documents`);

/** The root has a label like every concept, but what it stands for is all there is. */
export const nameOf = (concept) => (concept.parent === null && concept.children.length ? "Everything" : concept.label);

export const isDocument = (concept) => concept.children.length === 0;

export function shortened(text, most) {
  if (text.length <= most) return text;
  const head = text.slice(0, most - 1);
  const cut = head.lastIndexOf(" ");
  return `${cut > most / 2 ? head.slice(0, cut) : head}…`;
}
