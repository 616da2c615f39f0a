// Builds the page that checks, one HTML file without network.
//
//   node web/build.mjs [FILE]        target/page/seriatim.html, if no file is named
//
// Needs Rust with the target wasm32-unknown-unknown (rustup target add wasm32-unknown-unknown), and xz.

import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { split } from "./split.mjs";

const TARGET = "wasm32-unknown-unknown";
const LINKED = ["-C", "link-arg=-zstack-size=8388608", "-C", "link-arg=--compress-relocations"];
const here = import.meta.dirname;
const root = join(here, "..");
const target = resolve(root, process.env.CARGO_TARGET_DIR ?? "target");
const folder = join(target, "page");

/** Compiles the module. The stack is ours to choose: parsers and printers are recursive. Numbers have no more bytes than they need. */
function compiled() {
  const words = ["rustc", "--quiet", "--lib", "--crate-type", "cdylib", "-p", "seriatim-web", "--profile", "web", "--target", TARGET];
  const built = spawnSync("cargo", [...words, "--", ...LINKED], { cwd: root, stdio: "inherit" });
  if (built.status !== 0) process.exit(built.status ?? 1);
  return readFileSync(join(target, TARGET, "web/seriatim_web.wasm"));
}

const part = (name) => readFileSync(join(here, "page", name), "utf8").trimEnd();

/** What the page has in common with the pages of reports. */
const shared = (name) => readFileSync(join(root, "crates/report/web", name), "utf8");

/** Packs bytes: gzip, with its window of 32 KB, would make the module half as large again. Nothing in it is aligned. */
function packed(bytes) {
  const words = ["--format=lzma", "--lzma1=preset=9e,lc=2,lp=0,pb=0", "--stdout"];
  const ran = spawnSync("xz", words, { input: bytes, maxBuffer: 1 << 28 });
  if (ran.status !== 0) throw new Error(`xz cannot be run: ${ran.error ?? ran.stderr}`);
  return ran.stdout;
}

/**
 * Bytes as text, 31 bits to a pair of characters. The page is in UTF-16, where a character has two bytes: so one byte in 32 is
 * lost, where base64 loses one in four. The characters are those from 64 to 46404, all of which HTML leaves alone in a script.
 */
function inPairs(bytes) {
  const characters = [];
  let [held, bits] = [0n, 0n];
  const write = (value) => characters.push(String.fromCharCode(Math.floor(value / 46341) + 64, (value % 46341) + 64));
  for (const byte of bytes) {
    held = (held << 8n) | BigInt(byte);
    bits += 8n;
    if (bits < 31n) continue;
    bits -= 31n;
    write(Number(held >> bits));
    held &= (1n << bits) - 1n;
  }
  if (bits > 0n) write(Number(held << (31n - bits)));
  return characters.join("");
}

/** The words of the language, as the pages of reports know them. */
function keywords() {
  return shared("source.js").split("\n").find((line) => line.startsWith("const KEYWORDS = "));
}

const SCRIPTS = ["engine.js", "share.js", "result.js", "highlight.js", "log.js", "algorithm.js", "lessons.js", "main.js"];

/** The scripts that are packed with the module. */
function scripts() {
  const together = SCRIPTS.map(part).join("\n\n").replace("{{keywords}}", () => keywords());
  return Buffer.from(`(() => {\n"use strict";\n${together}\n})();\n`);
}

function page(lengths, small) {
  const attribute = JSON.stringify(lengths).replaceAll('"', "&quot;");
  const places = {
    head: shared("head.html"),
    foot: shared("foot.html"),
    title: "Is it linearizable?",
    allowed: " 'wasm-unsafe-eval' blob:; worker-src blob:",
    styles: part("style.css"),
    worker: ["lzma.js", "streams.js", "worker.js"].map(part).join("\n\n"),
    lengths: attribute,
    packed: inPairs(small),
    scripts: part("boot.js"),
  };
  // The places of the skeleton first, then those that its head and foot bring along. What fills a place is not looked at
  // again: the module may contain anything.
  const skeleton = part("page.html").replace(/\{\{(head|foot)\}\}/g, (_, name) => places[name]);
  return skeleton.replace(/\{\{(\w+)\}\}/g, (_, name) => places[name]);
}

const out = process.argv[2] ?? join(folder, "seriatim.html");
const module = compiled();
[folder, dirname(out)].forEach((place) => mkdirSync(place, { recursive: true }));
const streams = split(module);
const scripted = scripts();
const small = packed(Buffer.concat([streams.bytes, scripted]));
const lengths = { ...streams.lengths, scripts: scripted.length };
// The mark at the beginning says UTF-16, whatever a server says of the file.
const text = Buffer.from(`\ufeff${page(lengths, small)}`, "utf16le");
writeFileSync(out, text);
writeFileSync(join(folder, "seriatim.wasm"), module);
console.log(`${out}: ${text.length} bytes, with a module of ${module.length} bytes; it and the scripts have ${small.length} packed`);
