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
const decimals = about.bits === 16 ? 4 : 3;
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

// Which of `n` rows or columns each of `length` pixels shows, from `first` on: pixel p those
// from starts[p] up to starts[p + 1], at least one.
function starts(first, perPixel, length, n) {
  const result = new Int32Array(length + 1);
  for (let p = 0; p <= length; ++p) {
    result[p] = Math.min(p < length ? n - 1 : n, Math.floor(first + p * perPixel + 1e-9));
  }
  return result;
}

// Part of a map as pixels, coloured from 0 to `largest`; where a pixel stands for several
// weights, by the largest of them. `rows` and `columns` are starts().
function imageOf(map, largest, rows, columns) {
  const height = rows.length - 1;
  const width = columns.length - 1;
  const image = new ImageData(width, height);
  const target = new Uint32Array(image.data.buffer);
  const shades = largest > 0 ? 255 / largest : 0;
  for (let y = 0; y < height; ++y) {
    if (y > 0 && rows[y] === rows[y - 1]) {
      target.copyWithin(y * width, (y - 1) * width, y * width);
      continue;
    }
    const end = Math.max(rows[y] + 1, rows[y + 1]);
    const seesKeys = map.seesKeys.subarray(rows[y], end).includes(1);
    for (let x = 0; x < width; ++x) {
      let weight = 0;
      for (let i = rows[y]; i < end; ++i) {
        let most = 0;
        for (let j = columns[x]; j < Math.max(columns[x] + 1, columns[x + 1]); ++j) {
          if (map.counts[i * nKeys + j] > most) most = map.counts[i * nKeys + j];
        }
        weight = Math.max(weight, most * map.units[i]);
      }
      target[y * width + x] = seesKeys ? pixels[Math.min(255, Math.round(shades * weight))] : noKeyPixel;
    }
  }
  return image;
}
