// Opens the pages of a directory in a real browser and uses them as a person would.
//
//   node run.mjs DIRECTORY [IMAGES]
//
// DIRECTORY holds NAME.html and NAME.json (what the page must know), written by tests/browser.rs.
// IMAGES, if given, is where the book's pictures go. Exit code 77: no browser to be had.

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { launch, open as openIn } from "./browser.mjs";

const [directory, images] = process.argv.slice(2);
const browser = await launch();

let checks = 0;
function check(holds, what) {
  checks++;
  if (!holds) throw new Error(what);
}
function same(actual, expected, what) {
  const [a, e] = [JSON.stringify(actual), JSON.stringify(expected)];
  check(a === e, `${what}: expected ${e}, got ${a}`);
}

/** Opens a page; whatever it complains about, or asks the network for, is a failure at `close`. */
async function open(name, options = {}) {
  const address = pathToFileURL(join(directory, `${name}.html`)).href;
  const { page, context, complaints } = await openIn(browser, address, { viewport: { width: 1280, height: 760 }, patience: 15000, ...options });
  const close = async () => {
    same(complaints, [], `${name} complains`);
    await context.close();
  };
  return { page, close };
}

/** The state of the drawing. */
const view = (page) =>
  page.evaluate(() => {
    const { page: shown } = window.seriatim;
    const { scale, offset, scroll } = shown.timeline;
    return { scale, offset, scroll, view: shown.view, selected: shown.scene.selected, rows: shown.scene.rows.length };
  });

/** Waits until what was asked for is drawn. */
const drawn = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

/** How many pixels of the canvas have a colour of the palette. */
const pixels = (page, colour) =>
  page.evaluate((name) => {
    const { timeline } = window.seriatim.page;
    const probe = document.createElement("canvas").getContext("2d");
    probe.fillStyle = timeline.colours[name];
    probe.fillRect(0, 0, 1, 1);
    const [r, g, b] = probe.getImageData(0, 0, 1, 1).data;
    const { data } = timeline.context.getImageData(0, 0, timeline.canvas.width, timeline.canvas.height);
    let count = 0;
    for (let i = 0; i < data.length; i += 4) if (data[i] === r && data[i + 1] === g && data[i + 2] === b) count++;
    return count;
  }, colour);

/** Where an operation of the scene is drawn, in the window. */
const spot = (page, operation) =>
  page.evaluate((i) => {
    const { timeline } = window.seriatim.page;
    const box = timeline.canvas.getBoundingClientRect();
    const place = timeline.placeOf(i);
    return { x: box.left + (place.x0 + Math.min(place.x1, place.x0 + 60)) / 2, y: box.top + place.y + 8 };
  }, operation);

const tests = {
  async "every page knows what the history holds"() {
    for (const file of readdirSync(directory).filter((file) => file.endsWith(".json"))) {
      const name = file.replace(".json", "");
      const expected = JSON.parse(readFileSync(join(directory, file), "utf8"));
      const { page, close } = await open(name);
      const known = await page.evaluate(() => {
        const { whole } = window.seriatim.page;
        const all = [...Array(whole.length).keys()];
        return {
          labels: all.map((i) => whole.label(i)),
          processes: all.map((i) => whole.names.processes[whole.process[i]]),
          lines: all.map((i) => whole.line[i]),
          before: all.map((i) => whole.before(i).count),
          concurrent: all.map((i) => whole.concurrent(i)),
          times: all.map((i) => whole.time(whole.call[i])),
          order: [...whole.order],
        };
      });
      for (const [field, value] of Object.entries(expected)) same(known[field], value, `${name}: ${field}`);
      await close();
    }
  },

  async "the violation is seen without a click"() {
    for (const name of ["queue", "register", "stack", "long"]) {
      const { page, close } = await open(name);
      same(await page.innerText("#word"), "Not linearizable", name);
      check((await page.innerText("#why")).length > 5, `${name} says why`);
      await drawn(page);
      check((await pixels(page, "bad")) > 50, `${name} draws what cannot be placed`);
      check(await page.isVisible("#orders .fail .reason"), `${name} gives the reason`);
      check(await page.evaluate(() => window.seriatim.page.view === "small"), `${name} opens at the counterexample`);
      await close();
    }
  },

  async "states are shown after each step"() {
    const { page, close } = await open("stack");
    const states = () => page.$$eval("#orders .state", (all) => all.map((state) => state.textContent));
    same(await states(), ["→ [1]", "→ [1, 2]", "→ [1, 2, 3]"], "the first order");
    await page.click("#orders .tabs button:nth-child(2)");
    same(await states(), ["→ [1]", "→ [1, 3]", "→ [1, 3, 2]"], "the second order");
    await close();
  },

  async "mouse: zoom, pan, click, tip"() {
    const { page, close } = await open("queue");
    const start = await view(page);
    await page.mouse.move(500, 250);
    await page.mouse.wheel(0, -300);
    await drawn(page);
    const closer = await view(page);
    check(closer.scale > start.scale * 1.3, "the wheel zooms in");
    await page.mouse.down();
    await page.mouse.move(400, 250, { steps: 4 });
    await page.mouse.up();
    const moved = await view(page);
    check(moved.offset > closer.offset && moved.selected === -1, "dragging moves, and selects nothing");
    await page.click("#zoom-fit");
    same((await view(page)).scale, start.scale, "Fit goes back");
    await page.click("#zoom-in");
    check((await view(page)).scale > start.scale, "the button zooms in");
    await page.click("#zoom-fit");
    await drawn(page);
    const target = await spot(page, 3);
    await page.mouse.move(target.x, target.y);
    check((await page.innerText("#tip")).includes("deq → 7"), "the tip names the operation");
    await page.mouse.click(target.x, target.y);
    same((await view(page)).selected, 3, "a click selects");
    const details = await page.innerText("#details");
    check(details.includes("deq → 7") && details.includes("must come after"), "details are told");
    check(details.includes("3 operations"), "three operations must come before");
    same(await page.$$eval("#details .chips button", (all) => all.map((chip) => chip.textContent)), ["enq(8)", "deq → 8"], "the direct ones");
    same(await page.getAttribute("#table tbody tr:nth-child(4)", "aria-selected"), "true", "the table follows");
    await close();
  },

  async "touch: pinch and drag"() {
    const { page, close } = await open("queue", { hasTouch: true, viewport: { width: 390, height: 800 } });
    const start = await view(page);
    await page.evaluate(() => {
      const { canvas } = window.seriatim.page.timeline;
      const box = canvas.getBoundingClientRect();
      canvas.setPointerCapture = () => {};
      const send = (type, id, x) =>
        canvas.dispatchEvent(new PointerEvent(type, { pointerId: id, pointerType: "touch", clientX: box.left + x, clientY: box.top + 60, bubbles: true }));
      send("pointerdown", 1, 150);
      send("pointerdown", 2, 250);
      send("pointermove", 2, 350);
      send("pointerup", 2, 350);
      send("pointermove", 1, 100);
      send("pointerup", 1, 100);
    });
    const after = await view(page);
    check(Math.abs(after.scale / start.scale - 2) < 0.01, "two fingers zoom");
    check(after.offset !== start.offset, "one finger moves");
    await close();
  },

  async "keyboard: everything without a mouse"() {
    const { page, close } = await open("register");
    await page.focus("#timeline");
    const start = await view(page);
    await page.keyboard.press("v");
    check((await page.innerText("#details")).includes("cannot read 2"), "v goes to the violation");
    check((await page.innerText("#live")).includes("read → 2"), "a screen reader is told");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowLeft");
    check((await page.innerText("#details")).includes("cas(5, 2)"), "arrows go from operation to operation");
    await page.keyboard.press("+");
    check((await view(page)).scale > start.scale, "+ zooms");
    await page.keyboard.press("Shift+ArrowRight");
    await page.keyboard.press("0");
    same((await view(page)).scale, start.scale, "0 fits");
    await page.keyboard.press(".");
    await page.keyboard.press("Escape");
    same((await view(page)).selected, -1, "Esc deselects");
    await page.keyboard.press(".");
    check((await page.innerText("#details")).includes("write(3)"), ". goes along the order");
    await page.keyboard.press("w");
    same((await view(page)).view, "whole", "w shows the whole history");
    await page.keyboard.press("c");
    same((await view(page)).view, "small", "c shows the counterexample");
    await page.keyboard.press("?");
    check(await page.isVisible("#help"), "? helps");
    await page.keyboard.press("Escape");
    await page.keyboard.press("/");
    await page.keyboard.type("cas");
    await page.waitForFunction(() => document.getElementById("hits").textContent === "2 matches");
    await page.keyboard.press("Enter");
    check((await page.innerText("#details")).includes("cas(3, 5)"), "Enter goes to the first match");
    await page.keyboard.press("Enter");
    check((await page.innerText("#details")).includes("cas(5, 2)"), "and to the next");
    await close();
  },

  async "filters: process, operation, search"() {
    const { page, close } = await open("queue");
    await page.click("#view-whole");
    same((await view(page)).rows, 4, "all rows");
    await page.selectOption("#filter-process", { label: "process 1" });
    same((await view(page)).rows, 1, "one row");
    same(await page.innerText("#hits"), "61 matches", "its operations");
    await page.selectOption("#filter-method", { label: "enq" });
    same(await page.innerText("#hits"), "1 match", "its enqueues");
    same(await page.$$eval("#table tbody tr", (rows) => rows.length), 1, "the table is filtered");
    await page.selectOption("#filter-process", "");
    await page.selectOption("#filter-method", "");
    await page.fill("#search", "-> 117");
    await page.waitForFunction(() => document.getElementById("hits").textContent === "1 match");
    await page.press("#search", "Enter");
    check((await page.innerText("#details")).includes("deq → 117"), "the match is selected");
    await page.click("#to-violation");
    const details = await page.innerText("#details");
    check(details.includes("deq → 8") && details.includes("the front is 7"), "and back to the violation");
    check(await page.isVisible("#orders .fail .reason"), "with the end of the longest order");
    await close();
  },

  async "axes: order and time"() {
    const { page, close } = await open("stack");
    const gaps = () =>
      page.evaluate(() => {
        const { positions } = window.seriatim.page.scene.axis;
        return (positions[1] - positions[0]) / (positions[positions.length - 1] - positions[0]);
      });
    const inOrder = await gaps();
    await page.click("#axis-time");
    check(Math.abs((await gaps()) - 10 / 50) < 1e-9, "time is to scale");
    await page.click("#axis-order");
    same(await gaps(), inOrder, "order is not");
    await close();
  },

  async "times have their unit, and each violated key is a button"() {
    const { page, close } = await open("clocks");
    same(await page.$$eval("#parts button", (all) => all.map((button) => button.textContent)), ['key "a"', 'key "b"'], "keys");
    await page.click("#parts tr:last-child button");
    const details = await page.innerText("#details");
    check(details.includes("+1.3 s (2025-11-16T08:00:01.300Z)"), details);
    await close();
  },

  async "annotations can be seen and hidden"() {
    const { page, close } = await open("register");
    same(await page.$$eval("#legend label", (all) => all.map((label) => label.textContent)), ["nemesis", "leader"], "groups");
    const lanes = () => page.evaluate(() => window.seriatim.page.scene.lanes.map((lane) => lane.items[0].text));
    same(await lanes(), ["partition n1 | n2 n3", "n3 elected"], "lanes");
    await page.click("#legend label:first-of-type");
    same(await lanes(), ["n3 elected"], "one is hidden");
    await close();
  },

  async "light, dark and paper"() {
    for (const colorScheme of ["light", "dark"]) {
      const { page, close } = await open("stack", { colorScheme });
      const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
      same(await theme(), colorScheme, "the reader's preference");
      await page.click("#theme");
      check((await theme()) !== colorScheme, "the switch");
      const paper = await page.pdf({ format: "A4" });
      check(paper.length > 5000, "it can be printed");
      await close();
    }
  },

  async "a screen reader finds a table and names"() {
    const { page, close } = await open("register");
    same(await page.$$eval("#table thead th", (all) => all.map((head) => [head.scope, head.textContent])).then((heads) => heads[0]), ["col", "Operation"], "heads");
    same(await page.$$eval("#table tbody tr", (rows) => rows.length), 6, "rows");
    check((await page.innerText("#table")).includes("✗ cannot be placed"), "the violation, in words");
    const nameless = await page.$$eval("button, input, select, canvas", (all) =>
      all.filter((element) => !(element.getAttribute("aria-label") || element.textContent.trim() || element.closest("label"))).map((element) => element.outerHTML),
    );
    same(nameless, [], "everything has a name");
    await page.focus("#table tbody tr:last-child button");
    await page.keyboard.press("Enter");
    check((await page.innerText("#details")).includes("read → 2"), "rows can be opened by key");
    await close();
  },

  async "a hostile history stays text"() {
    const { page, close } = await open("hostile");
    same(await page.$$eval("script", (all) => all.length), 2, "no script but ours");
    same(await page.$$eval("img, b:not(.tip b), u, i:not(.legend i)", (all) => all.length), 0, "no markup");
    check((await page.title()).startsWith("<script>"), "the title is text");
    await close();
  },

  async "without scripts the terminal's report is shown"() {
    const { page, close } = await open("queue", { javaScriptEnabled: false });
    const text = await page.innerText("noscript pre");
    check(text.includes("✗ VIOLATION") && text.includes("cannot dequeue 8"), "the text");
    await close();
  },

  async "linearizable, unknown and empty"() {
    const right = await open("right");
    same(await right.page.innerText("#word"), "Linearizable", "right");
    same(await right.page.$$eval("#orders .steps li", (all) => all.length), 5, "the witness is listed");
    await right.close();
    const unknown = await open("unknown");
    same(await unknown.page.innerText("#word"), "Unknown", "unknown");
    check((await unknown.page.innerText("#parts")).includes("? open"), "open parts are told");
    await unknown.close();
    const empty = await open("empty");
    check((await empty.page.innerText("#warnings")).includes("nothing was checked"), "the warning");
    await empty.close();
  },

  async "a counterexample that nobody made small"() {
    const { page, close } = await open("crowd");
    same(await page.innerText("#why"), "Nobody made it small.", "the sentence");
    for (const key of ["v", "w", "v", "c", "+", "End"]) {
      await page.focus("#timeline");
      await page.keyboard.press(key);
      await drawn(page);
    }
    same((await view(page)).selected, 199999, "the last operation");
    await close();
  },

  async "a run: steps, source, memory and history move together"() {
    const { page, close } = await open("run-stack");
    same(await page.innerText("#word"), "Not linearizable", "the badge");
    check((await page.innerText("#asked")).includes("3 threads, 2 values"), "the bounds");
    same(await page.$$eval("#claims li", (all) => all.length), 5, "the claims");
    same(await page.$$eval("#steps thead th", (all) => all.map((head) => head.textContent)), ["line", "t0thread 0", "t1thread 1", "t2thread 2"], "a column for each thread");
    const shown = () =>
      page.evaluate(() => ({
        row: document.querySelector("#steps [aria-current] .link")?.textContent,
        line: document.querySelector("#source [aria-current] .number")?.textContent,
        labels: [...document.querySelectorAll("#heap .label text")].map((text) => text.textContent).sort(),
        now: window.seriatim.page.scene.now,
      }));
    const places = () =>
      page.$$eval("#heap .node", (all) => all.map((node) => [node.querySelector(".title").textContent, node.querySelector("rect").getAttribute("x"), node.querySelector("rect").getAttribute("y")].join(" ")));
    same((await shown()).row, "return 1", "it opens at the end");
    same((await shown()).line, "22", "with its line");
    await page.keyboard.press("Home");
    const start = await shown();
    same([start.row, start.labels], [undefined, []], "Home goes before the first step");
    const seen = new Set();
    let last = -Infinity;
    for (let step = 1; step <= 26; step++) {
      await page.keyboard.press("ArrowRight");
      const { now } = await shown();
      check(now >= last, "time goes on");
      last = now;
      for (const place of await places()) seen.add(place);
    }
    same([...seen].map((place) => place.split(" ")[0]).sort(), ["#0", "#1"], "a node keeps its place from step to step");
    await page.click("#steps tr:has-text('failed: top is #0')");
    const failed = await shown();
    same(failed.row, "cas(top, t, n) failed: top is #0", "a click goes to a step");
    same(failed.line, "12", "and marks its line");
    same(failed.labels, ["t1.n", "top"], "who refers to what");
    await page.click("#step-back");
    same((await shown()).row, "n.next = t: #1.next was null, is null", "back by the button");
    await page.focus("#step-on");
    await page.keyboard.press("Enter");
    same((await shown()).row, failed.row, "and on, by key");
    check((await page.innerText("#live")).includes("cas(top, t, n) failed"), "a screen reader is told");
    check((await page.innerText("#orders")).includes("cannot pop 1: the stack is empty"), "why each order fails");
    check((await page.innerText("#sentence")).includes("popped twice"), "in a sentence");
    same(await page.innerText("#replay"), "seriatim verify stack.seri --threads 3", "the command");
    const nameless = await page.$$eval("button, input, select, canvas", (all) =>
      all.filter((element) => !(element.getAttribute("aria-label") || element.textContent.trim() || element.closest("label"))).map((element) => element.outerHTML),
    );
    same(nameless, [], "everything has a name");
    await close();
  },

  async "runs of every kind, on a desk and on a phone, by day and by night"() {
    const words = { "run-stack": "Not linearizable", "run-deadlock": "Not deadlock-free", "run-circle": "Not lock-free", "run-stuck": "Unknown", "run-proved": "Proved linearizable", "run-hostile": "Not linearizable" };
    for (const [name, word] of Object.entries(words)) {
      for (const [width, colorScheme] of [[1280, "light"], [390, "dark"]]) {
        const { page, close } = await open(name, { viewport: { width, height: 800 }, colorScheme, hasTouch: width < 500 });
        same(await page.innerText("#word"), word, name);
        same(await page.evaluate(() => document.documentElement.dataset.theme), colorScheme, name);
        const [wanted, width_] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
        check(wanted <= width_, `${name} takes ${wanted} of ${width_} pixels`);
        await close();
      }
    }
    const { page, close } = await open("run-stuck");
    check((await page.innerText("#stuck")).includes("in line 18"), "where the proof got stuck");
    check(!(await page.isVisible("#history-box")), "no history without a run");
    await close();
  },

  async "a hostile run stays text, without scripts too"() {
    const { page, close } = await open("run-hostile");
    same(await page.$$eval("img, u", (all) => all.length), 0, "no markup");
    check((await page.title()).startsWith("<script>"), "the title is text");
    await close();
    const plain = await open("run-stack", { javaScriptEnabled: false });
    const text = await plain.page.innerText("noscript pre");
    check(text.includes("12: cas(top, t, n) failed: top is #0") && text.includes("cannot pop 1"), "the terminal's report");
    await plain.close();
  },

  async "pages of histories do not overflow a phone"() {
    for (const name of ["queue", "register", "hostile", "unknown"]) {
      const { page, close } = await open(name, { viewport: { width: 390, height: 800 } });
      const [wanted, width] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      check(wanted <= width, `${name} takes ${wanted} of ${width} pixels`);
      await close();
    }
  },

  async "a million operations"() {
    const began = performance.now();
    const { page, close } = await open("million");
    const waited = performance.now() - began;
    same(await page.evaluate(() => window.seriatim.page.whole.length), 1000000, "all are there");
    const figures = await page.evaluate(() => {
      const { timeline } = window.seriatim.page;
      const figures = {};
      for (const [name, factor] of [["whole", 1], ["a tenth", 10], ["a thousandth", 1000], ["close", 30000]]) {
        timeline.fit();
        if (factor > 1) timeline.zoom(factor);
        const frames = [];
        for (let i = 0; i < 30; i++) {
          timeline.pan(-9, 0);
          timeline.draw();
          frames.push(timeline.lastFrame);
        }
        frames.sort((a, b) => a - b);
        figures[name] = `${frames[15].toFixed(1)} ms`;
      }
      return figures;
    });
    const opened = await page.evaluate(() => window.seriatim.opened);
    console.log(`a million operations: ready after ${Math.round(opened)} ms (${Math.round(waited)} ms with the browser's start); a frame of`, figures);
    await page.selectOption("#filter-key", { index: 3 });
    check(/^2\d,\d{3} matches$/.test(await page.innerText("#hits")), "filters by key");
    await page.keyboard.press("Escape");
    await page.focus("#timeline");
    await page.keyboard.press("n");
    check((await view(page)).selected > 0, "goes to a match");
    check((await page.innerText("#details")).includes("step"), "and says where it stands in the witness");
    await close();
  },
};

/** The moment at which an element is taken that another thread is about to take. */
async function atTheSecondPop(page) {
  await page.click("#steps tr:has-text('top was #0')");
  await page.mouse.move(0, 0);
  await page.evaluate(() => document.getElementById("stepper").scrollIntoView());
}

/** The pictures of the book. */
async function picture() {
  for (const [name, options, prepare] of [
    ["queue", { colorScheme: "light" }, async () => {}],
    ["register", { colorScheme: "dark" }, async () => {}],
    ["stack", { colorScheme: "light" }, (page) => page.keyboard.press("v")],
    ["run", { colorScheme: "light", viewport: { width: 1200, height: 860 } }, atTheSecondPop],
  ]) {
    const { page, close } = await open(name === "run" ? "run-stack" : name, { viewport: { width: 1200, height: 620 }, ...options });
    await prepare(page);
    await drawn(page);
    await page.screenshot({ path: join(images, `report-${name}.png`) });
    await close();
  }
}

let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  try {
    await test();
    console.log(`ok    ${name}`);
  } catch (error) {
    failed++;
    console.log(`FAILED ${name}\n${error.stack}`);
  }
}
if (images) await picture();
await browser.close();
console.log(`${checks} checks, ${failed} of ${Object.keys(tests).length} tests failed`);
process.exit(failed > 0 ? 1 : 0);
