// Tests of the page in headless Chromium. The first argument is a folder with the pages of tests/python/synthetic.py;
// with a second one, screenshots are written there. With --times, a page that opens too slowly fails.

import assert from "node:assert/strict";
import { mkdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { withBrowser } from "./browser.mjs";

const times = process.argv.includes("--times");
const [folder, pictures] = process.argv.slice(2).filter((word) => word !== "--times");
if (!folder) throw new Error("usage: node test/page.mjs FOLDER [PICTURES] [--times]");
if (pictures) await mkdir(pictures, { recursive: true });

const frames = (page, count = 2) =>
  page.evaluate(async (count) => {
    for (let i = 0; i < count; i++) await new Promise(requestAnimationFrame);
  }, count);

async function open(browser, name) {
  const page = await browser.newPage();
  const problems = [];
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && problems.push(message.text()));
  page.on("request", (request) => !/^(file|data):/.test(request.url()) && problems.push(`requested ${request.url()}`));
  const start = performance.now();
  await page.goto(pathToFileURL(resolve(folder, `${name}.html`)).href);
  await page.waitForFunction(() => window.forerun);
  await frames(page);
  return { page, problems, took: performance.now() - start };
}

const text = (page, selector) => page.locator(selector).innerText();
const span = (page) => page.evaluate(() => window.forerun.timeline.view.span);
const selected = (page) => page.evaluate(() => window.forerun.timeline.selected);
const inked = (page) =>
  page.evaluate(() => {
    const canvas = document.getElementById("timeline");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return data.reduce((sum, value, i) => sum + (i % 4 === 3 && value > 0 ? 1 : 0), 0);
  });

const tests = {
  async "shows the figures of the report"(browser) {
    const { page, problems } = await open(browser, "small");
    assert.match(await page.title(), /train\.py/);
    assert.match(await text(page, "#facts"), /200 ms[^]*80\.0 %[^]*80[^]*60[^]*20/);
    assert.match(await text(page, "#advice"), /project\/train\.py:15 reads a value every step; 80\s% of the time is spent waiting there, 74\s% of that for matmul at project\/train\.py:12/);
    const first = page.locator("#table tbody tr").first();
    const cells = await first.locator("td").allInnerTexts();
    assert.deepEqual(cells.map((cell) => cell.trim()), [
      "project/train.py:12", "matmul", "120.00", "60.0 %", "20", "1.56 MB", "100 GFLOP/s", "no",
    ]);
    await page.click("#tab-waits");
    assert.match(await text(page, "#table"), /project\/train\.py:15\s+item\s+20\s+160\.00\s+80\.0 %\s+160\.00\s+0\.00\s+matmul at project\/train\.py:12 73\.8 %/);
    await page.click("#tab-memory");
    assert.match(await text(page, "#table"), /matmul\s+40 kB\s+0 B\s+800 kB\s+20/);
    assert.ok((await inked(page)) > 10_000, "the timeline is drawn");
    assert.deepEqual(problems, []);
  },

  async "sorts its tables"(browser) {
    const { page } = await open(browser, "small");
    const ops = async () => (await page.locator("#table tbody td:nth-child(2)").allInnerTexts()).map((op) => op.trim());
    assert.equal((await ops())[0], "matmul");
    await page.click("#table th:nth-child(3) button");
    assert.equal((await ops())[0], "sum");
    await page.click("#table th:nth-child(2) button");
    assert.deepEqual(await ops(), ["add", "matmul", "multiply", "sum"]);
    assert.equal(await page.locator("#table th:nth-child(2)").getAttribute("aria-sort"), "ascending");
  },

  async "zooms and moves with wheel, buttons and keys"(browser) {
    const { page } = await open(browser, "small");
    const whole = await span(page);
    const { x, y, width } = await page.locator("#timeline").boundingBox();
    await page.mouse.move(x + width / 2, y + 60);
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -200);
    await page.keyboard.up("Control");
    await frames(page);
    const closer = await span(page);
    assert.ok(closer < whole, `${closer} < ${whole}`);
    await page.click("#zoom-in");
    assert.ok((await span(page)) < closer);
    const from = () => page.evaluate(() => window.forerun.timeline.view.from);
    const before = await from();
    await page.keyboard.press("ArrowRight");
    assert.ok((await from()) > before);
    await page.mouse.down();
    await page.mouse.move(x + width / 2 + 100, y + 60, { steps: 4 });
    await page.mouse.up();
    assert.ok((await from()) < before + (await span(page)));
    await page.keyboard.press("0");
    assert.equal(await span(page), whole);
    await page.mouse.wheel(0, 200);
    assert.equal(await span(page), whole, "the plain wheel scrolls the page");
  },

  async "selects an event and shows its ops, lines and links"(browser) {
    const { page } = await open(browser, "small");
    // The second run of the first step is the fused task.
    const [x, y] = await page.evaluate(() => window.forerun.timeline.centre(1));
    await page.mouse.click(x, y);
    assert.equal(await selected(page), 1);
    const details = await text(page, "#details");
    assert.match(details, /multiply · add[^]*2 ms[^]*2 ops fused into one pass[^]*multiply\s+project\/train\.py:13[^]*add\s+project\/train\.py:13/);
    // The run that the first wait is for; its link leads to the wait, and that to the run again.
    await page.evaluate(() => window.forerun.timeline.select(2));
    await page.locator("#details .link", { hasText: "item" }).click();
    assert.match(await text(page, "#details"), /wait: item[^]*8 ms[^]*Time spent on[^]*matmul at project\/train\.py:12/);
    await page.locator("#details .link", { hasText: "sum" }).click();
    assert.equal(await selected(page), 2);
    await page.keyboard.press("n");
    assert.equal(await selected(page), 3);
    await page.keyboard.press("Escape");
    assert.equal(await selected(page), -1);
  },

  async "shows what is under the pointer"(browser) {
    const { page } = await open(browser, "small");
    const [x, y] = await page.evaluate(() => window.forerun.timeline.centre(0));
    await page.mouse.move(x, y);
    assert.match(await text(page, "#tip"), /matmul\s+6 ms\s+project\/train\.py:12/);
    const { y: top, height } = await page.locator("#timeline").boundingBox();
    await page.mouse.move(x, top + height - 20);
    assert.equal(await text(page, "#tip"), "Memory, cpu(0): 40 kB");
    await page.mouse.move(x, top + height + 40);
    assert.ok(await page.locator("#tip").isHidden());
  },

  async "marks an interval"(browser) {
    const { page } = await open(browser, "small");
    const { x, y } = await page.locator("#timeline").boundingBox();
    const at = (time) => page.evaluate((time) => window.forerun.timeline.x(time), time);
    await page.mouse.move(x + (await at(0)) + 1, y + 60);
    await page.keyboard.down("Shift");
    await page.mouse.down();
    await page.mouse.move(x + (await at(100_000)), y + 60, { steps: 5 });
    await page.mouse.up();
    await page.keyboard.up("Shift");
    const details = await text(page, "#details");
    assert.match(details, /Interval of (9\.\d+|10) ms/);
    assert.match(details, /Runs\s+3[^]*matmul\s+6 ms/);
    const whole = await span(page);
    await page.keyboard.press("f");
    assert.ok((await span(page)) < whole / 15);
  },

  async "searches, and links tables with the timeline"(browser) {
    const { page } = await open(browser, "small");
    await page.keyboard.press("/");
    await page.keyboard.type("matmul");
    assert.equal(await text(page, "#count"), "40 events");
    await page.keyboard.press("Enter");
    assert.match(await text(page, "#details h2"), /matmul/);
    await page.keyboard.press("Escape");
    assert.equal(await text(page, "#count"), "");
    await page.locator("#table tbody tr", { hasText: "multiply" }).click();
    assert.equal(await text(page, "#count"), "40 events");
    assert.equal(await page.locator("#table tbody tr[aria-selected=true]").count(), 1);
    await page.click("#tab-waits");
    await page.locator("#table tbody tr").first().focus();
    await page.keyboard.press("Enter");
    assert.equal(await text(page, "#count"), "20 events");
    assert.match(await text(page, "#details h2"), /wait: item/);
  },

  async "switches between light and dark"(browser) {
    const { page } = await open(browser, "small");
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await ground();
    await page.click("#theme");
    const dark = await ground();
    assert.notEqual(dark, light);
    await page.click("#theme");
    assert.equal(await ground(), light);
    await page.emulateMedia({ colorScheme: "dark" });
    assert.equal(await ground(), light, "what was chosen stays");
    const other = await open(browser, "small");
    await other.page.emulateMedia({ colorScheme: "dark" });
    assert.equal(await other.page.evaluate(() => getComputedStyle(document.body).backgroundColor), dark);
  },

  async "fits narrow and wide windows"(browser) {
    const { page } = await open(browser, "small");
    for (const width of [360, 700, 1100, 1900]) {
      await page.setViewportSize({ width, height: 900 });
      await frames(page, 3);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(overflow <= 0, `at ${width} pixels the page is ${overflow} wider than the window`);
    }
  },

  async "shows programs that wait for nothing or do nothing"(browser) {
    const quiet = await open(browser, "quiet");
    await quiet.page.click("#tab-waits");
    assert.match(await text(quiet.page, "#table"), /Nothing waits\./);
    assert.deepEqual(quiet.problems, []);
    const empty = await open(browser, "empty");
    assert.match(await text(empty.page, "#table"), /Nothing ran\./);
    assert.deepEqual(empty.problems, []);
  },

  async "opens 100,000 events within two seconds, and stays quick"(browser) {
    const { size } = await stat(join(folder, "large.html"));
    const { page, problems, took } = await open(browser, "large");
    const count = await page.evaluate(() => window.forerun.model.count);
    assert.ok(count >= 100_000, `${count} events`);
    assert.ok(size < 15e6, `${size} bytes`);
    const drawn = await page.evaluate(async () => {
      const { timeline } = window.forerun;
      const times = [];
      for (let i = 0; i < 40; i++) {
        timeline.zoom(i < 20 ? 0.75 : 1.33);
        const start = performance.now();
        await new Promise(requestAnimationFrame);
        await new Promise((done) => setTimeout(done));
        times.push(performance.now() - start);
      }
      return times.sort((a, b) => a - b)[20];
    });
    console.log(`  ${count} events, ${(size / 1e6).toFixed(1)} MB: opened in ${took.toFixed(0)} ms, a frame takes ${drawn.toFixed(1)} ms`);
    assert.deepEqual(problems, []);
    if (times) assert.ok(took < 2000, `opened in ${took} ms`);
  },
};

let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  try {
    await withBrowser(test, { viewport: { width: 1400, height: 900 }, colorScheme: "light" });
    console.log(`ok: ${name}`);
  } catch (error) {
    failed++;
    console.log(`FAILED: ${name}\n${error.stack}`);
  }
}
if (pictures) {
  for (const [name, width, colorScheme] of [["wide-light", 1400, "light"], ["wide-dark", 1400, "dark"], ["narrow-light", 400, "light"], ["narrow-dark", 400, "dark"]]) {
    await withBrowser(
      async (browser) => {
        const { page } = await open(browser, "small");
        await page.evaluate(() => window.forerun.timeline.select(2));
        await frames(page, 3);
        await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
      },
      { viewport: { width, height: 900 }, colorScheme },
    );
  }
}
console.log(`${Object.keys(tests).length - failed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
