// Answers questions in a thread of its own, which can be stopped at any moment.

let exports = null;
let words = "";

const decoder = new TextDecoder();
const host = {
  now: () => performance.now(),
  tell: (what, place, length) => {
    const said = decoder.decode(new Uint8Array(exports.memory.buffer, place, length));
    if (what === 0) words = said;
    else postMessage({ progress: said });
  },
};

/** Room in the module's memory that holds these bytes. */
function room(bytes) {
  const place = exports.seriatim_room(bytes.length) >>> 0;
  new Uint8Array(exports.memory.buffer, place, bytes.length).set(bytes);
  return place;
}

function answer(question, log) {
  const asked = new TextEncoder().encode(JSON.stringify(question));
  const [first, second] = [room(asked), room(log)];
  const packed = BigInt.asUintN(64, exports.seriatim_ask(first, asked.length, second, log.length));
  const [place, length] = [Number(packed >> 32n), Number(packed & 0xffffffffn)];
  const text = decoder.decode(new Uint8Array(exports.memory.buffer, place, length));
  exports.seriatim_free(place, length);
  return JSON.parse(text);
}

/** What `build.mjs` packed: the module in streams, and behind them the texts of the page. */
async function opened(packed, lengths) {
  const streams = [lengths.before, lengths.after, ...lengths.streams].reduce((sum, length) => sum + length);
  const bytes = unpacked(packed, streams + lengths.texts.reduce((sum, length) => sum + length));
  const module = await WebAssembly.compile(joined(bytes, lengths));
  let end = streams;
  const texts = lengths.texts.map((length) => decoder.decode(bytes.subarray(end, (end += length))));
  return { module, texts };
}

onmessage = async ({ data: { packed, lengths, module, id, question, log } }) => {
  try {
    if (packed) return postMessage(await opened(packed, lengths));
    exports ??= (await WebAssembly.instantiate(module, { seriatim: host })).exports;
    postMessage({ id, answer: answer(question, log ?? new Uint8Array()) });
  } catch (error) {
    // What a panic or a full memory leaves behind answers nothing any more.
    exports = null;
    postMessage({ id, broken: { words, error: String(error) } });
    words = "";
  }
};
