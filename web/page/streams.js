// A module of WebAssembly in streams: what is alike stands together, which LZMA packs a tenth smaller.
//
// The bodies of functions mix opcodes, locals, constants, offsets, targets. Here each kind has a stream of its own, and a local is
// told by how many others were used since it was: code that is alike has the same numbers then, whichever locals it uses. `carry` goes
// through bodies the same way whether it takes them apart (`build.mjs`) or puts them together again (`joined`): what to expect
// next is always told by what was carried before.

/** The kinds, in the order in which they are packed. */
const STREAMS = ["head", "opcode", "local", "call", "offset", "block", "branch", "int", "long", "float", "other"];

/** The numbers behind an opcode, by the streams that they are in. */
const NUMBERS = new Array(256);
const behind = (first, last, ...streams) => NUMBERS.fill(streams, first, last + 1);
behind(0x00, 0x01); // unreachable, nop
behind(0x02, 0x04, "block"); // block, loop, if
behind(0x05, 0x05); // else
behind(0x0b, 0x0b); // end
behind(0x0c, 0x0d, "branch");
behind(0x0f, 0x0f); // return
behind(0x10, 0x10, "call");
behind(0x11, 0x11, "other", "other"); // call_indirect
behind(0x1a, 0x1b); // drop, select
behind(0x23, 0x24, "other"); // globals
behind(0x28, 0x3e, "offset"); // loads and stores, behind their alignment
behind(0x3f, 0x40, "other"); // memory.size, memory.grow
behind(0x41, 0x41, "int");
behind(0x42, 0x42, "long");
behind(0x43, 0xc4); // constants of floating point, whose bytes are no number; arithmetic
const [BLOCK, IF, END, BRANCH_TABLE, LOCAL_GET, LOCAL_TEE, LOAD, STORE, FLOAT, DOUBLE, PREFIX] =
  [0x02, 0x04, 0x0b, 0x0e, 0x20, 0x22, 0x28, 0x3e, 0x43, 0x44, 0xfc];

/** The numbers behind the prefix 0xfc and its number: conversions have none, `memory.init` two, and so on. */
const PREFIXED = [0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 2, 1, 2, 1, 2, 1, 1, 1];

/** The alignment that each load and store has by nature, from `i32.load` to `i64.store32`. */
const NATURAL = [2, 3, 2, 3, 0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 2, 3, 2, 3, 0, 1, 0, 1, 2];

/** Carries the body of a function from one form to the other, by what `hand` does with a byte, a number and a local. */
function carry(hand) {
  const used = [];
  const numbers = (count, stream) => { for (let i = 0; i < count; i++) hand.number(stream); };
  for (let groups = hand.number("head"); groups > 0; groups--) numbers(2, "head");
  for (let depth = 1; depth > 0; ) {
    const opcode = hand.byte("opcode", 0);
    if (opcode >= LOCAL_GET && opcode <= LOCAL_TEE) {
      toFront(used, hand.local(used));
      continue;
    }
    if (opcode >= BLOCK && opcode <= IF) depth++;
    if (opcode === END) depth--;
    if (opcode >= LOAD && opcode <= STORE) hand.byte("opcode", NATURAL[opcode - LOAD]);
    if (opcode === BRANCH_TABLE) numbers(hand.number("other") + 1, "other");
    else if (opcode === PREFIX) numbers(PREFIXED[hand.number("other")], "other");
    else for (const stream of NUMBERS[opcode]) hand.number(stream);
    const bytes = opcode === FLOAT ? 4 : opcode === DOUBLE ? 8 : 0;
    for (let i = 0; i < bytes; i++) hand.byte("float", 0);
  }
}

function toFront(used, place) {
  const local = used[place];
  for (let i = place; i > 0; i--) used[i] = used[i - 1];
  used[0] = local;
}

/** Makes room for a local that was not used before: those behind the used ones stand in their own order. */
function reaching(used, place) {
  while (used.length <= place) used.push(used.length);
  return used;
}

/** Puts a module together: what stands before the bodies and behind them, and the streams. */
function joined(bytes, lengths) {
  // A body is written five bytes behind its place, which the last one may not have.
  const module = new Uint8Array(lengths.module + 5);
  module.set(bytes.subarray(0, lengths.before));
  let [read, at] = [lengths.before + lengths.after, lengths.before];
  const cursors = {};
  STREAMS.forEach((stream, index) => {
    cursors[stream] = read;
    read += lengths.streams[index];
  });
  const write = (value) => {
    for (; value > 127; value >>>= 7) module[at++] = (value & 127) | 128;
    module[at++] = value;
  };
  const number = (stream, kept) => {
    let [value, bits, byte] = [0, 0, 0];
    do {
      byte = bytes[cursors[stream]++];
      if (kept) module[at++] = byte;
      value += (byte & 127) * 2 ** bits;
      bits += 7;
    } while (byte > 127);
    return value;
  };
  const hand = {
    byte: (stream, mask) => (module[at++] = bytes[cursors[stream]++] ^ mask),
    number: (stream) => number(stream, true),
    local: (used) => {
      const place = number("local", false);
      write(reaching(used, place)[place]);
      return place;
    },
  };
  for (let i = 0; i < lengths.functions; i++) {
    // The size of a body stands before it, and is known when it is there.
    const [place, body] = [at, at + 5];
    at = body;
    carry(hand);
    const size = at - body;
    at = place;
    write(size);
    module.copyWithin(at, body, body + size);
    at += size;
  }
  module.set(bytes.subarray(lengths.before, lengths.before + lengths.after), at);
  return module.subarray(0, lengths.module);
}
