"use strict";
// Maps for the pages, and .npy files of them.
const fs = require("node:fs");
const path = require("node:path");

const folder = process.env.MHA_PAGE_FOLDER;

// Softmax rows of numbers that are the same on every run.
function softmaxMaps(shape, sharpness) {
  const n = shape[shape.length - 1];
  const weights = new Float32Array(shape.reduce((a, b) => a * b));
  let state = 1;
  for (let begin = 0; begin < weights.length; begin += n) {
    let sum = 0;
    for (let j = begin; j < begin + n; ++j) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      weights[j] = Math.exp(sharpness * 6 * (state / 2 ** 32 - 0.5));
      sum += weights[j];
    }
    for (let j = begin; j < begin + n; ++j) weights[j] /= sum;
  }
  return {shape, weights};
}

// Version 1 of the format, little-endian f4. Returns the path.
function writeNpy(name, {shape, weights}) {
  const header = `{'descr': '<f4', 'fortran_order': False, 'shape': (${shape.join(", ")}), }`;
  const padded = header.padEnd(Math.ceil((header.length + 11) / 64) * 64 - 11) + "\n";
  const start = Buffer.from("\x93NUMPY\x01\x00\x00\x00", "latin1");
  start.writeUInt16LE(padded.length, 8);
  const file = path.join(folder, `${name}.npy`);
  fs.writeFileSync(file, Buffer.concat([start, Buffer.from(padded), Buffer.from(weights.buffer)]));
  return file;
}

module.exports = {folder, softmaxMaps, writeNpy};
