/* A zoomable icicle. The data are columns, one entry a concept, parents before children (see page.py). */
(() => {
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const { parent, size, label, terms, exemplars, depth, spread, utility, hidden, ids } = data.concepts;
const count = size.length;
const children = Array.from({ length: count }, () => []);
for (let i = 1; i < count; i++) children[parent[i]].push(i);

/* Where each concept lies: [top, bottom) of its column, from 0 to 1. */
const top = new Float64Array(count), bottom = new Float64Array(count), tallest = new Uint16Array(count);
bottom[0] = 1;
for (let i = 0; i < count; i++) {
  let at = top[i];
  const whole = children[i].reduce((sum, child) => sum + size[child], 0);
  for (const child of children[i]) {
    top[child] = at;
    at += (bottom[i] - top[i]) * size[child] / whole;
    bottom[child] = at;
  }
}
for (let i = count - 1; i > 0; i--) tallest[parent[i]] = Math.max(tallest[parent[i]], tallest[i] + 1);

/* Colours: every concept has a part of its parent's range of hues, larger ones a larger part, and takes its middle. */
const hue = new Float64Array(count);
{
  const reach = new Float64Array(count);
  hue[0] = 210; reach[0] = 330;
  for (let i = 0; i < count; i++) {
    const weights = children[i].map(child => Math.sqrt(size[child])), whole = weights.reduce((sum, weight) => sum + weight, 0);
    const span = children[i].length > 1 ? reach[i] : 0;
    let at = hue[i] - span / 2;
    children[i].forEach((child, k) => {
      reach[child] = children[i].length > 1 ? 0.8 * span * weights[k] / whole : reach[i];
      hue[child] = children[i].length > 1 ? at + span * weights[k] / whole / 2 : hue[i];
      at += span * weights[k] / whole;
    });
  }
}
const root = document.documentElement;
const dark = () => root.dataset.theme === "dark";
function colour(i, strength = 1) {
  const level = Math.min(depth[i] - depth[0], 8);
  const chroma = (i === 0 ? 0.004 : 0.088 - 0.005 * level) * strength;
  const light = dark() ? 0.42 - 0.02 * level : (i === 0 ? 0.90 : 0.835 + 0.013 * level);
  return `oklch(${light.toFixed(3)} ${chroma.toFixed(3)} ${hue[i].toFixed(1)})`;
}

const canvas = document.querySelector("canvas"), pen = canvas.getContext("2d");
const stage = document.getElementById("stage"), panel = document.querySelector("aside");
const crumbs = document.getElementById("crumbs"), tip = document.getElementById("tip"), say = document.getElementById("say");
const search = document.getElementById("search");
const COLUMNS = 5, FONT = "system-ui, 'Segoe UI', Roboto, sans-serif";
let focus = 0, chosen = 0, over = -1, found = null, foundList = [], foundAt = -1;
let width = 0, height = 0, view = viewOf(0), frame = 0, animation = null;
const answered = new Set(data.answers.flatMap(answer => answer.places));

function viewOf(i) {
  return { from: top[i], to: bottom[i], depth: depth[i], columns: Math.min(COLUMNS, Math.max(tallest[i] + 1, 2)) };
}

/* -- drawing --------------------------------------------------------------------------------------- */

function draw() {
  frame = 0;
  if (animation) {
    const t = Math.min(1, (performance.now() - animation.start) / 380), ease = t * t * (3 - 2 * t);
    for (const key of ["from", "to", "depth", "columns"]) view[key] = animation.before[key] + (animation.after[key] - animation.before[key]) * ease;
    if (t < 1) redraw(); else animation = null;
  }
  pen.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.textBaseline = "top";
  block(0);
  outline(chosen, dark() ? "#fff" : "#111", 2);
}
function redraw() { if (!frame) frame = requestAnimationFrame(draw); }

/* The concept in view is a narrow column: one knows where one is. */
const FIRST = 0.6;
const column = level => (level <= 1 ? level * FIRST : FIRST + (level - 1)) * width / (view.columns - 1 + FIRST);
function place(i) {
  const level = depth[i] - view.depth, x = column(level), scale = height / (view.to - view.from);
  return { x, y: (top[i] - view.from) * scale, w: column(level + 1) - x, h: (bottom[i] - top[i]) * scale };
}
/* What is outside the view or thinner than a hair is not drawn, nor is what is below it: the cost is the screen's, not the tree's. */
function block(i) {
  const { x, y, w, h } = place(i);
  if (y >= height || y + h <= 0 || h < 0.4 || x >= width) return;
  if (x + w > 0) {
    const faded = found !== null && !found.has(i) && !found.near.has(i);
    pen.globalAlpha = faded ? 0.25 : 1;
    pen.fillStyle = colour(i, i === over ? 1.6 : found !== null && found.has(i) ? 1.8 : 1);
    const gap = h > 4 ? 1 : h > 1.5 ? 0.4 : 0;
    pen.fillRect(x, y, w - 1, h - gap);
    if (answered.has(i)) { pen.fillStyle = dark() ? "#ffb300" : "#d98200"; pen.fillRect(x, y, 5, h - gap); }
    if (h > 13) words(i, x, Math.max(y, 0), w, Math.min(y + h, height) - Math.max(y, 0));
    pen.globalAlpha = 1;
  }
  for (const child of children[i]) block(child);
}
function outline(i, stroke, thick) {
  const { x, y, w, h } = place(i);
  if (y > height || y + h < 0 || x + w < 0 || x > width) return;
  pen.strokeStyle = stroke; pen.lineWidth = thick;
  pen.strokeRect(x + thick / 2, Math.max(y, 0) + thick / 2, w - 1 - thick, Math.max(Math.min(y + h, height) - Math.max(y, 0) - thick - 1, 1));
}
function words(i, x, y, w, h) {
  pen.save();
  pen.beginPath(); pen.rect(x, y, w - 2, h); pen.clip();
  const left = x + (answered.has(i) ? 12 : 8), room = w - (answered.has(i) ? 22 : 18), ink = dark() ? "#f4f2ec" : "#1b1d22";
  const leaf = !children[i].length && !hidden[i];
  pen.fillStyle = ink;
  pen.font = `${leaf ? 400 : 600} 13px ${FONT}`;
  const number = size[i] > 1 ? size[i].toLocaleString("en") : "";
  const lines = wrapped(label[i], room - (h < 34 ? (number ? pen.measureText(number).width + 10 : 0) : 0), h < 34 ? 1 : Math.min(4, Math.floor((h - 18) / 17)));
  let at = y + (h < 34 ? (h - 14) / 2 : 7);
  for (const line of lines) { pen.fillText(line, left, at); at += 17; }
  pen.font = `400 12px ${FONT}`; pen.globalAlpha *= 0.65;
  if (h < 34) {
    if (number) { pen.textAlign = "right"; pen.fillText(number, x + w - 9, y + (h - 13) / 2); pen.textAlign = "left"; }
  } else {
    if (number && at + 13 < y + h) { pen.fillText(number, left, at); at += 21; }
    if (!leaf) for (const [, text] of exemplars[i]) {
      const rest = Math.min(3, Math.floor((y + h - at - 4) / 16));
      if (rest < 1) break;
      for (const line of wrapped(text, room, rest)) { pen.fillText(line, left, at); at += 16; }
      at += 6;
    }
  }
  pen.restore();
}
/* The text in at most so many lines; one that does not fit ends in dots. */
function wrapped(text, room, most) {
  const lines = [];
  let line = "";
  for (const word of text.slice(0, 400).split(" ")) {
    const longer = line ? line + " " + word : word;
    if (line && pen.measureText(longer).width > room) {
      lines.push(fitted(line, room));
      line = word;
      if (lines.length === most) { lines[most - 1] = fitted(lines[most - 1] + " " + word, room); return lines; }
    } else line = longer;
  }
  lines.push(fitted(line, room));
  return lines;
}
function fitted(text, room) {
  if (pen.measureText(text).width <= room) return text;
  let low = 0, high = text.length;
  while (low < high) { const middle = (low + high + 1) >> 1; if (pen.measureText(text.slice(0, middle) + "…").width <= room) low = middle; else high = middle - 1; }
  return low ? text.slice(0, low).trimEnd() + "…" : "";
}

/* -- moving ---------------------------------------------------------------------------------------- */

function zoom(i) {
  focus = i;
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (still) view = viewOf(i); else animation = { start: performance.now(), before: { ...view }, after: viewOf(i) };
  const steps = path(i), few = steps.length > 6 ? [steps[0], -1, ...steps.slice(-4)] : steps;
  crumbs.replaceChildren(...few.map(step => step < 0 ? element("span", "› …") : button(label[step], () => choose(step, true))));
  redraw();
}
function choose(i, closer) {
  chosen = i;
  if (closer) zoom(children[i].length || i === 0 ? i : parent[i]);
  else if (!visible(i)) zoom(children[i].length ? i : parent[i] >= 0 ? parent[i] : i);
  describe(i);
  say.textContent = `${label[i]}, ${size[i]} of ${size[0]}`;
  location.replace("#" + ids[i]);
  redraw();
}
function visible(i) {
  const after = viewOf(focus);
  return top[i] >= after.from - 1e-12 && bottom[i] <= after.to + 1e-12 && depth[i] >= after.depth && depth[i] < after.depth + after.columns;
}
function path(i) {
  const steps = [];
  for (let at = i; at >= 0; at = parent[at]) steps.unshift(at);
  return steps;
}
function hit(event) {
  const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  let level = Math.round(view.depth);
  while (column(level + 1 - view.depth) <= x) level++;
  const line = view.from + y / height * (view.to - view.from);
  let at = 0;
  while (depth[at] < level) {
    const next = children[at].find(child => line >= top[child] && line < bottom[child]);
    if (next === undefined) return -1;
    at = next;
  }
  return at;
}
canvas.addEventListener("click", event => {
  const i = hit(event);
  if (i >= 0) choose(i === focus && i > 0 ? parent[i] : i, true);
});
canvas.addEventListener("mousemove", event => {
  const i = hit(event);
  if (i !== over) { over = i; redraw(); }
  tip.style.opacity = i < 0 ? 0 : 1;
  if (i < 0) return;
  tip.textContent = `${label[i]} · ${size[i].toLocaleString("en")}`;
  tip.style.left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8) + "px";
  tip.style.top = Math.min(event.clientY + 16, innerHeight - tip.offsetHeight - 8) + "px";
});
canvas.addEventListener("mouseleave", () => { over = -1; tip.style.opacity = 0; redraw(); });
addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target === search) {
    if (event.key === "Enter") { nextFound(event.shiftKey ? -1 : 1); event.preventDefault(); }
    if (event.key === "Escape") { search.value = ""; find(); canvas.focus(); }
    return;
  }
  const kin = parent[chosen] >= 0 ? children[parent[chosen]] : [0], nth = kin.indexOf(chosen);
  const moves = {
    ArrowUp: () => choose(kin[Math.max(nth - 1, 0)]),
    ArrowDown: () => choose(kin[Math.min(nth + 1, kin.length - 1)]),
    ArrowLeft: () => choose(Math.max(parent[chosen], 0)),
    ArrowRight: () => children[chosen].length && choose(children[chosen][0]),
    Enter: () => choose(chosen, true),
    Backspace: () => choose(Math.max(parent[focus], 0), true),
    Escape: () => choose(Math.max(parent[focus], 0), true),
    Home: () => choose(0, true),
    "/": () => search.focus(),
    d: () => theme(),
  };
  if (event.target.tagName === "BUTTON" && event.key === "Enter") return;
  if (moves[event.key]) { moves[event.key](); event.preventDefault(); }
});

/* -- finding --------------------------------------------------------------------------------------- */

const haystack = label.map((name, i) => [name, terms[i].join(" "), ...exemplars[i].map(([id, text]) => id + " " + text)].join(" ").toLowerCase());
function find() {
  const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  found = null; foundList = []; foundAt = -1;
  if (wanted.length) {
    found = new Set(); found.near = new Set();
    for (let i = 0; i < count; i++) if (wanted.every(word => haystack[i].includes(word))) { found.add(i); foundList.push(i); }
    for (const i of foundList) for (let at = parent[i]; at >= 0 && !found.near.has(at); at = parent[at]) found.near.add(at);
    const named = i => wanted.every(word => label[i].toLowerCase().includes(word)) ? 1 : 0;
    foundList.sort((a, b) => named(b) - named(a) || size[b] - size[a] || a - b);
    say.textContent = `${foundList.length} found`;
  }
  describe(chosen);
  redraw();
}
function nextFound(step) {
  if (!foundList.length) return;
  foundAt = (foundAt + step + foundList.length) % foundList.length;
  choose(foundList[foundAt]);
}
search.addEventListener("input", find);

/* -- the panel: real elements, so that it can be read aloud, copied and tabbed through ---------------- */

function element(tag, text, properties = {}) {
  const made = Object.assign(document.createElement(tag), properties);
  if (text !== undefined) made.textContent = text;
  return made;
}
function button(text, act) {
  const made = element("button", text, { type: "button" });
  made.addEventListener("click", act);
  return made;
}
function row(i, text, whole, badge) {
  const made = button(undefined, () => choose(i, true)), name = element("span", text);
  if (badge) name.prepend(element("span", badge, { className: "badge" }));
  const bar = element("span", undefined, { className: "bar" });
  bar.style.width = `${100 * size[i] / whole}%`;
  bar.style.setProperty("--swatch", colour(i, 1.3));
  made.append(bar, name, element("span", badge ? "" : size[i].toLocaleString("en")));
  const item = element("li");
  item.append(made);
  return item;
}
function list(title, items) {
  const rows = element("ul", undefined, { className: "rows" });
  rows.append(...items);
  return [element("h3", title), rows];
}
function describe(i) {
  const parts = [];
  if (found !== null) {
    const some = foundList.slice(0, 100);
    const [heading, rows] = list(`${foundList.length.toLocaleString("en")} found`, some.map(each => row(each, label[each], size[0])));
    rows.classList.add("found");
    parts.push(heading, rows);
    parts.push(element("h3", "Chosen"));
  }
  parts.push(element("h2", label[i]));
  const share = 100 * size[i] / size[0];
  parts.push(element("p", `#${ids[i]} · ${size[i].toLocaleString("en")} of ${size[0].toLocaleString("en")} (${share < 0.1 ? "< 0.1" : share.toFixed(share < 10 ? 1 : 0)} %) · depth ${depth[i]} · spread ${spread[i]} · utility ${utility[i]}`, { className: "facts" }));
  if (terms[i].length) {
    const tags = element("ul", undefined, { className: "terms" });
    tags.append(...terms[i].map(term => element("li", term)));
    parts.push(tags);
  }
  if (exemplars[i].length) {
    parts.push(element("h3", exemplars[i].length > 1 ? "Typical documents" : "Typical document"));
    for (const [id, text] of exemplars[i]) {
      const quote = element("blockquote", text);
      quote.style.setProperty("--swatch", colour(i, 1.6));
      quote.append(element("cite", id));
      parts.push(quote);
    }
  }
  if (children[i].length) parts.push(...list("Divides into", children[i].map(child => row(child, label[child], size[i]))));
  else if (hidden[i]) parts.push(element("p", `${hidden[i]} concepts below are not in this picture: draw it again with --concept ${ids[i]}, or with a larger --most.`, { className: "facts" }));
  if (data.answers.length) {
    const heading = `Answers to “${data.query}”`;
    parts.push(...list(heading, data.answers.map(answer => row(answer.places.at(-1) ?? 0, answer.text, 1e12, String(answer.rank)))));
  }
  const keys = element("p", undefined, { className: "keys" });
  for (const [key, what] of [["← ↑ ↓ →", "move"], ["Enter", "zoom in"], ["Esc", "zoom out"], ["/", "find"], ["d", "dark"]]) keys.append(element("kbd", key), ` ${what}  `);
  parts.push(keys);
  panel.replaceChildren(...parts);
  panel.scrollTop = 0;
}

/* -- beginning ------------------------------------------------------------------------------------- */

function theme(wanted = dark() ? "light" : "dark") { root.dataset.theme = wanted; describe(chosen); redraw(); }
document.getElementById("theme").addEventListener("click", () => theme());
const system = matchMedia("(prefers-color-scheme: dark)");
system.addEventListener("change", () => theme(system.matches ? "dark" : "light"));
new ResizeObserver(() => {
  const box = getComputedStyle(stage);
  width = stage.clientWidth - parseFloat(box.paddingLeft) - parseFloat(box.paddingRight);
  height = stage.clientHeight - parseFloat(box.paddingTop) - parseFloat(box.paddingBottom);
  canvas.width = Math.round(width * devicePixelRatio);
  canvas.height = Math.round(height * devicePixelRatio);
  draw();
}).observe(stage);
root.dataset.theme = system.matches ? "dark" : "light";
const named = location.hash ? ids.indexOf(Number(location.hash.slice(1))) : 0;
view = viewOf(0);
choose(Math.max(named, 0), true);
})();
