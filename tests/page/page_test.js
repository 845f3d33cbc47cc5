"use strict";
// Pages of mha-maps in a real browser: ctest runs it with MHA_MAPS, the program, and
// MHA_PAGE_FOLDER, which holds node_modules (npm ci) and gets the pages and screenshots of them.
// MHA_CHROMIUM names another browser than Debian's.
const assert = require("node:assert/strict");
const {execFileSync} = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const {after, before, test} = require("node:test");
const {pathToFileURL} = require("node:url");
const {folder, softmaxMaps, writeNpy} = require("./maps.js");

const mhaMaps = process.env.MHA_MAPS;
const {chromium} = require(path.join(folder, "node_modules", "playwright-core"));

const kSentence = "the cat did not cross the road because it was too tired .".split(" ");
const kHostile = ["</script><img src=x onerror=hurt()>", "\"quoted'", "<b>bold</b>", "&amp;", "\u2028", "javascript:hurt()"];

// A page of these maps; returns where it is.
function render(name, maps, labels) {
  const npy = writeNpy(name, maps);
  const html = path.join(folder, `${name}.html`);
  const options = [...(labels ? ["--labels", labels.join(",")] : []), ...(maps.shape.length === 4 ? ["--axes", "layers"] : [])];
  execFileSync(mhaMaps, ["render", npy, "-o", html, ...options]);
  return html;
}

let browser;
const pages = {};
const maps = {
  sentence: softmaxMaps([2, 4, 13, 13], 2),
  cross: softmaxMaps([2, 3, 6], 1),
  hostile: softmaxMaps([1, 6, 6], 1),
  unseeing: softmaxMaps([1, 4, 4], 1),
  grid: softmaxMaps([12, 12, 13, 13], 3),
  long: softmaxMaps([4, 8, 512, 512], 0.8),
};
maps.unseeing.weights.fill(0, 4, 8);

before(async () => {
  pages.sentence = render("sentence", maps.sentence, kSentence);
  pages.wordy = render("wordy", maps.sentence, kSentence.map((word, i) => i === 6 ? "internationalisation" : word));
  pages.cross = render("cross", maps.cross);
  pages.hostile = render("hostile", maps.hostile, kHostile);
  pages.unseeing = render("unseeing", maps.unseeing);
  pages.grid = render("grid", maps.grid, kSentence);
  pages.long = render("long", maps.long, Array.from({length: 512}, (_, i) => kSentence[i % 13]));
  browser = await chromium.launch({
    executablePath: process.env.MHA_CHROMIUM || "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  });
});

after(() => browser?.close());

// Opens a page, lets `use` act on it, and holds it to what every page promises: no error, no
// warning, no request but for itself, no dialog.
async function withPage(html, use, options = {}) {
  const context = await browser.newContext({viewport: {width: 1280, height: 800}, colorScheme: "light", ...options});
  const page = await context.newPage();
  const faults = [];
  page.on("console", (message) => faults.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => { faults.push("a dialog"); dialog.dismiss(); });
  page.on("request", (request) => { if (!/^(file|data|blob):/.test(request.url())) faults.push(`request: ${request.url()}`); });
  try {
    await page.goto(pathToFileURL(html).href + (options.hash ?? ""));
    await page.waitForSelector("#weights tbody tr");
    await use(page);
    assert.deepEqual(faults, []);
  } finally {
    await context.close();
  }
}

// What the list shows: [{label, at, weight}].
const listed = (page) => page.$$eval("#weights tbody tr", (rows) => rows.map((row) => {
  const cells = Array.from(row.cells, (cell) => cell.textContent);
  return {label: cells[0], at: Number(cells[1]), weight: cells[2]};
}));

// The same from the maps: the weights of a query, the largest first.
function expected(kind, map, query, labels, most = 32) {
  const {shape, weights} = maps[kind];
  const n = shape.at(-1);
  const begin = (map * shape.at(-2) + query) * n;
  const row = Array.from(weights.subarray(begin, begin + n), (weight, at) => ({label: labels[at], at, weight}));
  row.sort((a, b) => b.weight - a.weight || a.at - b.at);
  return row.slice(0, most).map((entry) => ({...entry, weight: entry.weight.toFixed(4)}));
}

const byPlace = (entries) => entries.slice().sort((a, b) => a.at - b.at);
const clickToken = (page, at) => page.locator("#keys .token").nth(at).click();

// The middle of a cell of the large map, in the canvas.
const cellAt = (page, query, key) => page.evaluate(([i, j]) => ({
  x: xOf(j) + heat.cellWidth / 2, y: yOf(i) + heat.cellHeight / 2}), [query, key]);

test("a click on a token shows the numbers of its row", () => withPage(pages.sentence, async (page) => {
  assert.equal(await page.title(), await page.locator("#title").textContent());
  for (const query of [8, 0, 12]) {
    await clickToken(page, query);
    const rows = await listed(page);
    // Equal weights, as they are shown, may change places.
    assert.deepEqual(byPlace(rows), byPlace(expected("sentence", 0, query, kSentence)));
    assert.deepEqual(rows.map((row) => row.weight), expected("sentence", 0, query, kSentence).map((row) => row.weight));
    assert.equal(await page.locator("#reading-title").textContent(), kSentence[query]);
    assert.equal(await page.locator("#keys .token").nth(query).getAttribute("aria-pressed"), "true");
    assert.equal(await page.locator("#keys .token[aria-pressed=true]").count(), 1);
  }
  assert.ok(await page.locator("#lines path").count() > 5);
}));

test("a click on a thumbnail shows that head", () => withPage(pages.sentence, async (page) => {
  await page.click("#thumb-1-2");
  await page.waitForFunction(() => document.getElementById("map-name").textContent === "Layer 1, head 2");
  await clickToken(page, 5);
  assert.deepEqual(byPlace(await listed(page)), byPlace(expected("sentence", 6, 5, kSentence)));
}));

test("the large map answers clicks on cells, rows and columns", () => withPage(pages.sentence, async (page) => {
  const box = await page.locator("#heat").boundingBox();
  const cell = await cellAt(page, 8, 1);
  await page.mouse.click(box.x + cell.x, box.y + cell.y);
  assert.deepEqual(byPlace(await listed(page)), byPlace(expected("sentence", 0, 8, kSentence)));
  await page.mouse.click(box.x + 20, box.y + (await cellAt(page, 3, 0)).y);
  assert.deepEqual(byPlace(await listed(page)), byPlace(expected("sentence", 0, 3, kSentence)));
  // Above the cells: who reads that key.
  await page.mouse.click(box.x + cell.x, box.y + 60);
  const readers = Array.from({length: 13}, (_, i) => expected("sentence", 0, i, kSentence).find((row) => row.at === 1).weight);
  assert.deepEqual(byPlace(await listed(page)).map((row) => row.weight), readers);
  assert.equal(await page.locator("#side-key").getAttribute("aria-pressed"), "true");
}));

test("a pointer over a cell is told query, key and weight", () => withPage(pages.sentence, async (page) => {
  const box = await page.locator("#heat").boundingBox();
  assert.equal(await page.locator("#tip").isVisible(), false);
  for (const [query, key] of [[8, 1], [0, 0], [12, 12], [2, 11]]) {
    const cell = await cellAt(page, query, key);
    await page.mouse.move(box.x + cell.x, box.y + cell.y);
    const weight = expected("sentence", 0, query, kSentence).find((row) => row.at === key).weight;
    assert.equal(await page.locator("#tip").textContent(), `${kSentence[query]} \u2192 ${kSentence[key]}${weight}`);
  }
  await page.mouse.move(box.x + 5, box.y + 5);
  assert.equal(await page.locator("#tip").isVisible(), false);
}));

test("cells have the colour of their weight", () => withPage(pages.sentence, async (page) => {
  const {shape, weights} = maps.sentence;
  const largest = weights.reduce((a, b) => Math.max(a, b));
  const places = [[8, 1], [0, 0], [12, 12], [5, 7]];
  const {shown, colours} = await page.evaluate((cells) => {
    const {width, height} = pen.canvas;
    const pixels = pen.getImageData(0, 0, width, height).data;
    const hexadecimal = (x, y) => "#" + Array.from(pixels.slice(4 * (y * width + x), 4 * (y * width + x) + 3), (c) => c.toString(16).padStart(2, "0")).join("");
    return {
      shown: cells.map(([i, j]) => hexadecimal(Math.round(xOf(j) + heat.cellWidth / 2), Math.round(yOf(i) + heat.cellHeight / 2))),
      colours: about.colours,
    };
  }, places);
  places.forEach(([query, key], k) => {
    const shade = 255 * weights[query * shape[3] + key] / largest;
    const near = [Math.floor(shade), Math.ceil(shade)].map((i) => colours[i]);
    assert.ok(near.includes(shown[k]), `${shown[k]} is not ${near}`);
  });
}));

test("a long label is cut to its room", () => withPage(pages.wordy, async (page) => {
  for (const at of [0, 6]) {
    await clickToken(page, at);
    const beyond = await page.evaluate(() => {
      const room = document.getElementById("lines").getBoundingClientRect();
      return Array.from(document.querySelectorAll("#lines text"), (text) => text.getBoundingClientRect())
        .filter((box) => box.left < room.left - 1 || box.right > room.right + 1).length;
    });
    assert.equal(beyond, 0);
  }
}));

test("keys move over tokens, heads and layers", () => withPage(pages.sentence, async (page) => {
  const place = () => page.evaluate(() => `${heat.row}.${heat.column} ${heat.selected.side} ${heat.selected.index}`);
  const press = async (key, wanted) => {
    await page.keyboard.press(key);
    await page.waitForFunction((text) => `${heat.row}.${heat.column} ${heat.selected.side} ${heat.selected.index}` === text, wanted, {timeout: 5000})
      .catch(async () => assert.equal(await place(), wanted, key));
  };
  await press("ArrowDown", "0.0 query 1");
  await press("End", "0.0 query 12");
  await press("ArrowDown", "0.0 query 12");
  await press("ArrowUp", "0.0 query 11");
  await press("ArrowRight", "0.1 query 11");
  await press("Shift+ArrowDown", "1.1 query 11");
  await press("Shift+ArrowDown", "1.1 query 11");
  await press("ArrowLeft", "1.0 query 11");
  await press("ArrowLeft", "1.0 query 11");
  await press("r", "1.0 key 11");
  await press("Home", "1.0 key 0");
  await press("Shift+ArrowUp", "0.0 key 0");
  await page.keyboard.press("?");
  assert.equal(await page.locator("#help").isVisible(), true);
  await page.keyboard.press("ArrowDown");
  assert.equal(await place(), "0.0 key 0");
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("#help").isVisible(), false);
}));

test("Tab reaches tokens and heads, where focus is seen", () => withPage(pages.sentence, async (page) => {
  const seen = [];
  for (let i = 0; i < 12; ++i) {
    await page.keyboard.press("Tab");
    seen.push(await page.evaluate(() => [document.activeElement.id || document.activeElement.className, getComputedStyle(document.activeElement).outlineStyle].join(" ")));
  }
  for (const wanted of ["theme solid", "token solid", "thumb-0-0 solid", "side-key solid"]) assert.ok(seen.includes(wanted), `${wanted} in ${seen}`);
}));

test("the page is light or dark, as the system says or the reader", async () => {
  const ground = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  let light;
  await withPage(pages.sentence, async (page) => { light = await ground(page); });
  await withPage(pages.sentence, async (page) => {
    const dark = await ground(page);
    assert.notEqual(dark, light);
    await page.click("#theme");
    assert.equal(await ground(page), light);
    await page.keyboard.press("t");
    assert.equal(await ground(page), dark);
  }, {colorScheme: "dark"});
});

test("a hostile label stays text", () => withPage(pages.hostile, async (page) => {
  const shown = await page.locator("#keys .token").allTextContents();
  // U+2028 is a control character to the terminal, and so it is here.
  assert.deepEqual(shown, kHostile.map((label) => label === "\u2028" ? "\\xE2\\x80\\xA8" : label));
  for (let at = 0; at < 6; ++at) {
    await clickToken(page, at);
    assert.equal(await page.locator("#reading-title").textContent(), shown[at]);
  }
  const box = await page.locator("#heat").boundingBox();
  const cell = await cellAt(page, 0, 2);
  await page.mouse.move(box.x + cell.x, box.y + cell.y);
  assert.ok((await page.locator("#tip").textContent()).startsWith(`${kHostile[0]} \u2192 ${kHostile[2]}`));
  assert.equal(await page.locator("img, b:not(#tip b), [onerror], a").count(), 0);
}));

test("the policy stops what a page does not ask for", async () => {
  const page = await browser.newPage();
  await page.goto(pathToFileURL(pages.cross).href);
  const outcome = await page.evaluate(async () => {
    document.body.insertAdjacentHTML("beforeend", "<img src=x onerror='window.hurt = 1'><a onclick='window.hurt = 2'>");
    document.body.lastElementChild.click();
    const script = document.createElement("script");
    script.textContent = "window.hurt = 3";
    document.body.append(script);
    const fetched = await fetch("https://example.org/").then(() => "fetched", () => "refused");
    await new Promise((done) => setTimeout(done, 100));
    return [window.hurt ?? "unhurt", fetched];
  });
  assert.deepEqual(outcome, ["unhurt", "refused"]);
  await page.close();
});

test("queries and keys may be different tokens", () => withPage(pages.cross, async (page) => {
  assert.equal(await page.locator("#queries .token").count(), 3);
  assert.equal(await page.locator("#keys .token").count(), 6);
  await page.locator("#queries .token").nth(2).click();
  const labels = ["0", "1", "2", "3", "4", "5"];
  assert.deepEqual(byPlace(await listed(page)), byPlace(expected("cross", 0, 2, labels)));
  await page.locator("#keys .token").nth(5).click();
  const readers = [0, 1, 2].map((i) => expected("cross", 0, i, labels).find((row) => row.at === 5).weight);
  assert.deepEqual(byPlace(await listed(page)).map((row) => row.weight), readers);
}));

test("a query that sees no key says so", () => withPage(pages.unseeing, async (page) => {
  await clickToken(page, 1);
  assert.equal(await page.locator("#rest").textContent(), "It sees no key.");
  assert.equal(await page.locator("#lines path").count(), 0);
  const grey = await page.evaluate(() => [Array.from(pen.getImageData(xOf(2) + 5, yOf(1) + 5, 1, 1).data), about.no_key_colour]);
  assert.equal("#" + grey[0].slice(0, 3).map((c) => c.toString(16)).join(""), grey[1]);
}));

test("the map follows the window's size", () => withPage(pages.sentence, async (page) => {
  const before = await page.evaluate(() => heat.cellWidth);
  await page.setViewportSize({width: 390, height: 844});
  await page.waitForFunction((wide) => heat.cellWidth < wide && pen.canvas.clientWidth <= innerWidth, before);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
}));

test("an address leads to its head and token", async () => {
  await withPage(pages.sentence, async (page) => {
    assert.equal(await page.locator("#map-name").textContent(), "Layer 1, head 3");
    assert.deepEqual(byPlace(await listed(page)), byPlace(expected("sentence", 7, 8, kSentence)));
    await page.keyboard.press("ArrowDown");
    assert.match(page.url(), /#map=1\.3&query=9$/);
  }, {hash: "#map=1.3&query=8"});
  await withPage(pages.sentence, async (page) => {
    assert.equal(await page.locator("#map-name").textContent(), "Layer 0, head 0");
  }, {hash: "#map=7.3&query=99"});
});

test("maps that are left out leave a place and a note", async () => {
  const html = path.join(folder, "left_out.html");
  fs.writeFileSync(html, fs.readFileSync(pages.sentence, "utf8").replace(/<script type="application\/octet-stream" id="map-1-3">.*?<\/script>/s, ""));
  await withPage(html, async (page) => {
    assert.match(await page.locator("#notice").textContent(), /^1 of 8 maps are left out/);
    assert.equal(await page.locator("#grid .missing").count(), 1);
    await page.click("#thumb-1-2");
    await page.keyboard.press("ArrowRight");
    assert.match(page.url(), /#map=1\.2&/);
  });
});

test("a page of 32 maps of 512 tokens opens fast and is read", () => withPage(pages.long, async (page) => {
  assert.ok(fs.statSync(pages.long).size < 20e6);
  const opened = await page.evaluate(() => performance.now());
  assert.ok(opened < 15000, `${opened} ms`);
  assert.match(await page.locator("#precision").textContent(), /8 bits.*within 0\.0000[1-9] of/);
  await clickToken(page, 300);
  const rows = await listed(page);
  assert.match(await page.locator("#largest").textContent(), /^[01][.]\d+ [(]middle 0[.]\d+[)]$/);
  const wanted = expected("long", 0, 300, Array(512).fill(""));
  assert.equal(rows.length, 32);
  rows.forEach((row, i) => assert.ok(Math.abs(Number(row.weight) - Number(wanted[i].weight)) < 1.5e-4, `${row.weight} ${wanted[i].weight}`));
  assert.match(await page.locator("#rest").textContent(), /^480 more, together 0\.\d{4}$/);
  // Larger cells, scrolled to the selected row; then all of them in sight again.
  for (let i = 0; i < 8; ++i) await page.keyboard.press("+");
  const zoomed = await page.evaluate(() => ({cell: heat.cellHeight, y: yOf(300), top: heat.top, bottom: at("scroller").clientHeight}));
  assert.ok(zoomed.cell > 20 && zoomed.y >= zoomed.top - 1 && zoomed.y + zoomed.cell <= zoomed.bottom + 1, JSON.stringify(zoomed));
  await page.screenshot({path: path.join(folder, "long-zoomed.png")});
  await page.keyboard.press("0");
  assert.ok(await page.evaluate(() => heat.cellHeight) < 2);
}));

// To be looked at.
for (const [name, colorScheme, width, height] of [
  ["sentence", "light", 1280, 800], ["sentence", "dark", 1280, 800], ["sentence", "light", 390, 1800],
  ["grid", "dark", 1280, 800], ["grid", "light", 390, 1800], ["hostile", "light", 390, 1800],
  ["long", "light", 1280, 800], ["long", "dark", 390, 1800]]) {
  test(`${name} fits ${width} x ${height}, ${colorScheme}`, () => withPage(pages[name], async (page) => {
    await page.waitForSelector("body[data-drawn]", {timeout: 60000});
    await page.screenshot({path: path.join(folder, `${name}-${colorScheme}-${width}.png`)});
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "wider than the window");
  }, {viewport: {width, height}, colorScheme}));
}
