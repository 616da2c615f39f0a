// Opens the page in a real browser and uses it as a person would.
//
//   node page.mjs PAGE [IMAGES]
//
// IMAGES, if given, is where pictures of it go. Exit code 77: no browser to be had.

import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { launch, open as openIn } from "../../crates/report/web/test/browser.mjs";

const [file, images] = process.argv.slice(2);
const root = join(import.meta.dirname, "../..");
/** One file that people mail and carry on a stick. */
const LARGEST_PAGE = 1_200_000;
/** A loaded machine is slow; what hangs is still found. */
const PATIENCE = 180_000;

const browser = await launch();
const scratch = mkdtempSync(join(tmpdir(), "seriatim-page-"));

let checks = 0;
function check(holds, what) {
  checks++;
  if (!holds) throw new Error(what);
}

/** Opens the page; whatever it complains about, or asks the network for, is a failure at `close`. */
async function open(fragment = "", options = {}) {
  const address = pathToFileURL(resolve(file)).href + fragment;
  const { page, context, complaints } = await openIn(browser, address, { viewport: { width: 1280, height: 800 }, patience: PATIENCE, ...options });
  const close = async () => {
    check(complaints.length === 0, `the page complains: ${complaints.join("\n")}`);
    await context.close();
  };
  return { page, close };
}

/** The exit code of the answer in a panel, once it is there. */
async function exit(page, panel) {
  const box = page.locator(`#${panel}-result[data-state=answered]`);
  await box.waitFor();
  return Number(await box.getAttribute("data-exit"));
}

/** Does something, and waits for the answer that it asks for. */
async function answered(page, panel, act) {
  await page.evaluate((id) => (document.getElementById(id).dataset.state = ""), `${panel}-result`);
  await act();
  return exit(page, panel);
}

/** The report in a panel, once it has drawn itself. */
async function report(page, panel) {
  const frame = page.frameLocator(`#${panel}-result iframe`);
  await frame.locator("html[data-ready=true]").waitFor();
  return frame;
}

/** Drops a file on the page. */
async function drop(page, name, bytes) {
  const data = await page.evaluateHandle(
    ([name, text]) => {
      const carried = new DataTransfer();
      carried.items.add(new File([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], name));
      return carried;
    },
    [name, bytes.toString("base64")],
  );
  await page.dispatchEvent("body", "dragover", { dataTransfer: data });
  await page.dispatchEvent("body", "drop", { dataTransfer: data });
}

const example = (name) => readFileSync(join(root, "examples/histories", name));

async function lessons() {
  const { page, close } = await open();
  for (let lesson = 1; ; lesson++) {
    const expected = await page.getAttribute("#lesson", "data-exit");
    if (expected === "") break;
    const panel = (await page.isVisible("#log-panel")) ? "log" : "algorithm";
    check((await exit(page, panel)) === Number(expected), `lesson ${lesson}: not what it says`);
    if (expected !== "2") await report(page, panel);
    await page.evaluate(() => document.querySelectorAll(".result").forEach((box) => (box.dataset.state = "")));
    await page.click("#lesson-next");
    await page.waitForFunction((at) => document.getElementById("lesson-count").textContent.startsWith(at), `${lesson + 1} `);
  }
  check(await page.isDisabled("#lesson-next"), "the last lesson has no next one");
  // What the second lesson asks the reader to do.
  await page.click("#open-lessons");
  await answered(page, "log", () => page.click("#lesson-next"));
  await page.fill("#log-text", (await page.inputValue("#log-text")).replace('"result":2', '"result":1'));
  check((await answered(page, "log", () => page.click("#check"))) === 0, "Bob may have 1");
  await close();
}

async function logs() {
  const { page, close } = await open();
  const dropped = (name, bytes) => answered(page, "log", () => drop(page, name, bytes));
  check((await dropped("queue-overtaken.jsonl", example("queue-overtaken.jsonl"))) === 1, "a dropped log");
  const frame = await report(page, "log");
  check((await frame.locator("#why").textContent()).includes("front is 1"), "the report says why");
  check((await frame.locator("canvas").count()) > 0, "the report draws");
  check((await dropped("register.log.gz", gzipSync(example("register.log")))) === 0, "a compressed log");
  check((await dropped("kv-stale.edn", example("kv-stale.edn"))) === 1, "a log of Jepsen");
  // In an area for text both values would end their lines alike.
  const ends = '[{:process 0 :type :invoke :f :write :value "a\rb"} {:process 0 :type :ok :f :write :value "a\rb"}\n {:process 0 :type :invoke :f :read} {:process 0 :type :ok :f :read :value "a\nb"}]';
  check((await dropped("ends.edn", Buffer.from(ends))) === 1, "ends of lines are told apart");
  // Bad input: the command's words.
  check((await dropped("bad.jsonl", Buffer.from('{"process":1,"op":"read","call":5,"return":3}\n'))) === 2, "a bad log");
  const said = await page.textContent("#log-result .complaint");
  check(said.startsWith("bad.jsonl:1: "), `the complaint names file and line: ${said}`);
  check((await dropped("nothing.bin", Buffer.from([0xff, 0xfe, 0, 1, 2]))) === 2, "bytes that are no log");
  // A log that names nothing: the candidates are offered, and one is chosen.
  const pushed = '{"process":1,"op":"push","arg":1,"call":1,"return":2}\n{"process":1,"op":"push","arg":2,"call":3,"return":4}\n{"process":1,"op":"pop","result":2,"call":5,"return":6}\n';
  check((await dropped("pushed.jsonl", Buffer.from(pushed))) === 2, "specifications disagree");
  check((await answered(page, "log", () => page.click('#log-result [data-spec="stack"]'))) === 0, "it is a stack");
  check((await page.inputValue("#spec")) === "stack", "the choice is kept");
  check((await answered(page, "log", async () => { await page.fill("#spec", "queue"); await page.click("#check"); })) === 1, "and no queue");
  // A link shows the same again.
  await page.click("#log-result .copy");
  await page.waitForFunction(() => location.hash.startsWith("#1."));
  const shared = await open(await page.evaluate(() => location.hash));
  check((await exit(shared.page, "log")) === 1 && (await shared.page.inputValue("#log-text")) === pushed, "the link shows the log");
  await shared.close();
  const damaged = await open("#1.AAAA");
  check((await damaged.page.textContent("#log-result .complaint")).includes("the link is damaged"), "a damaged link");
  await damaged.close();
  // The report as a file.
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("#log-result .save")]);
  const saved = readFileSync(await download.path(), "utf8");
  check(saved.startsWith("<!doctype html>") && download.suggestedFilename() === "pushed.jsonl.html", "the report is saved");
  await close();
}

/** Isolation levels of a log of transactions, and a log in another format. */
async function levelsAndMaps() {
  const { page, close } = await open();
  const more = page.locator("#log-panel > details > summary");
  await more.click();
  await answered(page, "log", () => drop(page, "write-skew.edn", readFileSync(join(root, "examples/transactions/write-skew.edn"))));
  await page.fill("#levels", "serializable, snapshot-isolation");
  check((await page.getAttribute("#log-result", "data-state")) === "old", "the answer was to another question");
  check((await answered(page, "log", () => page.click("#check"))) === 1, "write skew is not serializable");
  const said = await page.textContent("#log-result .printed");
  check(/^ +serializable +violated/m.test(said) && /^ +snapshot-isolation +satisfied/m.test(said), `it is snapshot isolation: ${said}`);
  const frame = page.frameLocator("#log-result iframe");
  check((await frame.locator("h1").textContent()).includes("write-skew.edn"), "the report names the log");
  check((await frame.locator("svg").count()) > 0, "the cycle is drawn");
  // A link shows the question again.
  await page.click("#log-result .copy");
  await page.waitForFunction(() => location.hash.startsWith("#1."));
  const shared = await open(await page.evaluate(() => location.hash));
  check((await exit(shared.page, "log")) === 1 && (await shared.page.inputValue("#levels")).startsWith("serializable,"), "the link asks about levels");
  await shared.close();
  await page.fill("#levels", "serialisable");
  check((await answered(page, "log", () => page.click("#check"))) === 2, "a level that is none");
  await page.fill("#levels", "");
  // A ready map, and one of one's own.
  const sample = readFileSync(join(root, "crates/map/samples/s2.jsonl"));
  const plain = await answered(page, "log", () => drop(page, "s2.jsonl", sample));
  check(plain === 2, "without a map it is no log");
  await page.selectOption("#map", "s2");
  check((await page.inputValue("#map-text")).includes("[[rule]]"), "the rules are shown");
  check((await answered(page, "log", () => page.click("#check"))) === 0, `by its map it is one: ${await page.textContent("#log-result")}`);
  await report(page, "log");
  await page.selectOption("#map", "map.toml");
  await page.fill("#map-text", OWN_MAP);
  await page.fill("#log-text", '{"client": 1, "verb": "write", "body": 7, "from": 1, "to": 2}\n{"client": 1, "verb": "read", "answer": 8, "from": 3, "to": 4}\n');
  check((await answered(page, "log", () => page.click("#check"))) === 1, "a map of one's own");
  await page.fill("#map-text", OWN_MAP.replace("is = ", "was = "));
  check((await answered(page, "log", () => page.click("#check"))) === 2, "a map that is wrong");
  const complaint = await page.textContent("#log-result .complaint");
  check(complaint.startsWith("--map: map.toml:"), `the complaint names the line of the map: ${complaint}`);
  await close();
}

const OWN_MAP = `spec = "register"
unit = "ms"
[[rule]]
is = "operation"
process = 'client'
op = 'verb'
arg = 'body?'
result = 'answer?'
call = 'from'
return = 'to'
`;

async function algorithms() {
  const { page, close } = await open();
  await page.click("#tab-algorithm");
  const names = await page.locator("#library option").allTextContents();
  check(names.length > 150, `only ${names.length} algorithms`);
  await page.selectOption("#library", "broken/treiber_aba");
  check((await answered(page, "algorithm", () => page.click("#explore"))) === 1, "the stack is broken");
  const frame = await report(page, "algorithm");
  check((await frame.locator("#source .executed").count()) > 3, "the run stands beside the source");
  check((await page.locator("#coloured .keyword").count()) > 5, "words are told apart");
  // An error, while it is written.
  const text = await page.inputValue("#algorithm-text");
  await page.fill("#algorithm-text", text.replace("method push", "methud push"));
  check((await page.getAttribute("#algorithm-result", "data-state")) === "old", "the answer was about another text");
  await page.waitForSelector("#complaint:not([hidden])");
  const said = await page.textContent("#complaint");
  check(said.startsWith("error: ") && said.includes("methud"), `the complaint shows the line: ${said}`);
  check((await page.textContent("#coloured .wrong")).includes("methud"), "the place is underlined");
  check((await page.textContent("#coloured")) === (await page.inputValue("#algorithm-text")) + "\n", "what is seen is what is edited");
  await page.fill("#algorithm-text", text);
  await page.waitForSelector("#complaint", { state: "hidden" });
  // Stopped by hand, and by its time limit.
  await page.selectOption("#library", "michael_scott");
  await page.fill("#threads", "6");
  const stopped = await answered(page, "algorithm", async () => {
    await page.click("#explore");
    await page.click("#algorithm-stop");
  });
  check(stopped === 3, "stopped by hand is unknown");
  await page.fill("#algorithm-seconds", "1");
  check((await answered(page, "algorithm", () => page.click("#explore"))) === 3, "a time limit");
  // A specification of one's own judges a log.
  await page.fill("#algorithm-text", "spec last {\n  var x: value? = null\n  method put(v: value) { x = v }\n  method get() -> value? { return x }\n}\n");
  await page.click("#tab-log");
  await page.fill("#log-text", '{"process":1,"op":"put","arg":1,"call":1,"return":2}\n{"process":1,"op":"get","result":2,"call":3,"return":4}\n');
  await page.click("#log-panel summary");
  await page.check("#own-spec");
  const judged = await answered(page, "log", () => page.click("#check"));
  check(judged === 1, `a specification of one's own: ${judged} ${await page.textContent("#log-result")}`);
  await close();
}

/** A long log: so many operations on a queue, by four processes. */
function longLog(operations) {
  const lines = ['{"seriatim":1,"spec":"queue"}'];
  for (let i = 0; i < operations / 2; i++) {
    lines.push(`{"process":${i % 2},"op":"enqueue","arg":${i},"call":${i * 10},"return":${i * 10 + 15}}`);
    lines.push(`{"process":${2 + (i % 2)},"op":"dequeue","result":${i},"call":${i * 10 + 16},"return":${i * 10 + 31}}`);
  }
  return lines.join("\n") + "\n";
}

async function large() {
  const { page, close } = await open();
  const path = join(scratch, "long.jsonl");
  writeFileSync(path, longLog(100_000));
  await page.fill("#log-seconds", "600");
  const began = performance.now();
  const code = await answered(page, "log", () => page.setInputFiles("#log-file", path));
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  check(code === 0, `100,000 operations: ${code} ${await page.textContent("#log-result")}`);
  await report(page, "log");
  await close();
  return `100,000 operations in ${seconds} s`;
}

/** No width makes the page scroll sideways, in light or dark. */
async function looks() {
  for (const width of [1280, 390]) {
    for (const colorScheme of ["light", "dark"]) {
      const { page, close } = await open("", { viewport: { width, height: width > 600 ? 800 : 844 }, colorScheme });
      const picture = (name) => images && page.screenshot({ path: join(images, `${name}-${width}-${colorScheme}.png`) });
      const fits = async (what) => check(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${what} is wider than ${width}`);
      await answered(page, "log", () => page.click("#lesson-next"));
      await report(page, "log");
      await fits("a log");
      await picture("log");
      await page.click("#lesson-close");
      await page.click("#tab-algorithm");
      await page.selectOption("#library", "broken/treiber_aba");
      await answered(page, "algorithm", () => page.click("#explore"));
      await report(page, "algorithm");
      await fits("an algorithm");
      await page.locator("#algorithm-result iframe").scrollIntoViewIfNeeded();
      await picture("algorithm");
      await page.fill("#algorithm-text", "object o : stak\n");
      await page.waitForSelector("#complaint:not([hidden])");
      await fits("a complaint");
      await picture("complaint");
      await close();
    }
  }
}

try {
  const size = statSync(file).size;
  check(size <= LARGEST_PAGE, `the page has ${size} bytes`);
  await lessons();
  await logs();
  await levelsAndMaps();
  await algorithms();
  const timed = await large();
  await looks();
  console.log(`${checks} checks in Chromium ${browser.version()}: all is well; ${timed}; ${size} bytes`);
} finally {
  await browser.close();
  rmSync(scratch, { recursive: true });
}
