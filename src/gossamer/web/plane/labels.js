// Which labels are shown, and where: those of large regions first, those of smaller ones as one zooms in, never two over
// each other.

const LOOKS = [
  { size: 16, weight: 650, width: 170, lines: 2 },
  { size: 13.5, weight: 560, width: 150, lines: 2 },
  { size: 12, weight: 480, width: 130, lines: 2 },
];
const LEAST = [0, 40, 34]; // pixels from the middle of a region to its edge, below which it has no label
const FROM = [0, 0, 1.8]; // the zoom from which labels of a level are shown
const MOST = 0.95; // of the view's shorter side: a larger region fills the view, and its parts are labelled
const GAP = 5;

/** The labels in view: { region, x, y, lines, look, box }. `measure(text, look)` is the width of a text. */
export function placedLabels(data, camera, measure) {
  const placed = [];
  const boxes = [];
  const side = Math.min(camera.width, camera.height);
  data.levels.forEach(({ regions }, at) => {
    const look = LOOKS[at];
    if (camera.now.zoom < FROM[at]) return;
    for (const region of regions) {
      const radius = region.radius * camera.scale;
      if (!region.label || radius < LEAST[at] || (radius > MOST * side && at + 1 < data.levels.length)) continue;
      const { x, y } = camera.toScreen(region);
      if (x < 0 || y < 0 || x > camera.width || y > camera.height) continue;
      region.lines ??= wrapped(region.label, look, measure);
      const width = Math.max(...region.lines.map((line) => measure(line, look)));
      const height = region.lines.length * look.size * 1.2;
      const left = Math.min(camera.width - width - GAP, Math.max(GAP, x - width / 2));
      const top = Math.min(camera.height - height - GAP, Math.max(GAP, y - height / 2));
      const box = { left: left - GAP, top: top - GAP, right: left + width + GAP, bottom: top + height + GAP };
      if (boxes.some((other) => overlap(box, other))) continue;
      boxes.push(box);
      placed.push({ region, x: left + width / 2, y: top, lines: region.lines, look, box });
    }
  });
  return placed;
}

/** A label in lines: broken after commas if possible, and cut at the last line. */
function wrapped(text, look, measure) {
  const lines = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line ? `${line} ${word}` : word;
    if (line && measure(longer, look) > look.width) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  lines.push(line);
  if (lines.length <= look.lines) return lines;
  const kept = lines.slice(0, look.lines);
  kept[look.lines - 1] = `${kept[look.lines - 1].replace(/[\s,;:·]+$/, "")} …`;
  return kept;
}

const overlap = (one, other) =>
  one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
