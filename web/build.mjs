// Builds the page that checks, one HTML file without network.
//
//   node web/build.mjs [FILE]        target/page/seriatim.html, if no file is named
//
// Needs Rust with the target wasm32-unknown-unknown (rustup target add wasm32-unknown-unknown), and xz.

import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

const TARGET = "wasm32-unknown-unknown";
const here = import.meta.dirname;
const root = join(here, "..");
const target = resolve(root, process.env.CARGO_TARGET_DIR ?? "target");
const folder = join(target, "page");

/** Compiles the module. The stack is ours to choose: parsers and printers are recursive. */
function compiled() {
  const words = ["rustc", "--quiet", "--lib", "--crate-type", "cdylib", "-p", "seriatim-web", "--profile", "web", "--target", TARGET];
  const built = spawnSync("cargo", [...words, "--", "-C", "link-arg=-zstack-size=8388608"], { cwd: root, stdio: "inherit" });
  if (built.status !== 0) process.exit(built.status ?? 1);
  return readFileSync(join(target, TARGET, "web/seriatim_web.wasm"));
}

const part = (name) => readFileSync(join(here, "page", name), "utf8").trimEnd();

/** What the page has in common with the pages of reports. */
const shared = (name) => readFileSync(join(root, "crates/report/web", name), "utf8");

/** Packs the module: gzip, with its window of 32 KB, would make it half as large again. */
function packed(module) {
  const ran = spawnSync("xz", ["--format=lzma", "-9e", "--stdout"], { input: module, maxBuffer: 1 << 28 });
  if (ran.status !== 0) throw new Error(`xz cannot be run: ${ran.error ?? ran.stderr}`);
  return ran.stdout;
}

/**
 * Bytes as text, seven bits to a character: one byte in UTF-8, where base64 has six bits. Characters that HTML does not
 * leave alone in a script (null, carriage return, `<`) have a second form, 128 higher.
 */
function inSevens(bytes) {
  const characters = [];
  let [held, bits] = [0, 0];
  const write = (seven) => characters.push(String.fromCharCode([0, 13, 60].includes(seven) ? seven + 128 : seven));
  for (const byte of bytes) {
    held = ((held << 8) | byte) & 0x7fff;
    bits += 8;
    while (bits >= 7) write((held >> (bits -= 7)) & 127);
  }
  if (bits > 0) write((held << (7 - bits)) & 127);
  return characters.join("");
}

/** The words of the language, as the pages of reports know them. */
function keywords() {
  return shared("source.js").split("\n").find((line) => line.startsWith("const KEYWORDS = "));
}

function page(module, small) {
  const scripts = ["engine.js", "share.js", "result.js", "highlight.js", "log.js", "algorithm.js", "lessons.js", "main.js"];
  const places = {
    head: shared("head.html"),
    foot: shared("foot.html"),
    title: "Is it linearizable?",
    allowed: " 'wasm-unsafe-eval' blob:; worker-src blob:",
    styles: part("style.css"),
    worker: [part("lzma.js"), part("worker.js")].join("\n\n"),
    length: module.length,
    module: inSevens(small),
    scripts: scripts.map(part).join("\n\n").replace("{{keywords}}", () => keywords()),
  };
  // The places of the skeleton first, then those that its head and foot bring along. What fills a place is not looked at
  // again: the module may contain anything.
  const skeleton = part("page.html").replace(/\{\{(head|foot)\}\}/g, (_, name) => places[name]);
  return skeleton.replace(/\{\{(\w+)\}\}/g, (_, name) => places[name]);
}

const out = process.argv[2] ?? join(folder, "seriatim.html");
const module = compiled();
[folder, dirname(out)].forEach((place) => mkdirSync(place, { recursive: true }));
const small = packed(module);
const text = page(module, small);
writeFileSync(out, text);
writeFileSync(join(folder, "seriatim.wasm"), module);
console.log(`${out}: ${Buffer.byteLength(text)} bytes, with a module of ${small.length} bytes packed and ${module.length} unpacked`);
