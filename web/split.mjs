// Takes a module of WebAssembly apart into streams, which `page/streams.js` puts together again.

import { readFileSync } from "node:fs";
import { join } from "node:path";

const source = readFileSync(join(import.meta.dirname, "page/streams.js"), "utf8");
const { STREAMS, NUMBERS, carry, reaching, joined } = new Function(
  `"use strict";\n${source}\nreturn { STREAMS, NUMBERS, carry, reaching, joined };`,
)();

const CODE = 10;
const HAS_ITS_OWN = [0x0e, 0x20, 0x21, 0x22, 0xfc];

/** The bytes of a module, read from a place on. */
class Reader {
  constructor(bytes, at) {
    Object.assign(this, { bytes, at });
  }

  byte() {
    if (this.at >= this.bytes.length) throw new Error("the module ends in the middle");
    return this.bytes[this.at++];
  }

  /** A number and the bytes that it has. */
  number() {
    const start = this.at;
    let [value, bits, byte] = [0, 0, 0];
    do {
      byte = this.byte();
      value += (byte & 127) * 2 ** bits;
      bits += 7;
    } while (byte > 127);
    return { value, bytes: this.bytes.subarray(start, this.at) };
  }
}

/** Where the functions of a module begin and end, and how many they are. */
function functions(module) {
  const reader = new Reader(module, 8);
  while (reader.at < module.length) {
    const id = reader.byte();
    const length = reader.number().value;
    const end = reader.at + length;
    if (id === CODE) {
      const count = reader.number().value;
      return { begin: reader.at, end, count };
    }
    reader.at = end;
  }
  throw new Error("the module has no code");
}

/** The hand of `carry` that takes apart: what it reads goes to the end of a stream. */
function taking(reader, streams) {
  const put = (stream, bytes) => { for (const byte of bytes) streams[stream].push(byte); };
  return {
    byte: (stream, mask) => {
      const byte = reader.byte();
      if (mask === 0 && stream === "opcode" && !NUMBERS[byte] && !HAS_ITS_OWN.includes(byte)) {
        throw new Error(`page/streams.js does not know the instruction 0x${byte.toString(16)}`);
      }
      put(stream, [byte ^ mask]);
      return byte;
    },
    number: (stream) => {
      const { value, bytes } = reader.number();
      put(stream, bytes);
      return value;
    },
    local: (used) => {
      const local = reader.number().value;
      const place = reaching(used, local).indexOf(local);
      let rest = place;
      for (; rest > 127; rest >>>= 7) put("local", [(rest & 127) | 128]);
      put("local", [rest]);
      return place;
    },
  };
}

/** A module in streams, and the lengths that `joined` asks for; fails unless `joined` gives the module back. */
export function split(module) {
  const { begin, end, count } = functions(module);
  const streams = Object.fromEntries(STREAMS.map((stream) => [stream, []]));
  const reader = new Reader(module, begin);
  const hand = taking(reader, streams);
  for (let i = 0; i < count; i++) {
    const { value: size } = reader.number();
    const behind = reader.at + size;
    carry(hand);
    if (reader.at !== behind) throw new Error(`function ${i} has ${size} bytes, of which ${behind - reader.at} were not read`);
  }
  const parts = STREAMS.map((stream) => Buffer.from(streams[stream]));
  const bytes = Buffer.concat([module.subarray(0, begin), module.subarray(end), ...parts]);
  const lengths = {
    module: module.length,
    before: begin,
    after: module.length - end,
    functions: count,
    streams: parts.map((part) => part.length),
  };
  if (!Buffer.from(joined(bytes, lengths)).equals(module)) throw new Error("the module is not what its streams make");
  return { bytes, lengths };
}
