// What is on the page as the fragment of its address, and as files.

/** The longest address that is worth copying: programs that people chat with cut longer ones. */
const LONGEST_LINK = 32000;

/** What bytes become by compression or decompression. */
async function transformed(bytes, transform) {
  const stream = new Blob([bytes]).stream().pipeThrough(transform);
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function base64Of(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}

/** A thing as the fragment of an address. */
async function fragmentOf(thing) {
  const bytes = new TextEncoder().encode(JSON.stringify(thing));
  const packed = base64Of(await transformed(bytes, new CompressionStream("deflate-raw")));
  return `#1.${packed.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
}

/** The thing of a fragment; throws if it is damaged. */
async function thingOf(fragment) {
  const packed = fragment.match(/^#1\.([\w-]+)$/)?.[1];
  if (!packed) throw new Error("expected #1. and letters");
  const bytes = bytesOf(packed.replaceAll("-", "+").replaceAll("_", "/"));
  const text = await transformed(bytes, new DecompressionStream("deflate-raw"));
  return JSON.parse(new TextDecoder().decode(text));
}

/** Gives a file to whoever reads the page. */
function saved(name, content, type) {
  const link = make("a", { href: URL.createObjectURL(new Blob([content], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** Puts an address that shows a thing into the address bar and the clipboard; says what became of it. */
async function linked(thing) {
  const fragment = await fragmentOf(thing);
  const address = location.href.replace(/#.*$/, "") + fragment;
  if (address.length > LONGEST_LINK) {
    return `a link would have ${address.length} characters, too many for most programs: save the file and send that`;
  }
  history.replaceState(null, "", fragment);
  try {
    await navigator.clipboard.writeText(address);
    return "the link is in the clipboard, and in the address bar";
  } catch {
    return "the link is in the address bar";
  }
}
