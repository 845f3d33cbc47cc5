"use strict";
// One token's weights: over the sentence, as lines, as numbers.

const kMostLines = 200;
const kMostNumbers = 32;
const kSvg = "http://www.w3.org/2000/svg";

// What the selection is about: a query and the keys it reads, or a key and the queries that
// read it.
function readingOf(map, selected) {
  const fromQuery = selected.side === "query";
  const others = fromQuery ? about.keys : about.queries;
  const weights = Float64Array.from(others, (_, i) => fromQuery ? map.weight(selected.index, i) : map.weight(i, selected.index));
  const order = Array.from(weights.keys()).sort((a, b) => weights[b] - weights[a] || a - b);
  return {fromQuery, own: fromQuery ? about.queries : about.keys, others, weights, order, index: selected.index};
}

function make(name, properties, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

function makeSvg(name, attributes) {
  const element = document.createElementNS(kSvg, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

// A button a token; `choose(index)` on a click.
function fillStrip(strip, labels, choose) {
  strip.replaceChildren(...labels.map((label, i) => {
    const token = make("button", {type: "button", className: "token", tabIndex: -1}, short(label) || "\u00a0");
    token.setAttribute("aria-label", `${short(label)}, at ${i}`);
    token.addEventListener("click", () => choose(i));
    return token;
  }));
}

// Which token of a strip is selected, and the weights as colours behind the tokens, if any.
function paintStrip(strip, selected, weights) {
  const most = weights ? Math.max(1e-9, weights.reduce((a, b) => Math.max(a, b), 0)) : 0;
  for (const [i, token] of Array.from(strip.children).entries()) {
    // Never so strong that the text on it would be hard to read.
    const share = weights ? Math.round(50 * weights[i] / most) : 0;
    token.style.background = `color-mix(in srgb, var(--accent) ${share}%, var(--raised))`;
    token.setAttribute("aria-pressed", String(i === selected));
    token.tabIndex = i === (selected ?? 0) ? 0 : -1;
  }
  const token = strip.children[selected ?? 0];
  if (token.offsetTop < strip.scrollTop || token.offsetTop + token.offsetHeight > strip.scrollTop + strip.clientHeight) {
    strip.scrollTop = token.offsetTop - strip.clientHeight / 2;
  }
}

// Curves from the queries on the left to the keys on the right.
function drawLines(reading, choose) {
  const svg = at("lines");
  const width = svg.clientWidth;
  const height = Math.min(520, Math.max(120, Math.max(nQueries, nKeys) * 24));
  svg.style.height = `${height}px`;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const longest = Math.round(Math.min(110, 0.28 * width));
  const gutter = Math.min(longest, Math.max(widest.queries, widest.keys)) + 12;
  const y = (i, n) => (i + 0.5) * height / n;
  const most = reading.weights[reading.order[0]];
  const ownY = y(reading.index, reading.own.length);
  const parts = [];
  const partners = reading.order.slice(0, kMostLines).filter((i) => reading.weights[i] > most / 200);
  for (const i of partners.slice().reverse()) {
    const weight = reading.weights[i];
    const otherY = y(i, reading.others.length);
    const [from, to] = reading.fromQuery ? [ownY, otherY] : [otherY, ownY];
    const middle = width / 2;
    parts.push(makeSvg("path", {
      d: `M${gutter} ${from}C${middle} ${from} ${middle} ${to} ${width - gutter} ${to}`,
      "stroke-width": (1 + 9 * weight).toFixed(2),
      "stroke-opacity": (0.12 + 0.83 * weight / most).toFixed(3),
    }));
  }
  const column = (labels, side, priority, chosen) => {
    const step = stepOf(height / labels.length);
    const regular = [];
    for (let i = 0; i < labels.length; i += step) regular.push(i);
    const placed = [];
    for (const i of [...priority, ...regular]) {
      const place = y(i, labels.length);
      if (placed.some((other) => Math.abs(other - place) < kLineHeight - 0.5)) continue;
      placed.push(place);
      const left = side === "query";
      const text = makeSvg("text", {
        x: left ? gutter - 8 : width - gutter + 8, y: place, "text-anchor": left ? "end" : "start",
        class: i === chosen ? "chosen" : priority.includes(i) ? "" : "faint",
      });
      text.textContent = fitted(labels[i], longest, i === chosen ? "600 " : "");
      text.addEventListener("click", () => choose(side, i));
      parts.push(text);
    }
  };
  const top = partners.slice(0, 40);
  const own = [reading.index];
  column(about.queries, "query", reading.fromQuery ? own : top, reading.fromQuery ? reading.index : -1);
  column(about.keys, "key", reading.fromQuery ? top : own, reading.fromQuery ? -1 : reading.index);
  svg.replaceChildren(...parts);
}

function listNumbers(reading, choose) {
  const most = reading.weights[reading.order[0]];
  const shown = reading.order.slice(0, kMostNumbers);
  at("weights-token").textContent = reading.fromQuery ? "key" : "query";
  at("weights").tBodies[0].replaceChildren(...shown.map((i) => {
    const weight = reading.weights[i];
    const bar = make("div", {className: "weight-bar"});
    bar.style.width = `${most > 0 ? 100 * weight / most : 0}%`;
    const row = make("tr", {},
      make("td", {className: "label"}, make("bdi", {}, short(reading.others[i]))),
      make("td", {className: "number quiet"}, String(i)),
      make("td", {className: "number"}, spelt(weight)),
      make("td", {className: "bar-cell"}, bar));
    row.addEventListener("click", () => choose(reading.fromQuery ? "key" : "query", i));
    return row;
  }));
  const left = reading.order.slice(kMostNumbers);
  const together = left.reduce((sum, i) => sum + reading.weights[i], 0);
  at("rest").textContent = most === 0 ? (reading.fromQuery ? "It sees no key." : "No query reads it.")
    : left.length > 0 ? `${left.length} more, together ${spelt(together)}` : "";
}

function describe(reading, name) {
  const label = short(reading.own[reading.index]);
  const most = reading.weights[reading.order[0]];
  const first = reading.order.slice(0, 3).map((i) => `${short(reading.others[i])} ${spelt(reading.weights[i])}`);
  if (most === 0) return reading.fromQuery ? `${label} sees no key in ${name}` : `no query reads ${label} in ${name}`;
  return `${label} ${reading.fromQuery ? "reads" : "is read by"} ${first.join(", ")} in ${name}`;
}

function showReading(reading, name, choose) {
  at("reading-title").replaceChildren(make("bdi", {}, short(reading.own[reading.index]) || "\u00a0"));
  at("side-query").setAttribute("aria-pressed", String(reading.fromQuery));
  at("side-key").setAttribute("aria-pressed", String(!reading.fromQuery));
  if (same) {
    paintStrip(at("keys"), reading.index, reading.weights);
  } else {
    paintStrip(at("queries"), reading.fromQuery ? reading.index : undefined, reading.fromQuery ? null : reading.weights);
    paintStrip(at("keys"), reading.fromQuery ? undefined : reading.index, reading.fromQuery ? reading.weights : null);
  }
  drawLines(reading, choose);
  listNumbers(reading, choose);
  at("spoken").textContent = describe(reading, name);
}
