// An answer: the verdict, the report, and what can be done with it.

const WORDS = { 0: "holds", 1: "violation", 2: "cannot be asked", 3: "unknown", 4: "defect" };

class Result {
  /** `share` gives what a link shows again, `name` what files are called. */
  constructor(box, { share, name, choose }) {
    Object.assign(this, { box, share, name, choose });
    this.progress = make("p", { class: "facts" });
    this.errand = null;
  }

  /** Asks, shows how it goes, and shows the answer. `buttons` are those that start and stop. */
  async run(question, log, seconds, buttons) {
    this.errand?.stop();
    const began = performance.now();
    const errand = new Errand(question, log, seconds, (words) => (this.progress.textContent = words));
    this.errand = errand;
    this.progress.textContent = "…";
    this.box.replaceChildren(this.progress);
    this.box.dataset.state = "asked";
    buttons.stop.hidden = false;
    buttons.stop.onclick = () => errand.stop();
    const answer = await errand.answer;
    if (this.errand !== errand) return;
    buttons.stop.hidden = true;
    this.show(answer, (performance.now() - began) / 1000);
  }

  /** What is asked about has changed since. */
  age() {
    if (this.box.dataset.state === "answered") this.box.dataset.state = "old";
  }

  show(answer, seconds) {
    this.answer = answer;
    const [first] = (answer.text ?? answer.error).trim().split("\n");
    const badge = make("span", { class: "badge", "data-exit": answer.exit }, WORDS[answer.exit]);
    const parts = [make("p", { class: "verdict" }, badge, " ", answer.text ? first.replace(/^\S\s+[A-Z]+\s+/, "") : "")];
    if (answer.candidates?.length) parts.push(this.candidates(answer));
    if (answer.error) parts.push(make("pre", { class: "complaint", role: "alert" }, answer.error));
    if (answer.html) parts.push(this.actions(seconds), this.report(answer), this.printed(answer));
    this.box.replaceChildren(...parts);
    this.box.dataset.exit = answer.exit;
    this.box.dataset.state = "answered";
  }

  /** The specifications that fit a log that names none, to choose one or to confirm the guess. */
  candidates({ candidates, error }) {
    const buttons = candidates.map((name) => {
      const button = make("button", { type: "button", "data-spec": name }, name);
      button.onclick = () => this.choose(name);
      return button;
    });
    const words = error ? "The log names no specification. Is it a" : "The log names no specification. Say which one it is:";
    return make("p", { class: "row candidates" }, words, ...buttons);
  }

  actions(seconds) {
    const said = make("span", { class: "facts", role: "status" }, `${seconds.toFixed(seconds < 10 ? 2 : 0)} s`);
    const link = make("button", { type: "button", class: "copy" }, "Copy a link");
    link.onclick = async () => (said.textContent = await linked(this.share()));
    const save = make("button", { type: "button", class: "save" }, "Save the report");
    save.onclick = () => saved(`${this.name().replace(/.*[/\\]/, "")}.html`, this.answer.html, "text/html");
    return make("p", { class: "row" }, save, link, said);
  }

  report(answer) {
    const frame = make("iframe", { title: "The report", sandbox: "allow-scripts allow-downloads" });
    frame.srcdoc = answer.html;
    return frame;
  }

  printed(answer) {
    const text = make("pre", { class: "printed" }, answer.text);
    const json = make("pre", { class: "printed json" }, answer.json.length > 100000 ? `${answer.json.slice(0, 100000)}…` : answer.json);
    return make("div", {}, folded("As the command prints it", text), folded("As JSON", json));
  }
}

function folded(title, content) {
  return make("details", {}, make("summary", {}, title), content);
}
