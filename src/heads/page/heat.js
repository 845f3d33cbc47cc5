"use strict";
// One map large: a canvas as large as what can be seen of it, drawn anew when that scrolls, so
// that thousands of tokens need no larger one.

const heat = {
  map: null, row: 0, column: 0, // of the grid
  zoom: 1,
  selected: null, // {side: "query" or "key", index}
  hovered: null, // {query, key}
  // CSS pixels: of a cell, and around the cells.
  cellWidth: 1, cellHeight: 1, left: 0, top: 0, right: 0, slanted: false, longestLabel: 0,
};
const kLargestCell = 64;
const kSlope = 50 * Math.PI / 180;
// CSS pixels that labels may take of a width.
const longestLabelOf = (width) => Math.round(Math.max(56, Math.min(110, 0.16 * width)));
const kLineHeight = 14;

// Colours reach the largest weight of all maps, as in other pictures of them, or of each.
let ownScale = false;
const scaleOf = (map) => ownScale ? map.largest : about.largest;

const pen = at("heat").getContext("2d");
let font = "12px sans-serif";
const cutLabels = new Map();

// Every which label is shown where they are `size` pixels apart: all, or a few.
const stepOf = (size, needed = kLineHeight) => size >= needed ? 1 : Math.ceil(1.8 * needed / size);

// The label as far as it fits into `width` pixels.
function fitted(label, width, weight = "") {
  const key = `${weight}${width} ${label}`;
  if (!cutLabels.has(key)) {
    const characters = Array.from(short(label));
    let text = characters.join("");
    const before = pen.font;
    pen.font = weight + font;
    while (characters.length > 1 && pen.measureText(text).width > width) {
      characters.pop();
      text = characters.join("") + "\u2026";
    }
    pen.font = before;
    cutLabels.set(key, text);
  }
  return cutLabels.get(key);
}

const widestOf = (labels) => Math.max(...labels.map((label) => pen.measureText(short(label)).width));
let widest = {queries: 0, keys: 0}; // labels, uncut

function measureLabels() {
  font = `12px ${getComputedStyle(document.body).fontFamily}`;
  pen.font = font;
  cutLabels.clear();
  // A spread of 100000 arguments is too many for some engines.
  const inParts = (labels) => {
    let most = 0;
    for (let i = 0; i < labels.length; i += 1000) most = Math.max(most, widestOf(labels.slice(i, i + 1000)));
    return most;
  };
  widest = {queries: inParts(about.queries), keys: inParts(about.keys)};
}

// Sizes of cells and margins for the room there is.
function layOutHeat() {
  const scroller = at("scroller");
  const width = scroller.clientWidth;
  const height = Math.max(260, Math.min(window.innerHeight - 290, 760));
  const elongated = Math.max(nQueries, nKeys) > 3 * Math.min(nQueries, nKeys);
  heat.longestLabel = longestLabelOf(width);
  const longestKey = Math.min(widest.keys, heat.longestLabel);
  heat.left = Math.max(66, Math.ceil(Math.min(widest.queries, heat.longestLabel)) + 14);
  for (const slanted of [false, true]) {
    heat.slanted = slanted;
    heat.top = 22 + (slanted ? Math.ceil(longestKey * Math.sin(kSlope)) + 8 : 18);
    heat.right = slanted ? Math.ceil(longestKey * Math.cos(kSlope)) : 2;
    let cellWidth = Math.min(kLargestCell, (width - heat.left - heat.right) / nKeys);
    let cellHeight = Math.min(kLargestCell, (height - heat.top - 2) / nQueries);
    const square = Math.min(cellWidth, cellHeight);
    const most = elongated ? Math.max(24, square) : square;
    cellWidth = Math.min(cellWidth, most) * heat.zoom;
    cellHeight = Math.min(cellHeight, most) * heat.zoom;
    const whole = (size) => size >= 5 ? Math.floor(size) : size;
    heat.cellWidth = whole(cellWidth);
    heat.cellHeight = whole(cellHeight);
    if (widest.keys + 6 <= heat.cellWidth) break;
  }
  const sheetWidth = heat.left + nKeys * heat.cellWidth + heat.right;
  const sheetHeight = heat.top + nQueries * heat.cellHeight + 2;
  scroller.style.height = `${Math.min(height, Math.ceil(sheetHeight))}px`;
  at("sheet").style.width = `${Math.floor(sheetWidth)}px`;
  at("sheet").style.height = `${Math.floor(sheetHeight)}px`;
  const ratio = window.devicePixelRatio || 1;
  const canvas = at("heat");
  const shown = {width: Math.min(width, Math.floor(sheetWidth)), height: Math.min(scroller.clientHeight, Math.floor(sheetHeight))};
  canvas.style.width = `${shown.width}px`;
  canvas.style.height = `${shown.height}px`;
  const wide = Math.max(1, Math.round(shown.width * ratio));
  const high = Math.max(1, Math.round(shown.height * ratio));
  // Even the same size would clear it.
  if (canvas.width !== wide || canvas.height !== high) Object.assign(canvas, {width: wide, height: high});
}

// Where a row or column begins on the canvas, in CSS pixels.
const xOf = (key) => heat.left + key * heat.cellWidth - at("scroller").scrollLeft;
const yOf = (query) => heat.top + query * heat.cellHeight - at("scroller").scrollTop;

let image = null; // of the cells; kept while only marks move
let imageFor = "";

function drawCells(ratio) {
  const scroller = at("scroller");
  const width = Math.min(pen.canvas.width - Math.round(heat.left * ratio), Math.floor((nKeys * heat.cellWidth - scroller.scrollLeft) * ratio));
  const height = Math.min(pen.canvas.height - Math.round(heat.top * ratio), Math.floor((nQueries * heat.cellHeight - scroller.scrollTop) * ratio));
  if (width < 1 || height < 1) return;
  const shown = [scaleOf(heat.map), heat.row, heat.column, width, height, heat.cellWidth, heat.cellHeight, scroller.scrollLeft, scroller.scrollTop].join();
  if (shown !== imageFor) {
    const rows = bands(scroller.scrollTop / heat.cellHeight, 1 / (heat.cellHeight * ratio), height, nQueries);
    const columns = bands(scroller.scrollLeft / heat.cellWidth, 1 / (heat.cellWidth * ratio), width, nKeys);
    image = imageOf(heat.map, scaleOf(heat.map), rows, columns);
    imageFor = shown;
  }
  pen.putImageData(image, Math.round(heat.left * ratio), Math.round(heat.top * ratio));
}

// Thin lines between cells that are large enough for them.
function drawGaps(style) {
  if (Math.min(heat.cellWidth, heat.cellHeight) < 9) return;
  pen.fillStyle = style.getPropertyValue("--gap");
  const bottom = yOf(nQueries);
  const right = xOf(nKeys);
  for (let j = 1; j <= nKeys; ++j) pen.fillRect(xOf(j) - 1, heat.top, 1, bottom - heat.top);
  for (let i = 1; i <= nQueries; ++i) pen.fillRect(heat.left, yOf(i) - 1, right - heat.left, 1);
}

function drawMarks(style) {
  pen.strokeStyle = style.getPropertyValue("--mark");
  pen.lineWidth = 2;
  const {selected, hovered} = heat;
  const high = Math.max(heat.cellHeight, 3);
  const wide = Math.max(heat.cellWidth, 3);
  if (selected && selected.side === "query") {
    pen.strokeRect(heat.left - 1, yOf(selected.index) - 1, xOf(nKeys) - heat.left + 1, high + 1);
  } else if (selected) {
    pen.strokeRect(xOf(selected.index) - 1, heat.top - 1, wide + 1, yOf(nQueries) - heat.top + 1);
  }
  if (hovered) {
    pen.lineWidth = 1.5;
    pen.strokeRect(xOf(hovered.key) - 0.5, yOf(hovered.query) - 0.5, wide, high);
  }
}

// Labels of one axis: every so many that lines do not touch, and always the marked ones.
function drawLabels(style, labels, size, spacing, marked, draw) {
  const step = stepOf(size, spacing);
  const clear = marked.filter((i) => i !== undefined);
  for (let i = 0; i < labels.length; i += step) {
    if (clear.every((other) => Math.abs(i - other) * size >= spacing)) draw(i, style.getPropertyValue("--ink"), "");
  }
  clear.forEach((i, k) => {
    const chosen = k === 0 && heat.selected && heat.selected.index === i;
    draw(i, style.getPropertyValue(chosen ? "--accent" : "--ink"), "600 ");
  });
}

function drawAxes(style) {
  const {selected, hovered} = heat;
  const right = pen.canvas.clientWidth;
  const bottom = pen.canvas.clientHeight;
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  const rows = [selected && selected.side === "query" ? selected.index : undefined, hovered ? hovered.query : undefined];
  drawLabels(style, about.queries, heat.cellHeight, kLineHeight, rows, (i, colour, weight) => {
    const y = yOf(i) + heat.cellHeight / 2;
    if (y < heat.top || y > bottom) return;
    pen.font = weight + font;
    pen.fillStyle = colour;
    pen.fillText(fitted(about.queries[i], heat.longestLabel, weight), heat.left - 8, y);
  });
  const columns = [selected && selected.side === "key" ? selected.index : undefined, hovered ? hovered.key : undefined];
  const spacing = heat.slanted ? kLineHeight / Math.sin(kSlope) : 0;
  drawLabels(style, about.keys, heat.cellWidth, spacing, columns, (j, colour, weight) => {
    const x = xOf(j) + heat.cellWidth / 2;
    if (x < heat.left || x > right) return;
    pen.font = weight + font;
    pen.fillStyle = colour;
    pen.textAlign = heat.slanted ? "left" : "center";
    pen.save();
    pen.translate(x, heat.top - (heat.slanted ? 6 : 11));
    if (heat.slanted) pen.rotate(-kSlope);
    pen.fillText(fitted(about.keys[j], heat.longestLabel, weight), 0, 0);
    pen.restore();
  });
  pen.font = font.replace("12px", "11px");
  pen.fillStyle = style.getPropertyValue("--quiet");
  pen.textAlign = "left";
  pen.fillText("keys \u2192", heat.left, 8);
  pen.textAlign = "right";
  pen.fillText("queries \u2193", heat.left - 8, heat.top - 11);
}

function drawHeat() {
  if (!heat.map) return;
  const ratio = window.devicePixelRatio || 1;
  const style = getComputedStyle(document.body);
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.clearRect(0, 0, pen.canvas.width, pen.canvas.height);
  drawCells(ratio);
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.save();
  pen.beginPath();
  pen.rect(heat.left - 2, heat.top - 2, pen.canvas.clientWidth, pen.canvas.clientHeight);
  pen.clip();
  drawGaps(style);
  drawMarks(style);
  pen.restore();
  drawAxes(style);
}

// What lies under a pointer: {query, key}, either undefined on the labels of the other.
function placeUnder(event) {
  const box = at("heat").getBoundingClientRect();
  const x = event.clientX - box.left;
  const y = event.clientY - box.top;
  const key = Math.floor((x - xOf(0)) / heat.cellWidth);
  const query = Math.floor((y - yOf(0)) / heat.cellHeight);
  return {
    key: x >= heat.left && key < nKeys ? key : undefined,
    query: y >= heat.top && query < nQueries ? query : undefined,
  };
}

function zoomHeat(factor) {
  const scroller = at("scroller");
  const before = {x: scroller.scrollLeft / heat.cellWidth, y: scroller.scrollTop / heat.cellHeight};
  const least = Math.min(heat.cellWidth, heat.cellHeight) / heat.zoom;
  heat.zoom = factor === 0 ? 1 : Math.min(Math.max(1, kLargestCell / least), Math.max(1, heat.zoom * factor));
  layOutHeat();
  scroller.scrollLeft = before.x * heat.cellWidth;
  scroller.scrollTop = before.y * heat.cellHeight;
  revealSelected();
  drawHeat();
}

// Scrolls the selected row or column into sight.
function revealSelected() {
  const scroller = at("scroller");
  if (!heat.selected) return;
  if (heat.selected.side === "query") {
    const y = yOf(heat.selected.index);
    if (y < heat.top) scroller.scrollTop += y - heat.top;
    const beyond = y + heat.cellHeight - scroller.clientHeight;
    if (beyond > 0) scroller.scrollTop += beyond + 2;
  } else {
    const x = xOf(heat.selected.index);
    if (x < heat.left) scroller.scrollLeft += x - heat.left;
    const beyond = x + heat.cellWidth - scroller.clientWidth;
    if (beyond > 0) scroller.scrollLeft += beyond + 2;
  }
}
