// The page of an algorithm: its head, and the run step by step. Stepping moves the marks in the source, in the
// columns, in memory and on the timeline together.

const MARKS = { violation: "✗", proved: "✓", holds: "✓", unknown: "?" };
const TONES = { violation: "violation", proved: "linearizable", holds: "linearizable", unknown: "unknown" };
const put = (id, text) => (document.getElementById(id).textContent = text);

/** The verdict, what was asked, the claims. */
function showAnswer(report) {
  put("mark", MARKS[report.verdict]);
  put("word", report.badge);
  document.getElementById("badge").dataset.verdict = TONES[report.verdict];
  const spec = report.spec ? make("small", {}, ` as ${report.spec}`) : null;
  document.getElementById("title").replaceChildren(...[report.name, spec].filter(Boolean));
  put("facts", report.facts);
  const how = report.run?.how ?? "";
  put("why", sentence(how));
  put("asked", report.asked);
  document.getElementById("cuts").replaceChildren(...report.cuts.map((text) => make("li", {}, text)));
  const claims = report.claims.map(({ property, standing, words }, index) => {
    // How it is violated is told above, and the same reason twice tells nobody more.
    const isTold = standing === "VIOLATED" || words === "" || words === report.claims[index - 1]?.words;
    return make("li", { "data-standing": standing.toLowerCase(), title: words }, make("b", {}, property), ` ${standing.toLowerCase()}`, isTold ? null : make("span", {}, words));
  });
  document.getElementById("claims").replaceChildren(...claims);
  put("replay", report.replay ?? "");
  document.getElementById("replay-box").hidden = !report.replay;
  document.getElementById("stuck-box").hidden = !report.stuck;
}

class RunView {
  constructor(report) {
    this.run = report.run;
    this.rows = this.run.rows;
    this.now = 0;
    this.source = new Source(report.source, this.rows);
    this.heap = new Heap(this.run.layout);
    // memories[n] is memory after n rows; events[n] the number of calls and returns among them.
    this.memories = [this.run.initial];
    this.events = [0];
    for (const row of this.rows) {
      this.memories.push(row.memory ?? this.memories[this.memories.length - 1]);
      const isEvent = row.action === "call" || row.action === "return";
      this.events.push(this.events[this.events.length - 1] + (isEvent ? 1 : 0));
    }
    this.fill();
    document.getElementById("slider").max = String(this.rows.length);
    document.getElementById("source-box").hidden = report.source === "";
    document.getElementById("steps").classList.toggle("no-lines", this.rows.every((row) => !row.line));
    const isDrawn = this.memories.some((memory) => memory.variables.length + memory.nodes.length > 0);
    document.getElementById("memory-box").hidden = !isDrawn;
    document.querySelector(".scene").dataset.columns = isDrawn || report.source !== "" ? "two" : "one";
  }

  /** The columns: a row for each access; rows of one step belong together. */
  fill() {
    const { threads } = this.run;
    const head = make("tr", {}, make("th", { scope: "col", class: "line-head" }, "line"), ...threads.map((name, thread) => make("th", { scope: "col" }, pill(thread), name)));
    this.elements = this.rows.map((row, index) => this.row(row, index));
    const body = [];
    this.elements.forEach((element, index) => {
      if (index === this.run.circle) {
        body.push(make("tr", { class: "circle" }, make("td", { colspan: String(threads.length + 1) }, "↻ from here on, again and again")));
      }
      body.push(element);
    });
    document.getElementById("steps").replaceChildren(make("thead", {}, head), make("tbody", {}, ...body));
  }

  row(row, index) {
    const isFirst = index === 0 || this.rows[index - 1].step !== row.step;
    const outcome = row.outcome ? make("span", { class: `outcome ${row.succeeded === false ? "failed" : row.succeeded ? "succeeded" : ""}` }, row.outcome) : null;
    const glue = row.action === "write" || row.action === "stop" ? ": " : " ";
    const button = make("button", { type: "button", class: "link" }, make("span", { class: "done" }, row.text), outcome ? glue : null, outcome);
    const cells = this.run.threads.map((_, thread) => {
      if (thread !== row.thread) return make("td", { class: "idle" });
      return make("td", { class: "access", "data-action": row.action }, pill(thread), button);
    });
    const kinds = [isFirst ? "first" : "", index === this.rows.length - 1 ? "last" : ""];
    return make("tr", { class: kinds.filter(Boolean).join(" "), on: () => this.go(index + 1) }, make("td", { class: "at" }, row.line ? String(row.line) : ""), ...cells);
  }

  /** Shows the run after so many rows. */
  go(now) {
    this.now = Math.min(Math.max(now, 0), this.rows.length);
    const current = this.rows[this.now - 1];
    this.elements.forEach((element, index) => {
      if (index === this.now - 1) element.setAttribute("aria-current", "step");
      else element.removeAttribute("aria-current");
      element.classList.toggle("future", index >= this.now);
    });
    if (current) within(document.getElementById("steps-box"), this.elements[this.now - 1]);
    else document.getElementById("steps-box").scrollTop = 0;
    const last = this.run.threads.map((_, thread) => this.rows.slice(0, this.now).findLast((row) => row.thread === thread));
    // A thread whose operation has ended stands nowhere.
    const inside = last.map((row) => (row === current || row?.action !== "return" ? row : undefined));
    this.source.show(current, inside);
    this.heap.show(this.memories[this.now], this.memories[Math.max(0, this.now - 1)]);
    this.tell(current);
    this.moved?.(this.events[this.now]);
  }

  tell(current) {
    const slider = document.getElementById("slider");
    slider.value = String(this.now);
    const what = current ? `${this.run.threads[current.thread]}: ${current.text} ${current.outcome ?? ""}` : "before the first step";
    slider.setAttribute("aria-valuetext", `step ${this.now} of ${this.rows.length}, ${what}`);
    put("where", `step ${this.now} of ${this.rows.length}`);
    const disable = (id, isOff) => (document.getElementById(id).disabled = isOff);
    disable("step-first", this.now === 0);
    disable("step-back", this.now === 0);
    disable("step-on", this.now === this.rows.length);
    disable("step-last", this.now === this.rows.length);
    say(`step ${this.now}: ${what}`);
  }

  connect() {
    const end = this.rows.length;
    onClick("step-first", () => this.go(0));
    onClick("step-back", () => this.go(this.now - 1));
    onClick("step-on", () => this.go(this.now + 1));
    onClick("step-last", () => this.go(end));
    document.getElementById("slider").addEventListener("input", (event) => this.go(Number(event.target.value)));
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
      if (event.target.closest("input, select, textarea, canvas, dialog")) return;
      const keys = {
        ArrowRight: () => this.go(this.now + 1),
        ArrowDown: () => this.go(this.now + 1),
        ArrowLeft: () => this.go(this.now - 1),
        ArrowUp: () => this.go(this.now - 1),
        Home: () => this.go(0),
        End: () => this.go(end),
      };
      if (!keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    });
  }
}

/** The place at which a proof got stuck; the lines that it names lead into the source. */
function showStuck(text, source) {
  const pieces = text.trimEnd().split(/(in line \d+)/);
  const shown = pieces.map((piece, index) => {
    if (index % 2 === 0) return piece;
    return make("button", { type: "button", class: "reference", on: () => source.mark(Number(piece.slice(8))) }, piece);
  });
  document.getElementById("stuck").replaceChildren(...shown);
  if (pieces.length > 1) source.mark(Number(pieces[1].slice(8)));
}

/** The page of an algorithm without a run: its source, and what keeps a proof from being one. */
function showWithoutRun(report) {
  for (const id of ["history-box", "steps-box", "memory-box", "stepper", "help-button"]) document.getElementById(id).hidden = true;
  document.getElementById("source-box").hidden = report.source === "";
  const source = new Source(report.source, []);
  const scene = document.querySelector(".scene");
  scene.dataset.columns = report.stuck ? "two" : "one";
  if (report.stuck) scene.prepend(document.getElementById("stuck-box"));
  followTheme(() => {});
  return source;
}

/** The timeline of the run's history, with a line at the moment that is shown. */
async function showHistory(report, view) {
  const data = document.getElementById("verdict");
  if (!data) {
    // The trail of a stuck proof is no history.
    for (const id of ["history-box", "help-button"]) document.getElementById(id).hidden = true;
    followTheme(() => {});
    return null;
  }
  const verdict = JSON.parse(data.textContent);
  // A recorded history calls them processes, the columns of the run threads.
  verdict.processes = verdict.processes.map((name) => name.replace(/^process (?=\d+$)/, "thread "));
  const page = await openHistory(verdict);
  put("sentence", sentence(verdict.sentence));
  view.moved = (events) => page.mark(events);
  const keys = [["← →", "one step back, one step on"], ["Home End", "to the start, to the end of the run"]];
  const rows = keys.map(([key, what]) => make("tr", {}, make("th", { scope: "row" }, ...key.split(" ").map((name) => make("kbd", {}, name))), make("td", {}, what)));
  document.querySelector("#help table").prepend(...rows, make("tr", {}, make("th", { scope: "row", colspan: "2" }, "On the timeline:")));
  return page;
}

async function startRun() {
  const report = JSON.parse(document.getElementById("report").textContent);
  document.getElementById("app").hidden = false;
  showAnswer(report);
  let page = null;
  let view = null;
  if (report.run) {
    view = new RunView(report);
    page = await showHistory(report, view);
    view.connect();
  }
  const source = view?.source ?? showWithoutRun(report);
  if (report.stuck) showStuck(report.stuck, source);
  view?.go(view.rows.length);
  // For tests: what is on the screen.
  window.seriatim = { page, view, opened: performance.now() };
  document.documentElement.dataset.ready = "true";
}

startRun();
