// Labels wrapped to a width: broken between words and inside names that are too long for a line, cut at the last line.

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
  const key = `${Math.round(width / 4)} ${most} ${context.font}`;
  if (node.lines?.key !== key) node.lines = { key, lines: broken(context, text, width, most) };
  return node.lines.lines;
}

function broken(context, text, width, most) {
  const lines = [];
  let line = "";
  for (const [glue, word] of text.split(" ").flatMap((word) => pieces(context, word, width))) {
    const longer = line ? line + glue + word : word;
    if (line && widthOf(context, longer) > width) {
      if (lines.length === most - 1) return [...lines, cut(context, longer, width)];
      lines.push(cut(context, line, width));
      line = word;
    } else line = longer;
  }
  return [...lines, cut(context, line, width)];
}

const JOINTS = /(?<=[._/:-])|(?<=[a-z])(?=[A-Z])/; // where names such as os.path.isFile can be divided
const NO_SPACES = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Khmer}\p{Script=Lao}]/u;

/**
 * A word, in pieces if it is too long for a line: between characters where the language has no spaces, names at joints.
 *
 * Each piece comes with what stands before it on the same line: a space before the first.
 */
function pieces(context, word, width) {
  if (widthOf(context, word) <= width) return [[" ", word]];
  const parts = NO_SPACES.test(word) ? Array.from(word) : word.split(JOINTS);
  const found = [""];
  for (const part of parts) {
    if (found.at(-1) && widthOf(context, found.at(-1) + part) > width) found.push(part);
    else found[found.length - 1] += part;
  }
  return found.map((piece, at) => [at ? "" : " ", piece]);
}

function cut(context, text, width) {
  const whole = widthOf(context, text);
  if (whole <= width) return text;
  let end = Math.floor((text.length * width) / whole);
  while (end > 1 && widthOf(context, `${text.slice(0, end)}…`) > width) end -= 1;
  return `${text.slice(0, Math.max(1, end)).replace(/[\s,;:·]+$/, "")}…`;
}
