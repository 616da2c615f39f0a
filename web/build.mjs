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
// Names of functions are a seventh of a module. Cargo 1.95 keeps them although the profile says strip: it forgets that for a crate
// with a level of its own.
const LINKED = ["-C", "link-arg=-zstack-size=8388608", "-C", "link-arg=--compress-relocations", "-C", "strip=symbols"];
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

/** How many values of 15 bits take a sixteenth with them: the characters are 2^15 more. */
const LONG = 30654;

/**
 * Bytes as text, 15 or 16 bits to a character. The page is in UTF-16, where a character has two bytes: so one byte in 250 is lost,
 * where base64 loses one in four. The characters are those from 64 to 65533, but for surrogates: HTML leaves them alone in a script.
 */
function inCharacters(bytes) {
  const characters = [];
  let [held, bits] = [0, 0];
  const write = (value) => characters.push(String.fromCharCode(value < 55232 ? value + 64 : value + 2112));
  for (const byte of [...bytes, 0, 0]) {
    held = (held << 8) | byte;
    bits += 8;
    if (bits < 16) continue;
    const short = held >>> (bits - 15);
    const taken = short < LONG ? 16 : 15;
    write(taken === 16 ? held >>> (bits - 16) : short + LONG);
    bits -= taken;
    held &= (1 << bits) - 1;
  }
  return characters.join("");
}

/** The words of the language, as the pages of reports know them. */
function keywords() {
  return shared("source.js").split("\n").find((line) => line.startsWith("const KEYWORDS = "));
}

const SCRIPTS = ["engine.js", "share.js", "result.js", "highlight.js", "log.js", "algorithm.js", "lessons.js", "main.js"];

/** What is packed with the module: the style sheet, what stands on the page, and its scripts. */
function contents() {
  const together = SCRIPTS.map(part).join("\n\n").replace("{{keywords}}", () => keywords());
  const scripts = `(() => {\n"use strict";\n${together}\n})();\n`;
  return [part("style.css"), part("body.html"), scripts].map((text) => Buffer.from(text));
}

/** A script without its comments and indents, for what stands in the page unpacked; no text in it may go over lines. */
function bare(script) {
  const lines = script.split("\n").map((line) => line.trim());
  return lines.filter((line) => line !== "" && !/^(\/\/|\/\*\*|\*)/.test(line)).join("\n");
}

function page(lengths, small) {
  const attribute = JSON.stringify(lengths).replaceAll('"', "&quot;");
  const places = {
    head: shared("head.html"),
    foot: shared("foot.html"),
    title: "Is it linearizable?",
    allowed: " 'wasm-unsafe-eval' blob:; worker-src blob:",
    styles: "",
    worker: ["lzma.js", "streams.js", "worker.js"].map(part).map(bare).join("\n"),
    lengths: attribute,
    packed: inCharacters(small),
    scripts: bare(part("boot.js")),
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
const texts = contents();
const small = packed(Buffer.concat([streams.bytes, ...texts]));
const lengths = { ...streams.lengths, texts: texts.map((text) => text.length) };
// The mark at the beginning says UTF-16, whatever a server says of the file.
const text = Buffer.from(`\ufeff${page(lengths, small)}`, "utf16le");
writeFileSync(out, text);
writeFileSync(join(folder, "seriatim.wasm"), module);
console.log(`${out}: ${text.length} bytes, with a module of ${module.length} bytes; it and what stands on the page have ${small.length} packed`);
