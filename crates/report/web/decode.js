// Reads the columns that src/html/columns.rs writes, in the same order.

/** A return that never came. */
const PENDING = 0xffffffff;

/** The bytes of an element's text: base64 of a raw deflate stream. */
async function inflated(element) {
  const text = element.textContent.trim();
  element.remove();
  let bytes;
  if (Uint8Array.fromBase64) {
    bytes = Uint8Array.fromBase64(text);
  } else {
    const binary = atob(text);
    bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  }
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Reads LEB128 numbers one after another. */
class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.place = 0;
  }

  number() {
    let byte = this.bytes[this.place++];
    if (byte < 128) return byte;
    let value = byte & 127;
    let weight = 128;
    do {
      byte = this.bytes[this.place++];
      value += (byte & 127) * weight;
      weight *= 128;
    } while (byte >= 128);
    return value;
  }

  /** A column of `length` numbers: constant, plain, or differences (zigzag). */
  column(length, Type) {
    const column = new Type(length);
    const mode = this.bytes[this.place++];
    if (mode === 0) {
      column.fill(this.number());
    } else if (mode === 1) {
      for (let i = 0; i < length; i++) column[i] = this.number();
    } else {
      let last = 0;
      for (let i = 0; i < length; i++) {
        const step = this.number();
        last += step % 2 ? -(step + 1) / 2 : step / 2;
        column[i] = last;
      }
    }
    return column;
  }

  /** The table of values that are not small integers. */
  strings() {
    const decoder = new TextDecoder();
    const strings = [];
    for (let left = this.number(); left > 0; left--) {
      const head = this.number();
      const bytes = Math.floor(head / 2);
      const text = decoder.decode(this.bytes.subarray(this.place, this.place + bytes));
      strings.push({ text, isPair: head % 2 === 1 });
      this.place += bytes;
    }
    return strings;
  }
}

/** The columns of a page. */
function decoded(bytes, ranks) {
  const reader = new Reader(bytes);
  const strings = reader.strings();
  const length = reader.number();
  const process = reader.column(length, Uint32Array);
  const method = reader.column(length, Uint32Array);
  const failed = new Uint8Array(length);
  for (let i = 0; i < length; i++) {
    failed[i] = method[i] & 1;
    method[i] >>>= 1;
  }
  const [object, key, arg, result] = [0, 1, 2, 3].map(() => reader.column(length, Uint32Array));
  const line = reader.column(length, Float64Array);
  const call = reader.column(length, Uint32Array);
  const ret = reader.column(length, Uint32Array);
  for (let i = 0; i < length; i++) ret[i] = ret[i] === 0 ? PENDING : call[i] + ret[i] - 1;
  const timed = reader.number();
  const times = timed ? reader.column(timed, Float64Array) : null;
  const order = reader.column(reader.number(), Uint32Array);
  return { strings, length, process, method, failed, object, key, arg, result, line, call, ret, ranks, times, order };
}
