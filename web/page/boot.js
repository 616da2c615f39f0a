// Unpacks the module and the page, in a worker, and starts them.

const box = document.getElementById("packed");
const worker = URL.createObjectURL(new Blob([document.getElementById("worker").textContent], { type: "text/javascript" }));

/** How many values of 15 bits have a sixteenth with them. */
const LONG = 30654;

/** The bytes of a text that has 15 or 16 bits of them in each character; `build.mjs` writes it. */
function fromCharacters(text) {
  const bytes = new Uint8Array(text.length * 2);
  let [held, bits, at] = [0, 0, 0];
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    const value = code < 55296 ? code - 64 : code - 2112;
    const isLong = value < 2 * LONG;
    held = (held << (isLong ? 16 : 15)) | (isLong ? value : value - LONG);
    for (bits += isLong ? 16 : 15; bits >= 8; held &= (1 << bits) - 1) {
      bits -= 8;
      bytes[at++] = held >>> bits;
    }
  }
  return bytes;
}

/** Says why there is no page. */
function refuse(why) {
  document.getElementById("unpacking").textContent = `This browser cannot unpack the page: ${why}`;
}

const unpacker = new Worker(worker);
unpacker.onerror = (event) => refuse(event.message);
unpacker.onmessage = ({ data: { module, texts, broken } }) => {
  unpacker.terminate();
  if (broken) return refuse(broken.error);
  globalThis.seriatim = { module, worker };
  const [styles, body, scripts] = texts;
  const text = (tag, textContent) => Object.assign(document.createElement(tag), { textContent });
  document.head.append(text("style", styles));
  document.body.innerHTML = body;
  document.body.append(text("script", scripts));
};
unpacker.postMessage({ packed: fromCharacters(box.textContent), lengths: JSON.parse(box.dataset.lengths) });
box.remove();
