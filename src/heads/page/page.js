"use strict";
// The grid of heads, what is selected, and the keys and clicks that change it.

const nRows = about.layers.length;
const nColumns = about.heads.length;
const state = {row: 0, column: 0, side: "query", index: 0};

const has = (row, column) => row >= 0 && row < nRows && column >= 0 && column < nColumns && elementOf(row, column) !== null;
const lengthOf = (side) => side === "query" ? nQueries : nKeys;

// Only what is selected last is shown, in whatever order maps are unpacked.
let turn = 0;

async function show() {
  const mine = ++turn;
  if (!heat.map || heat.row !== state.row || heat.column !== state.column) {
    const map = await mapAt(state.row, state.column);
    if (mine !== turn) return;
    Object.assign(heat, {map, row: state.row, column: state.column, hovered: null});
    showMapName();
    showScale();
  }
  heat.selected = {side: state.side, index: state.index};
  revealSelected();
  drawHeat();
  showReading(readingOf(heat.map, heat.selected), nameOf(state.row, state.column), choose);
  keepInAddress();
}

function showMapName() {
  const name = nameOf(state.row, state.column);
  at("map-name").textContent = name.charAt(0).toUpperCase() + name.slice(1);
  at("heat").setAttribute("aria-label", `Heat map of ${name}: ${count(nQueries, "query", "queries")} by ${count(nKeys, "key")}, largest weight ${spelt(heat.map.largest)}`);
  for (const thumb of document.querySelectorAll(".thumb")) {
    const chosen = thumb.id === `thumb-${state.row}-${state.column}`;
    thumb.setAttribute("aria-pressed", String(chosen));
    thumb.tabIndex = chosen ? 0 : -1;
    if (chosen && at("grid").contains(document.activeElement)) thumb.focus();
  }
}

function choose(side, index) {
  Object.assign(state, {side, index: Math.max(0, Math.min(lengthOf(side) - 1, index))});
  return show();
}

function chooseMap(row, column) {
  if (!has(row, column)) return;
  Object.assign(state, {row, column});
  show();
}

// In the strip that both queries and keys are, a click keeps the direction.
function fillSentence() {
  if (same) {
    at("keys-title").textContent = "Tokens";
    fillStrip(at("keys"), about.keys, (i) => choose(state.side, i));
    return;
  }
  at("queries-strip").hidden = false;
  at("queries-title").textContent = "Queries";
  at("keys-title").textContent = "Keys";
  fillStrip(at("queries"), about.queries, (i) => choose("query", i));
  fillStrip(at("keys"), about.keys, (i) => choose("key", i));
}

// A row a layer, a column a head; maps that were left out have a place without a button.
function fillGrid() {
  const grid = at("grid");
  const size = Math.max(22, Math.min(64, Math.floor(336 / nColumns) - 4));
  grid.style.gridTemplateColumns = `max-content repeat(${nColumns}, ${size}px)`;
  grid.append(make("span", {}));
  about.heads.forEach((head, column) => grid.append(make("span", {className: "axis", title: head}, String(head.match(/\d+$/) ?? "mean"))));
  for (let row = 0; row < nRows; ++row) {
    grid.append(make("span", {className: "axis"}, about.stack ? String(about.layers[row]) : ""));
    for (let column = 0; column < nColumns; ++column) {
      const name = nameOf(row, column);
      const there = has(row, column);
      const thumb = make(there ? "button" : "span", {className: there ? "thumb" : "missing", title: there ? name : `${name}: left out`});
      thumb.style.height = `${size}px`;
      if (there) {
        Object.assign(thumb, {type: "button", id: `thumb-${row}-${column}`});
        thumb.setAttribute("aria-label", name);
        thumb.append(make("canvas", {}));
        thumb.addEventListener("click", () => chooseMap(row, column));
      }
      grid.append(thumb);
    }
  }
}

let drawing = 0;

// One after another, so that the page answers in between.
async function drawThumbs() {
  const mine = ++drawing;
  const most = 128;
  for (const thumb of document.querySelectorAll(".thumb")) {
    const [row, column] = thumb.id.split("-").slice(1).map(Number);
    const map = await mapAt(row, column);
    if (mine !== drawing) return;
    const height = Math.min(nQueries, most);
    const width = Math.min(nKeys, most);
    const canvas = thumb.firstElementChild;
    Object.assign(canvas, {width, height});
    canvas.getContext("2d").putImageData(
      imageOf(map, scaleOf(map), bands(0, nQueries / height, height, nQueries), bands(0, nKeys / width, width, nKeys)), 0, 0);
  }
  document.body.dataset.drawn = "yes";
}

function fillFacts() {
  const title = about.title || "Attention maps";
  document.title = title;
  at("title").textContent = title;
  at("facts").textContent = [
    about.stack ? count(nRows, "layer") : "", count(nColumns, "head"),
    same ? count(nKeys, "token") : `${count(nQueries, "query", "queries")}, ${count(nKeys, "key")}`,
  ].filter(Boolean).join(" \u00b7 ");
  at("grid-axes").hidden = !about.stack;
  const leftOut = nRows * nColumns - document.querySelectorAll("script[id^=map-]").length;
  if (leftOut > 0) {
    at("notice").hidden = false;
    at("notice").textContent = `${leftOut} of ${nRows * nColumns} maps are left out, so that this file stays under ${about.limit}: the empty places among the heads.`;
  }
  at("precision").textContent = about.bits === 16
    ? "Weights are kept in 16 bits; all four decimals are right."
    : `Weights are kept in 8 bits, so that this file stays under ${about.limit}; they are within ${(Math.ceil(1e5 * about.largest_error) / 1e5).toFixed(5)} of the computed ones.`;
  const ramp = at("ramp").getContext("2d");
  const scale = new ImageData(256, 1);
  new Uint32Array(scale.data.buffer).set(pixels);
  ramp.putImageData(scale, 0, 0);
}

const isDark = () => (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

function showTheme() {
  at("theme").textContent = isDark() ? "Light" : "Dark";
  drawHeat();
}

function switchTheme() {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  showTheme();
}

function showScale() {
  const largest = scaleOf(heat.map);
  at("largest").textContent = spelt(largest) + (about.power === 1 ? "" : ` (middle ${spelt(largest * 0.5 ** (1 / about.power))})`);
  at("scale-all").setAttribute("aria-pressed", String(!ownScale));
  at("scale-own").setAttribute("aria-pressed", String(ownScale));
}

function switchScale(own) {
  ownScale = own;
  showScale();
  drawHeat();
  drawThumbs();
}

const switchSide = (side) => choose(side, state.index);

// "#map=1.3&query=5": places in the grid and in the sentence, counted from 0.
function keepInAddress() {
  history.replaceState(null, "", `#map=${state.row}.${state.column}&${state.side}=${state.index}`);
}

function readAddress() {
  const match = /^#map=(\d+)\.(\d+)&(query|key)=(\d+)$/.exec(location.hash);
  if (!match || !has(Number(match[1]), Number(match[2]))) return;
  Object.assign(state, {row: Number(match[1]), column: Number(match[2])});
  state.side = match[3];
  state.index = Math.min(lengthOf(state.side) - 1, Number(match[4]));
}

const actions = {
  ArrowUp: () => choose(state.side, state.index - 1),
  ArrowDown: () => choose(state.side, state.index + 1),
  ArrowLeft: () => chooseMap(state.row, state.column - 1),
  ArrowRight: () => chooseMap(state.row, state.column + 1),
  "Shift ArrowUp": () => chooseMap(state.row - 1, state.column),
  "Shift ArrowDown": () => chooseMap(state.row + 1, state.column),
  Home: () => choose(state.side, 0),
  End: () => choose(state.side, lengthOf(state.side) - 1),
  r: () => switchSide(state.side === "query" ? "key" : "query"),
  "+": () => zoomHeat(1.6),
  "-": () => zoomHeat(1 / 1.6),
  0: () => zoomHeat(0),
  s: () => switchScale(!ownScale),
  t: switchTheme,
  "?": () => at("help").showModal(),
};

function listen() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || at("help").open) return;
    const arrow = event.key.startsWith("Arrow");
    const action = actions[(event.shiftKey && arrow ? "Shift " : "") + event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  at("theme").addEventListener("click", switchTheme);
  at("help-button").addEventListener("click", () => at("help").showModal());
  at("side-query").addEventListener("click", () => switchSide("query"));
  at("side-key").addEventListener("click", () => switchSide("key"));
  at("scale-all").addEventListener("click", () => switchScale(false));
  at("scale-own").addEventListener("click", () => switchScale(true));
  at("zoom-in").addEventListener("click", () => zoomHeat(1.6));
  at("zoom-out").addEventListener("click", () => zoomHeat(1 / 1.6));
  at("zoom-fit").addEventListener("click", () => zoomHeat(0));
  at("scroller").addEventListener("scroll", () => requestAnimationFrame(drawHeat));
  at("heat").addEventListener("click", (event) => {
    const {query, key} = placeUnder(event);
    if (query !== undefined) choose("query", query);
    else if (key !== undefined) choose("key", key);
  });
  at("heat").addEventListener("pointermove", hover);
  at("heat").addEventListener("pointerleave", hover);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showTheme);
  window.addEventListener("hashchange", () => { readAddress(); show(); });
  let resized;
  window.addEventListener("resize", () => {
    clearTimeout(resized);
    resized = setTimeout(() => { layOutHeat(); show(); }, 60);
  });
}

function hover(event) {
  if (!heat.map) return;
  const {query, key} = event.type === "pointerleave" ? {} : placeUnder(event);
  heat.hovered = query === undefined || key === undefined ? null : {query, key};
  const tip = at("tip");
  tip.hidden = heat.hovered === null;
  if (heat.hovered) {
    tip.replaceChildren(make("bdi", {}, short(about.queries[query])), " \u2192 ", make("bdi", {}, short(about.keys[key])), make("b", {}, spelt(heat.map.weight(query, key))));
    const left = Math.min(event.clientX + 14, document.documentElement.clientWidth - tip.offsetWidth - 8);
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${event.clientY + 18 + tip.offsetHeight > window.innerHeight ? event.clientY - 12 - tip.offsetHeight : event.clientY + 18}px`;
  }
  drawHeat();
}

fillFacts();
fillSentence();
fillGrid();
measureLabels();
layOutHeat();
readAddress();
showTheme();
listen();
show().then(drawThumbs);
