"use strict";
// What the page carries: its facts as JSON, and a map an element (heads/packed_map.h says how).

const about = JSON.parse(document.getElementById("about").textContent);
const nQueries = about.queries.length;
const nKeys = about.keys.length;
// Queries and keys are one sentence.
const same = nQueries === nKeys && about.queries.every((label, i) => label === about.keys[i]);

const at = (id) => document.getElementById(id);
const elementOf = (row, column) => at(`map-${row}-${column}`);
const count = (n, one, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;
// As many decimals as are right.
const decimals = about.largest_error < 5e-5 ? 4 : 3;
const spelt = (weight) => weight.toFixed(decimals);

function nameOf(row, column) {
  return (about.stack ? `layer ${about.layers[row]}, ` : "") + about.heads[column];
}

// A label for a place that cannot grow: no longer than is worth measuring.
function short(label) {
  return label.length > 64 ? label.slice(0, 63) + "\u2026" : label;
}

// The map at a place of the grid.
async function mapAt(row, column) {
  const text = atob(elementOf(row, column).textContent.trim());
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = await new Response(stream).arrayBuffer();
  const units = new Float32Array(bytes, 0, nQueries);
  const counts = new (about.bits === 16 ? Uint16Array : Uint8Array)(bytes, 4 * nQueries);
  const seesKeys = new Uint8Array(nQueries);
  let largest = 0;
  for (let i = 0; i < nQueries; ++i) {
    let most = 0;
    for (let j = i * nKeys; j < (i + 1) * nKeys; ++j) if (counts[j] > most) most = counts[j];
    largest = Math.max(largest, most * units[i]);
    seesKeys[i] = most > 0 ? 1 : 0;
  }
  return {units, counts, seesKeys, largest, weight: (i, j) => counts[i * nKeys + j] * units[i]};
}

// A colour "#rrggbb" as canvases store it.
function pixelOf(colour) {
  const rgb = parseInt(colour.slice(1), 16);
  return (0xff000000 | (rgb & 0xff) << 16 | rgb & 0xff00 | rgb >> 16) >>> 0;
}
const pixels = Uint32Array.from(about.colours, pixelOf);
const noKeyPixel = pixelOf(about.no_key_colour);

// Which of `n` rows or columns each of `length` pixels shows, from `first` on: as many as are
// in a pixel, begun. All show the same number, so that dense maps have no beats.
function bands(first, perPixel, length, n) {
  const starts = new Int32Array(length);
  for (let p = 0; p < length; ++p) starts[p] = Math.min(n - 1, Math.floor(first + p * perPixel + 1e-9));
  return {starts, length, width: Math.max(1, Math.ceil(perPixel - 1e-9)), n};
}

// Part of a map as pixels, coloured from 0 to `largest` by a power of the weight, as other
// pictures are (heads/cells.h); where a pixel stands for several weights, by the largest of
// them. `rows` and `columns` are bands().
function imageOf(map, largest, rows, columns) {
  const width = columns.length;
  const image = new ImageData(width, rows.length);
  const target = new Uint32Array(image.data.buffer);
  for (let y = 0; y < rows.length; ++y) {
    const begin = rows.starts[y];
    if (y > 0 && begin === rows.starts[y - 1]) {
      target.copyWithin(y * width, (y - 1) * width, y * width);
      continue;
    }
    const end = Math.min(rows.n, begin + rows.width);
    const seesKeys = map.seesKeys.subarray(begin, end).includes(1);
    for (let x = 0; x < width; ++x) {
      const first = columns.starts[x];
      const last = Math.min(columns.n, first + columns.width);
      let weight = 0;
      for (let i = begin; i < end; ++i) {
        let most = 0;
        for (let j = first; j < last; ++j) most = Math.max(most, map.counts[i * nKeys + j]);
        weight = Math.max(weight, most * map.units[i]);
      }
      target[y * width + x] = seesKeys ? pixels[largest > 0 ? Math.min(255, Math.round(255 * (weight / largest) ** about.power)) : 0] : noKeyPixel;
    }
  }
  return image;
}
