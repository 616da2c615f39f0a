// Unpacks LZMA, the format of `xz --format=lzma`: browsers unpack gzip, whose window of 32 KB makes the module half as large again.
//
// A range coder gives bits by adaptive probabilities; they spell literals and matches in what was unpacked before.

/** A decoder of the bits of a packed stream. */
class RangeDecoder {
  constructor(bytes, at) {
    Object.assign(this, { bytes, at: at + 1, range: -1 >>> 0, code: 0 });
    for (let i = 0; i < 4; i++) this.code = ((this.code << 8) | bytes[this.at++]) >>> 0;
  }

  normalize() {
    if (this.range >= 0x1000000) return;
    this.range = (this.range << 8) >>> 0;
    this.code = ((this.code << 8) | this.bytes[this.at++]) >>> 0;
  }

  /** A bit, by the probability at a place, which learns from it. */
  bit(probabilities, place) {
    const p = probabilities[place];
    const bound = (this.range >>> 11) * p;
    let bit = 0;
    if (this.code < bound) {
      this.range = bound;
      probabilities[place] = p + ((2048 - p) >>> 5);
    } else {
      bit = 1;
      this.range -= bound;
      this.code -= bound;
      probabilities[place] = p - (p >>> 5);
    }
    this.normalize();
    return bit;
  }

  /** Bits that are as likely as not. */
  direct(count) {
    let value = 0;
    for (let i = 0; i < count; i++) {
      this.range >>>= 1;
      const bit = this.code >= this.range ? 1 : 0;
      if (bit) this.code -= this.range;
      value = ((value << 1) | bit) >>> 0;
      this.normalize();
    }
    return value;
  }

  /** A number of so many bits, the highest first. */
  tree(probabilities, bits, base = 0) {
    let node = 1;
    for (let i = 0; i < bits; i++) node = (node << 1) | this.bit(probabilities, base + node);
    return node - (1 << bits);
  }

  /** The same, the lowest bit first. */
  reversed(probabilities, bits, base) {
    let [node, value] = [1, 0];
    for (let i = 0; i < bits; i++) {
      const bit = this.bit(probabilities, base + node);
      node = (node << 1) | bit;
      value |= bit << i;
    }
    return value;
  }
}

const likely = (count) => new Uint16Array(count).fill(1024);

/** The lengths of matches. */
class Lengths {
  constructor() {
    Object.assign(this, { choice: likely(2), low: likely(16 << 3), middle: likely(16 << 3), high: likely(256) });
  }

  next(coder, position) {
    if (!coder.bit(this.choice, 0)) return 2 + coder.tree(this.low, 3, position << 3);
    if (!coder.bit(this.choice, 1)) return 10 + coder.tree(this.middle, 3, position << 3);
    return 18 + coder.tree(this.high, 8);
  }
}

/** What was packed, of this length. */
function unpacked(bytes, length) {
  const properties = bytes[0];
  const [lc, lp, pb] = [properties % 9, Math.floor(properties / 9) % 5, Math.floor(properties / 45)];
  const coder = new RangeDecoder(bytes, 13);
  const out = new Uint8Array(length);
  const literals = likely(0x300 << (lc + lp));
  const [isMatch, isRep, isRep0, isRep1, isRep2, isLong] = [192, 12, 12, 12, 12, 192].map(likely);
  const [slots, special, align] = [likely(4 << 6), likely(128), likely(16)];
  const [matches, repeats] = [new Lengths(), new Lengths()];
  const last = [0, 0, 0, 0];
  let [state, at] = [0, 0];

  const literal = () => {
    const before = at ? out[at - 1] : 0;
    const base = 0x300 * (((at & ((1 << lp) - 1)) << lc) + (before >> (8 - lc)));
    let symbol = 1;
    if (state >= 7) {
      let expected = out[at - last[0] - 1];
      do {
        const bit = (expected >> 7) & 1;
        expected <<= 1;
        const found = coder.bit(literals, base + ((1 + bit) << 8) + symbol);
        symbol = (symbol << 1) | found;
        if (bit !== found) break;
      } while (symbol < 0x100);
    }
    while (symbol < 0x100) symbol = (symbol << 1) | coder.bit(literals, base + symbol);
    out[at++] = symbol;
    state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
  };

  const distance = (size) => {
    const slot = coder.tree(slots, 6, Math.min(size - 2, 3) << 6);
    if (slot < 4) return slot;
    const bits = (slot >> 1) - 1;
    const high = ((2 | (slot & 1)) << bits) >>> 0;
    if (slot < 14) return high + coder.reversed(special, bits, high - slot);
    return (high + coder.direct(bits - 4) * 16 + coder.reversed(align, 4, 0)) >>> 0;
  };

  /** Which of the last distances comes again, now the first of them; whether for a single byte. */
  const repeatsOne = (position) => {
    if (!coder.bit(isRep0, state)) return !coder.bit(isLong, (state << 4) + position);
    const which = !coder.bit(isRep1, state) ? 1 : !coder.bit(isRep2, state) ? 2 : 3;
    last.unshift(...last.splice(which, 1));
    return false;
  };

  while (at < length) {
    const position = at & ((1 << pb) - 1);
    if (!coder.bit(isMatch, (state << 4) + position)) {
      literal();
      continue;
    }
    let size;
    if (!coder.bit(isRep, state)) {
      size = matches.next(coder, position);
      last.unshift(distance(size));
      last.pop();
      state = state < 7 ? 7 : 10;
    } else if (repeatsOne(position)) {
      size = 1;
      state = state < 7 ? 9 : 11;
    } else {
      size = repeats.next(coder, position);
      state = state < 7 ? 8 : 11;
    }
    for (let i = 0; i < size && at < length; i++, at++) out[at] = out[at - last[0] - 1];
  }
  return out;
}
