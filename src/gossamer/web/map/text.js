// Labels wrapped to a width: broken between words, and cut where a line is still too long.

const widths = new Map();
const MOST = 20_000;

function widthOf(context, text) {
  const key = `${context.font}\n${text}`;
  let width = widths.get(key);
  if (width === undefined) {
    if (widths.size > MOST) widths.clear();
    widths.set(key, (width = context.measureText(text).width));
  }
  return width;
}

/** `text` in at most `most` lines of a width. The lines are cached on the node for the next frame. */
export function wrap(context, node, text, width, most) {
  const key = `${Math.round(width / 4)} ${most}`;
  if (node.lines?.key !== key) node.lines = { key, lines: broken(context, text, width, most) };
  return node.lines.lines;
}

function broken(context, text, width, most) {
  const lines = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line ? `${line} ${word}` : word;
    if (line && widthOf(context, longer) > width) {
      if (lines.length === most - 1) return [...lines, cut(context, longer, width)];
      lines.push(cut(context, line, width));
      line = word;
    } else line = longer;
  }
  return [...lines, cut(context, line, width)];
}

function cut(context, text, width) {
  const whole = widthOf(context, text);
  if (whole <= width) return text;
  let end = Math.floor((text.length * width) / whole);
  while (end > 1 && widthOf(context, `${text.slice(0, end)}…`) > width) end -= 1;
  return `${text.slice(0, Math.max(1, end)).replace(/[\s,;:]+$/, "")}…`;
}
