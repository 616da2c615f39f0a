// How long the module takes beside the command with one thread, when it is warm: processor time for twelve generated logs, the least
// of some rounds. It says and does not judge: a time is no test.
//
//   node speed.mjs MODULE COMMAND

import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { instance } from "./module.mjs";

const [modulePath, command] = process.argv.slice(2);
const ROUNDS = 10;

/** The least that some rounds take. */
const least = (round) => Math.min(...Array.from({ length: ROUNDS }, round));

/** The logs: what `seriatim gen` is told. */
const LOGS = [
  ["queue", "-n", "50000", "--threads", "8"],
  ["stack", "-n", "50000", "--threads", "8"],
  ["register", "-n", "50000", "--threads", "8"],
  ["set", "-n", "50000", "--threads", "8"],
  ["map", "-n", "50000", "--threads", "8", "--keys", "1000"],
  ["priority-queue", "-n", "50000", "--threads", "8"],
  ["counter", "-n", "50000", "--threads", "8"],
  ["multi-register", "-n", "10000", "--threads", "16"],
  ["cas-register", "-n", "20000", "--threads", "8", "--pending", "0.003"],
  ["kv", "-n", "20000", "--threads", "50", "--overlap", "1", "--violation"],
  ["deque", "-n", "200", "--threads", "8", "--overlap", "1", "--values", "3", "--seed", "2"],
  ["stack", "-n", "200", "--threads", "4", "--overlap", "1", "--values", "3", "--seed", "3"],
];

const scratch = mkdtempSync(join(tmpdir(), "seriatim-speed-"));
const paths = LOGS.map((words, index) => {
  const path = join(scratch, `${index}-${words[0]}.jsonl`);
  writeFileSync(path, execFileSync(command, ["gen", ...words], { maxBuffer: 1 << 28 }));
  return path;
});
/** The milliseconds of the processor that the command takes for all that the page shows. */
function commanded(path) {
  const checks = `"${command}" check --threads 1 --json --html "${join(scratch, "page.html")}" "${path}"`;
  const { stderr } = spawnSync("bash", ["-c", `TIMEFORMAT="%U %S"; time ${checks} >/dev/null 2>&1`], { encoding: "utf8" });
  const [user, system] = stderr.trim().split(" ").map(Number);
  return 1000 * (user + system);
}

const ratios = [];
for (const [index, path] of paths.entries()) {
  const ask = await instance(modulePath);
  const log = readFileSync(path);
  const asked = () => {
    const start = process.cpuUsage();
    ask({ ask: "check", source: path, spec: null }, log);
    const { user, system } = process.cpuUsage(start);
    return (user + system) / 1000;
  };
  const [own, native] = [least(asked), least(() => commanded(path))];
  ratios.push(own / native);
  console.log(`${LOGS[index].join(" ")}: ${own.toFixed(1)} ms, the command ${native.toFixed(1)} ms: ${(own / native).toFixed(2)} times`);
}
ratios.sort((one, other) => one - other);
console.log(`in the middle ${((ratios[5] + ratios[6]) / 2).toFixed(2)} times, at worst ${ratios.at(-1).toFixed(2)}`);
rmSync(scratch, { recursive: true });
