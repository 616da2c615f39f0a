// Unpacks the module and the scripts of the page, in a worker, and starts them.

const box = document.getElementById("packed");
const worker = URL.createObjectURL(new Blob([document.getElementById("worker").textContent], { type: "text/javascript" }));

/** The bytes of a text that has 31 bits of them in each pair of characters; `build.mjs` writes it. */
function fromPairs(text) {
  const bytes = new Uint8Array(Math.floor((text.length / 2) * (31 / 8)));
  // Up to 38 bits are held: more than the operators for bits know.
  let [held, bits, at] = [0, 0, 0];
  for (let i = 0; i < text.length; i += 2) {
    held = held * 2 ** 31 + (text.charCodeAt(i) - 64) * 46341 + text.charCodeAt(i + 1) - 64;
    for (bits += 31; bits >= 8; held %= 2 ** bits) {
      bits -= 8;
      bytes[at++] = held / 2 ** bits;
    }
  }
  return bytes;
}

/** Says why there is no page. */
function refuse(why) {
  document.getElementById("log-result").textContent = `This browser cannot unpack the page: ${why}`;
}

const unpacker = new Worker(worker);
unpacker.onerror = (event) => refuse(event.message);
unpacker.onmessage = ({ data: { module, scripts, broken } }) => {
  unpacker.terminate();
  if (broken) return refuse(broken.error);
  globalThis.seriatim = { module, worker };
  document.body.append(Object.assign(document.createElement("script"), { textContent: scripts }));
};
unpacker.postMessage({ packed: fromPairs(box.textContent), lengths: JSON.parse(box.dataset.lengths) });
box.remove();
