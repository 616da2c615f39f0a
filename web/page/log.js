// Logs: dropped, opened or written here, and checked.

/** The largest log that is shown as text. */
const LARGEST_TEXT = 200000;

/** What a map is called that is written here. */
const OWN_MAP = "map.toml";

class LogPanel {
  constructor(editor) {
    this.editor = editor;
    this.source = "log";
    this.bytes = null; // of a log that is not shown as text, or not as it is
    this.maps = new Map();
    this.result = new Result($("log-result"), {
      share: () => this.thing(),
      name: () => this.source,
      choose: (name) => {
        $("spec").value = name;
        this.check();
      },
    });
    $("check").onclick = () => this.check();
    $("log-file").onchange = ({ target }) => target.files[0] && this.open(target.files[0]);
    $("spec").onchange = () => this.check();
    $("map").onchange = () => this.mapped($("map").value, this.maps.get($("map").value) ?? "");
    for (const id of ["levels", "map-text", "skip-unmatched"]) $(id).oninput = () => this.result.age();
    $("log-text").oninput = () => {
      this.result.age();
      this.bytes = null;
      this.name();
    };
  }

  /** Offers the specifications, levels and maps that are built in. */
  offer({ specs, services, levels, maps }) {
    const options = [...specs, ...services].map(({ name, meaning }) => make("option", { value: name, label: `${name}: ${meaning}` }));
    $("specs").replaceChildren(...options);
    $("level-names").replaceChildren(...["all", ...levels].map((value) => make("option", { value })));
    this.maps = new Map(maps.map(({ name, text }) => [name, text]));
    $("map").append(...[...this.maps.keys(), OWN_MAP].map((value) => make("option", { value }, value === OWN_MAP ? "of your own" : value)));
  }

  /** Shows the rules of a map: a ready one can be changed, and none is none. */
  mapped(name, text) {
    $("map").value = name;
    $("map-text").value = text;
    $("map-text").hidden = name === "";
    this.result.age();
  }

  /** The map that is asked with, if there is one. */
  map() {
    const name = $("map").value;
    return name ? { name, text: $("map-text").value, skip_unmatched: $("skip-unmatched").checked } : null;
  }

  name(words = "") {
    $("log-name").textContent = words;
  }

  async open(file) {
    $("spec").value = "";
    this.hold(file.name, new Uint8Array(await file.arrayBuffer()));
    await this.check();
  }

  /** Takes a log: as text, if it is one that is not too long to be edited. */
  hold(source, bytes) {
    this.source = source;
    this.bytes = bytes;
    const isPacked = (bytes[0] === 0x1f && bytes[1] === 0x8b) || (bytes[0] === 0x28 && bytes[1] === 0xb5);
    let text = null;
    if (!isPacked && bytes.length <= LARGEST_TEXT) {
      try {
        text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
      } catch {
        // Not UTF-8: the module says what is wrong with it.
      }
    }
    $("log-text").value = text ?? "";
    // Every end of a line is \n there: a text that has others is checked as it was, until it is changed by hand.
    if (text === $("log-text").value) this.bytes = null;
    this.name(text === null ? `${source}: ${bytes.length.toLocaleString("en")} bytes, not shown` : source);
  }

  /** What a link shows again. */
  thing() {
    const held = this.bytes ? { bytes: base64Of(this.bytes) } : { log: $("log-text").value };
    const spec = $("own-spec").checked ? { seri: this.editor.text() } : { spec: $("spec").value };
    const more = { observe: $("observe").checked, independent: $("independent").checked, levels: $("levels").value, map: this.map() };
    return { source: this.source, ...held, ...spec, ...more };
  }

  /** Shows what a link, or a lesson, is about. */
  restore({ source, log, bytes, spec, seri, observe, independent, levels, map }) {
    this.hold(source, bytes === undefined ? new TextEncoder().encode(log) : bytesOf(bytes));
    $("spec").value = spec ?? "";
    $("own-spec").checked = seri !== undefined;
    if (seri !== undefined) this.editor.write("specification.seri", seri);
    $("observe").checked = Boolean(observe);
    $("independent").checked = Boolean(independent);
    $("levels").value = levels ?? "";
    this.mapped(map?.name ?? "", map?.text ?? "");
    $("skip-unmatched").checked = Boolean(map?.skip_unmatched);
    return this.check();
  }

  check() {
    const question = {
      ask: "check",
      source: this.source,
      spec: $("spec").value.trim() || null,
      seri: $("own-spec").checked ? this.editor.text() : null,
      levels: $("levels").value.trim() || null,
      map: this.map(),
      observe_failures: $("observe").checked,
      independent: $("independent").checked,
    };
    const bytes = this.bytes ?? new TextEncoder().encode($("log-text").value);
    return this.result.run(question, bytes, seconds("log-seconds"), { stop: $("log-stop") });
  }
}

/** A time limit; what is no number of seconds is the usual one. */
function seconds(id) {
  const given = Number($(id).value);
  return given > 0 && given <= 3600 ? given : 30;
}
