// Algorithms: written here or taken from the library, and explored.

const BOUNDS = ["threads", "values", "keys", "nodes", "capacity"];

class AlgorithmPanel {
  constructor(clerk) {
    this.clerk = clerk;
    this.name = "own.seri";
    this.place = null;
    this.sources = new Map();
    this.result = new Result($("algorithm-result"), { share: () => this.thing(), name: () => this.name, choose: () => {} });
    $("explore").onclick = () => this.explore();
    $("algorithm-save").onclick = () => {
      const name = this.name.replace(/.*\//, "");
      saved(name.endsWith(".seri") ? name : `${name}.seri`, this.text(), "text/plain");
    };
    $("algorithm-file").onchange = ({ target }) => target.files[0] && this.open(target.files[0]);
    $("library").onchange = ({ target }) => target.value && this.take(target.value);
    const area = $("algorithm-text");
    area.oninput = () => {
      this.result.age();
      if (this.sources.has(this.name)) this.name = "own.seri";
      $("library").value = "";
      this.colour();
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.read(), 200);
    };
    area.onscroll = () => this.follow();
  }

  /** Offers the algorithms of the library. */
  offer({ algorithms }) {
    const group = (label) => make("optgroup", { label });
    const [right, wrong] = [group("correct"), group("broken")];
    for (const { name, meaning, source } of algorithms) {
      this.sources.set(name, source);
      const isBroken = name.startsWith("broken/");
      (isBroken ? wrong : right).append(make("option", { value: name, title: meaning }, name.replace("broken/", "")));
    }
    $("library").append(right, wrong);
  }

  text() {
    return $("algorithm-text").value;
  }

  /** Shows an algorithm of the library. */
  take(name) {
    this.write(name, this.sources.get(name));
    $("library").value = name;
  }

  async open(file) {
    this.write(file.name, await file.text());
  }

  write(name, text) {
    this.result.age();
    this.name = name;
    $("library").value = "";
    $("algorithm-text").value = text;
    $("algorithm-text").scrollTop = 0;
    for (const bound of BOUNDS) $(bound).value = "";
    this.colour();
    return this.read();
  }

  /** Colours the text; the underlined place stays until the text is read again. */
  colour() {
    $("coloured").replaceChildren(...highlighted(this.text(), this.place), "\n");
    this.follow();
  }

  follow() {
    const { scrollTop, scrollLeft } = $("algorithm-text");
    $("coloured").scrollTop = scrollTop;
    $("coloured").scrollLeft = scrollLeft;
  }

  /** Says what is wrong with the text, or within which bounds it would be explored. */
  async read() {
    const text = this.text();
    const answer = text.trim() ? await this.clerk.ask({ ask: "text", name: this.name, text }) : {};
    if (text !== this.text()) return;
    this.complain(answer);
    for (const bound of BOUNDS) $(bound).placeholder = answer[bound] ?? "any";
  }

  complain({ error, place }) {
    this.place = place ?? null;
    $("complaint").hidden = !error;
    $("complaint").textContent = error ?? "";
    $("algorithm-text").setAttribute("aria-invalid", String(Boolean(error)));
    this.colour();
  }

  thing() {
    const bounds = Object.fromEntries(BOUNDS.filter((bound) => $(bound).value).map((bound) => [bound, $(bound).value]));
    return { name: this.name, seri: this.text(), bounds };
  }

  async restore({ name, seri, library, bounds }) {
    if (library) this.take(library);
    else await this.write(name, seri);
    for (const [bound, value] of Object.entries(bounds ?? {})) if (BOUNDS.includes(bound)) $(bound).value = value;
    return this.explore();
  }

  async explore() {
    const question = { ask: "explore", name: this.name, text: this.text() };
    for (const bound of BOUNDS) {
      const given = Number.parseInt($(bound).value, 10);
      if (given >= 0 && given < 100) question[bound] = given;
    }
    await this.result.run(question, null, seconds("algorithm-seconds"), { stop: $("algorithm-stop") });
    if (this.result.answer?.exit === 2) this.complain(this.result.answer);
  }
}
