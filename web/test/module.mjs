// The module in node: questions in, answers out.

import { readFileSync } from "node:fs";

/** An instance of the module; `ask` gives the parsed answer. */
export async function instance(path) {
  const compiled = await WebAssembly.compile(readFileSync(path));
  let exports;
  const said = (place, length) => Buffer.from(exports.memory.buffer, place, length).toString();
  const host = {
    now: () => performance.now(),
    tell: (what, place, length) => {
      if (what === 0) throw new Error(said(place, length));
    },
  };
  exports = (await WebAssembly.instantiate(compiled, { seriatim: host })).exports;
  const room = (bytes) => {
    const place = exports.seriatim_room(bytes.length) >>> 0;
    new Uint8Array(exports.memory.buffer, place, bytes.length).set(bytes);
    return place;
  };
  return (question, log = new Uint8Array()) => {
    const asked = Buffer.from(JSON.stringify(question));
    const packed = BigInt.asUintN(64, exports.seriatim_ask(room(asked), asked.length, room(log), log.length));
    const [place, length] = [Number(packed >> 32n), Number(packed & 0xffffffffn)];
    const answer = JSON.parse(said(place, length));
    exports.seriatim_free(place, length);
    return answer;
  };
}
