// Draws points into the pixels of a canvas, one disc each. Discs are drawn once for each size and then blended pixel by
// pixel, so 76,000 points take a few milliseconds, with or without a graphics card.

import { NONE } from "./data.js";

const LARGEST = 65535;
const STRENGTH = 0.82; // how opaque a point is: where many lie, colours get fuller
const SMALLEST = 1.5; // pixels across
const BIGGEST = 13;

export class PointPainter {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: false });
    this.discs = new Map();
    this.resize(1, 1, 1);
  }

  resize(width, height, ratio) {
    this.ratio = ratio;
    this.canvas.width = Math.max(1, Math.round(width * ratio));
    this.canvas.height = Math.max(1, Math.round(height * ratio));
    this.image = this.context.createImageData(this.canvas.width, this.canvas.height);
    this.pixels = new Uint32Array(this.image.data.buffer);
  }

  /** Pixels that a point is across: as much as there is room for, more as one zooms in. */
  diameter(data, camera) {
    const room = Math.min(camera.width, camera.height) / Math.sqrt(Math.max(1, data.size));
    return Math.min(BIGGEST, Math.max(SMALLEST, 0.42 * room * camera.now.zoom ** 0.55));
  }

  /** `colours`: the background, and one for each region of the first level and for points in none, as 0xBBGGRR. */
  draw(data, camera, colours) {
    const { pixels, ratio } = this;
    const { width, height } = this.canvas;
    pixels.fill((0xff000000 | colours.paper) >>> 0);
    const across = this.diameter(data, camera) * ratio;
    const disc = this.disc(across);
    const scale = (camera.scale * ratio) / LARGEST;
    const left = (camera.width / 2) * ratio - camera.now.x * LARGEST * scale - (disc.side - 1) / 2;
    const top = (camera.height / 2) * ratio - camera.now.y * LARGEST * scale - (disc.side - 1) / 2;
    const themes = data.levels[0]?.of;
    let drawn = 0;
    for (let point = 0; point < data.size; point++) {
      const x = Math.round(data.x[point] * scale + left);
      const y = Math.round(data.y[point] * scale + top);
      if (x < 0 || y < 0 || x + disc.side > width || y + disc.side > height) continue;
      const theme = themes ? themes[point] : NONE;
      blend(pixels, y * width + x, width, disc, colours.themes[theme] ?? colours.other);
      drawn += 1;
    }
    this.context.putImageData(this.image, 0, 0);
    return drawn;
  }

  /** How much of each pixel a disc covers, 0 to 256. */
  disc(across) {
    const size = Math.round(across * 4) / 4;
    if (!this.discs.has(size)) this.discs.set(size, makeDisc(size));
    return this.discs.get(size);
  }
}

function makeDisc(across) {
  const side = across < 2.4 ? 2 : Math.ceil(across) + 1; // three pixels would be a cross
  const cover = new Uint16Array(side * side);
  for (let y = 0; y < side; y++) {
    for (let x = 0; x < side; x++) {
      const distance = Math.hypot(x - (side - 1) / 2, y - (side - 1) / 2);
      cover[y * side + x] = Math.round(256 * STRENGTH * Math.min(1, Math.max(0, across / 2 + (side === 2 ? 0.75 : 0.5) - distance)));
    }
  }
  return { side, cover };
}

/** Mix a colour into the pixels below a disc: red and blue at once, then green. */
function blend(pixels, start, width, { side, cover }, colour) {
  const redBlue = colour & 0xff00ff;
  const green = colour & 0x00ff00;
  for (let row = 0, at = 0; row < side; row++, start += width) {
    for (let column = 0; column < side; column++, at++) {
      const share = cover[at];
      if (share === 0) continue;
      const old = pixels[start + column];
      const rb = old & 0xff00ff;
      const g = old & 0x00ff00;
      const mixedRb = (rb + (Math.imul(redBlue - rb, share) >> 8)) & 0xff00ff;
      const mixedG = (g + (Math.imul(green - g, share) >> 8)) & 0x00ff00;
      pixels[start + column] = (0xff000000 | mixedRb | mixedG) >>> 0;
    }
  }
}
