// The module says what the command says: on every history of the repository, and on input that makes no sense.
//
//   node agree.mjs MODULE COMMAND

import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { instance } from "./module.mjs";

const [modulePath, command] = process.argv.slice(2);
const root = join(import.meta.dirname, "../..");
const ask = await instance(modulePath);

/** A report less the time and the memory that it took: where addresses have 32 bits everything is smaller. */
const timeless = (json) => json.trim().replace(/"elapsed_seconds":[^,}]*,?/, "").replace(/,?"memory_bytes":\d+/, "");

/** What the command says of a file: its exit code, and its report or its complaint. */
function commanded(spec, path, ...options) {
  const words = ["check", "--json", "--threads", "1", ...options, ...(spec ? ["--spec", spec] : []), path];
  const ran = spawnSync(command, words, { cwd: root, encoding: "utf8", maxBuffer: 1 << 28 });
  const said = ran.status === 2 ? ran.stderr.trim().replace(/^error: /, "") : timeless(ran.stdout);
  return { exit: ran.status, said };
}

/** What the module says of the same bytes under the same name. */
function asked(spec, path, options = {}) {
  const answer = ask({ ask: "check", source: path, spec: spec || null, ...options }, readFileSync(join(root, path)));
  return { exit: answer.exit, said: answer.exit === 2 ? answer.error.trim() : timeless(answer.json) };
}

let compared = 0;
const verdicts = { 0: 0, 1: 0, 2: 0, 3: 0 };
function same(expected, actual, what) {
  if (expected.exit !== actual.exit || expected.said !== actual.said) {
    throw new Error(`${what}\ncommand: ${expected.exit} ${expected.said}\nmodule:  ${actual.exit} ${actual.said}`);
  }
  compared++;
  verdicts[expected.exit]++;
}

const manifest = readFileSync(join(root, "testdata/manifest.tsv"), "utf8").trim().split("\n").slice(1);
const histories = manifest.map((line) => line.split("\t")).map(([file, spec]) => [spec, `testdata/${file}`]);
const examples = readdirSync(join(root, "examples/histories")).filter((name) => !name.endsWith(".md"));
histories.push(...examples.map((name) => ["", `examples/histories/${name}`]));
if (histories.length < 100) throw new Error(`only ${histories.length} histories`);
for (const [spec, path] of histories) same(commanded(spec, path), asked(spec, path), path);

// What makes no sense: every example cut off, garbled, compressed and then cut, or under a specification that does not fit.
const scratch = mkdtempSync(join(tmpdir(), "seriatim-web-"));
const number = Array.from(examples, (_, index) => index);
for (const index of number) {
  const name = examples[index];
  const whole = readFileSync(join(root, "examples/histories", name));
  const garbled = Buffer.from(whole);
  garbled[(whole.length * 2) / 3 | 0] = 0x7d;
  const packed = gzipSync(whole);
  const variants = {
    cut: whole.subarray(0, ((whole.length * (index % 4 + 1)) / 5) | 0),
    garbled,
    packed,
    torn: packed.subarray(0, (packed.length / 2) | 0),
    binary: Buffer.concat([Buffer.from([0xff, 0xfe]), whole]),
  };
  const [kind, bytes] = Object.entries(variants)[index % 5];
  const other = Object.entries(variants)[(index + 2) % 5];
  for (const [what, content] of [[kind, bytes], other]) {
    const path = join(scratch, `${what}-${name}`);
    writeFileSync(path, content);
    const compare = () => {
      const answer = ask({ ask: "check", source: path, spec: null }, content);
      return { exit: answer.exit, said: answer.exit === 2 ? answer.error.trim() : timeless(answer.json) };
    };
    same(commanded("", path), compare(), path);
  }
}
for (const spec of ["no-such-thing", "queue(init=", "mutex", "cas-register(init=0)", "nowhere.seri"]) {
  const path = "examples/histories/queue.jsonl";
  const [expected, actual] = [commanded(spec, path), asked(spec, path)];
  // Where there are no files, the system says so in its own words.
  if (spec.endsWith(".seri")) for (const said of [expected, actual]) said.said = said.said.split(":")[0];
  same(expected, actual, `${path} under ${spec}`);
}
rmSync(scratch, { recursive: true });
if (!verdicts[0] || !verdicts[1] || verdicts[2] < 10) throw new Error(`too few kinds: ${JSON.stringify(verdicts)}`);

const library = ask({ ask: "library" });
// Isolation levels of what can be told as transactions, and of what cannot; with keys of their own where values are pairs.
const transactions = histories.filter(([spec]) => ["multi-register", "register", "map", "kv", "queue"].includes(spec));
for (const name of readdirSync(join(root, "examples/transactions"))) {
  if (!name.endsWith(".md")) transactions.push(["", `examples/transactions/${name}`]);
}
if (transactions.length < 20) throw new Error(`only ${transactions.length} histories of transactions`);
for (const [spec, path] of transactions) {
  for (const levels of ["all", "serializable,causal"]) {
    same(commanded(spec, path, "--level", levels), asked(spec, path, { levels }), `${path}: ${levels}`);
  }
}
const keyed = "examples/histories/kv-stale.edn";
same(commanded("", keyed, "--level", "all", "--independent"), asked("", keyed, { levels: "all", independent: true }), keyed);
// Logs in other formats, by every map: the right one reads them, the others say why not.
for (const sample of readdirSync(join(root, "crates/map/samples"))) {
  const path = `crates/map/samples/${sample}`;
  for (const { name, text } of library.maps) {
    same(commanded("", path, "--map", name), asked("", path, { map: { name, text } }), `${path} by ${name}`);
    const skipping = { map: { name, text, skip_unmatched: true } };
    same(commanded("", path, "--map", name, "--skip-unmatched"), asked("", path, skipping), `${path} by ${name}, some skipped`);
  }
}

// Algorithms: the same claims, and for a broken one the same run.
for (const name of ["cas_counter", "broken/treiber_aba", "broken/michael_scott_no_tail_help"]) {
  const algorithm = library.algorithms.find((one) => one.name === name);
  if (!algorithm) continue;
  const words = ["verify", name, "--engine", "explore", "--json", "--jobs", "1"];
  const expected = spawnSync(command, words, { cwd: root, encoding: "utf8" });
  const answer = ask({ ask: "explore", name, text: algorithm.source });
  const told = (json) => {
    const { cost, replay, command, ...rest } = JSON.parse(json);
    return JSON.stringify(rest, (key, value) => (/seconds|elapsed|time$/.test(key) ? undefined : value));
  };
  same({ exit: expected.status, said: told(expected.stdout) }, { exit: answer.exit, said: told(answer.json) }, name);
}
const listed = execFileSync(command, ["algorithms"], { encoding: "utf8" });
for (const { name } of library.algorithms) {
  if (!listed.includes(name.replace("broken/", ""))) throw new Error(`${name} is not in the command's library`);
}
console.log(`module and command agree on ${compared} questions (${JSON.stringify(verdicts)} by exit code), ${library.algorithms.length} algorithms`);
