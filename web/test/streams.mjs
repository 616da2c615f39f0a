// A module in streams is the module: every kind of instruction, and random bodies; what cannot be split is refused.
//
//   node streams.mjs

import { split } from "../split.mjs";

/** A number as WebAssembly writes it. */
function number(value) {
  const bytes = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push((value % 128) | 128);
  return [...bytes, value];
}

/** A module whose functions have these bodies, with a section behind the code. */
function module(bodies) {
  const code = [...number(bodies.length), ...bodies.flatMap((body) => [...number(body.length), ...body])];
  return Buffer.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 4, 1, 0x60, 0, 0, 10, ...number(code.length), ...code, 11, 1, 0]);
}

let chance = 20261118;
/** A number below a bound: the same ones each time. */
function below(bound) {
  chance = (Math.imul(chance, 1103515245) + 12345) >>> 0;
  return Math.floor((chance / 2 ** 32) * bound);
}

const some = () => number(below(below(4) === 0 ? 2 ** 31 : 200));
const bytes = (count) => Array.from({ length: count }, () => below(256));
/** One of each kind of instruction, with random operands. */
const INSTRUCTIONS = [
  () => [0x00 + below(2)],
  () => [0x0c + below(2), ...some()],
  () => [0x0e, 3, ...some(), ...some(), ...some(), ...some()],
  () => [0x0f],
  () => [0x10, ...some()],
  () => [0x11, ...some(), 0],
  () => [0x1a + below(2)],
  () => [0x20 + below(3), ...number(below(400))],
  () => [0x23 + below(2), ...some()],
  () => [0x28 + below(0x3f - 0x28), below(4), ...some()],
  () => [0x3f + below(2), 0],
  () => [0x41, ...some()],
  () => [0x42, ...bytes(9).map((byte) => byte | 128), 0x7f],
  () => [0x43, ...bytes(4)],
  () => [0x44, ...bytes(8)],
  () => [0x45 + below(0xc5 - 0x45)],
  () => [0xfc, below(8)],
  () => [0xfc, 8, ...some(), 0],
  () => [0xfc, 9, ...some()],
  () => [0xfc, 10, 0, 0],
  () => [0xfc, 11, 0],
];

/** Instructions, some of them in blocks. */
function instructions(count, depth) {
  const made = [];
  for (let i = 0; i < count; i++) {
    if (depth < 6 && below(8) === 0) {
      const opens = 0x02 + below(3);
      const otherwise = opens === 0x04 && below(2) === 0 ? [0x05, ...instructions(count >> 1, depth + 1)] : [];
      made.push(opens, 0x40, ...instructions(count >> 1, depth + 1), ...otherwise, 0x0b);
    } else made.push(...INSTRUCTIONS[below(INSTRUCTIONS.length)]());
  }
  return made;
}

const locals = () => { const groups = below(4); return [groups, ...Array.from({ length: groups }, () => [...some(), 0x7c + below(4)]).flat()]; };
const body = (inside) => [...locals(), ...inside, 0x0b];

let compared = 0;
// `split` itself fails unless `joined` gives back what it was given.
const same = (bodies) => { split(module(bodies)); compared++; };
same([]);
same([body([])]);
for (const instruction of INSTRUCTIONS) for (let i = 0; i < 50; i++) same([body(instruction()), body(instruction())]);
for (let i = 0; i < 300; i++) same(Array.from({ length: below(5) }, () => body(instructions(below(60), 0))));

/** What is refused, and the words that say why. */
function refused(what, words) {
  let said = "nothing";
  try {
    split(what);
  } catch (error) {
    said = error.message;
  }
  if (!said.includes(words)) throw new Error(`expected a complaint about ${words}, and got: ${said}`);
}
refused(module([body([0xfd, 12])]), "does not know the instruction 0xfd");
refused(module([[0, 0x02, 0x40, 0x0b]]), "function 0 has 4 bytes");
// A number with more bytes than it needs, where `joined` writes the shortest.
refused(module([body([0x20, 0x80, 0x00])]), "not what its streams make");
refused(module([]).subarray(0, 8), "no code");
console.log(`${compared} modules in streams and back`);
