// The page: which part of the history is shown, under which axis, filtered how.

/** Histories of so many operations are drawn with room for every label; counterexamples of more. */
const FEW = 60;
const MANY = 400;

class Page {
  constructor(verdict, whole) {
    this.verdict = verdict;
    this.whole = whole;
    this.timed = whole.times !== null;
    this.timeline = new Timeline(document.getElementById("timeline"));
    this.attemptIndex = 0;
    this.firstStep = 0;
    this.hidden = new Set();
    this.groups = [...new Set(verdict.annotations.map((annotation) => annotation.group))];
    this.found = null;
    this.scene = null;
    const refuted = verdict.counterexample;
    this.small = refuted ? whole.part(refuted.operations, refuted.open) : null;
    this.placeOf = new Map(refuted?.operations.map((original, index) => [original, index]));
  }

  /** Shows the counterexample or the whole history. */
  open(view) {
    this.view = this.small ? view : "whole";
    this.axisKind = "order";
    this.found = null;
    this.build();
    // Of a long order the end, where it fails.
    this.firstStep = this.small ? Math.max(0, this.scene.chosen.length - STEPS / 2) : 0;
    this.timeline.fit();
    this.applyFilter();
    this.stayReadable();
  }

  /** Where everything would be too small to read: shows the violation, or the beginning. */
  stayReadable() {
    const { timeline, verdict, scene } = this;
    if (scene.axis.kind !== "label" || timeline.scale >= 0.75) return;
    timeline.scale = 0.9;
    const stuck = this.local(verdict.counterexample?.stuck[0] ?? 0);
    if (stuck >= 0) timeline.reveal(stuck);
    const visible = (timeline.width - timeline.gutter) / timeline.scale;
    const first = scene.axis.from - 6 / timeline.scale;
    timeline.offset = Math.max(first, Math.min(timeline.offset, scene.axis.to - visible));
  }

  get history() {
    return this.view === "small" ? this.small : this.whole;
  }

  /** The id in the whole history of an operation of the scene, and back. */
  original(operation) {
    return this.view === "small" ? this.small.original[operation] : operation;
  }

  local(original) {
    return this.view === "small" ? this.placeOf.get(original) ?? -1 : original;
  }

  get attempt() {
    return this.view === "small" ? this.verdict.counterexample.attempts[this.attemptIndex] : undefined;
  }

  /** The attempt whose steps the scene shows, in either view. */
  get shownAttempt() {
    return this.view === "small" ? this.attempt : this.verdict.counterexample?.attempts[0];
  }

  get orderTitle() {
    return this.verdict.verdict === "linearizable" ? "An order that explains everything" : "The order that gets farthest";
  }

  /** The state after a step of the chosen order, if it is known. */
  stateAfter(step) {
    if (this.attempt) return this.attempt.states[step] || undefined;
    const refuted = this.verdict.counterexample;
    if (!refuted) return this.verdict.states[step];
    const first = this.whole.order.length;
    return step === first - 1 ? refuted.context?.state : refuted.attempts[0]?.states[step - first] || undefined;
  }

  /** Puts the scene together from view, axis and attempt. */
  build() {
    const { history, verdict, view } = this;
    const isSmall = view === "small";
    const refuted = verdict.counterexample;
    const axis = this.axisOf();
    const scene = {
      history,
      axis,
      rows: history.rows,
      lanes: this.lanes(axis),
      isSmall,
      roomy: history.length <= (isSmall ? MANY : FEW),
      stuck: new Set((refuted?.stuck ?? []).map((id) => this.local(id))),
      marked: isSmall || !refuted || refuted.operations.length > MANY ? [] : refuted.operations,
      span: isSmall || !refuted ? null : this.span(axis),
      matches: null,
      selected: -1,
      before: [],
      chosen: null,
      points: null,
      stepOf: null,
    };
    this.scene = scene;
    scene.now = this.moment();
    if (isSmall) {
      const order = this.attempt ? this.attempt.order.map((id) => this.local(id)) : [];
      this.choose(Uint32Array.from(order));
    } else if (verdict.verdict !== "unknown") {
      const tail = refuted?.attempts[0]?.order ?? [];
      // The witness; or what comes first without loss, and then as far as possible.
      this.choose(tail.length === 0 ? history.order : Uint32Array.from([...history.order, ...tail]));
    }
    this.timeline.show(scene);
  }

  choose(order) {
    const { scene, history } = this;
    scene.chosen = order;
    scene.points = order.length > 0 ? linearizationPoints(history, order) : null;
    if (order.length === 0 && !this.shownAttempt) return;
    scene.stepOf = new Int32Array(history.length).fill(-1);
    for (let step = 0; step < order.length; step++) scene.stepOf[order[step]] = step;
  }

  axisOf() {
    const { history } = this;
    if (this.axisKind === "time") return timeAxis(history, this.verdict.unit);
    if (history.length > (this.view === "small" ? MANY : FEW)) return orderAxis(history);
    this.timeline.colours ??= palette();
    const letter = 7.6;
    return labelAxis(history, (i) => Math.min(history.label(i).length + 4, 46) * letter + 20);
  }

  /** From the first call of the counterexample to its end, in positions. */
  span(axis) {
    const { operations, end } = this.verdict.counterexample;
    let [first, last] = [Infinity, 0];
    for (const i of operations) {
      first = Math.min(first, this.whole.call[i]);
      last = Math.max(last, this.whole.ret[i] === PENDING ? this.whole.call[i] : this.whole.ret[i]);
    }
    return [axis.at(first), axis.at(end ?? last)];
  }

  /** The annotations by group, with positions of the scene. */
  lanes(axis) {
    const place = (rank) => {
      if (this.view !== "small") return axis.at(rank);
      const { moments } = this.small;
      const next = firstPlace(0, moments.length, (index) => moments[index] >= rank);
      return axis.at(moments[next] === rank ? next : next - 0.5);
    };
    const groups = this.groups.filter((group) => !this.hidden.has(group));
    return groups.map((group) => {
      const index = this.groups.indexOf(group);
      const items = this.verdict.annotations
        .filter((annotation) => annotation.group === group)
        .map((annotation) => ({ from: place(annotation.start), to: place(annotation.end), text: annotation.text, colour: groupColour(annotation, index) }))
        .sort((a, b) => a.from - b.from);
      return { group: group || "annotations", items };
    });
  }

  /** Marks the moment after so many events of the whole history. */
  mark(events) {
    this.events = events;
    this.scene.now = this.moment();
    this.timeline.redraw();
  }

  /** Where the marked moment stands. */
  moment() {
    if (this.events === undefined) return null;
    const { axis } = this.scene;
    if (this.view !== "small") return axis.at(this.events - 0.5);
    const { moments } = this.small;
    return axis.at(firstPlace(0, moments.length, (index) => moments[index] >= this.events) - 0.5);
  }

  chooseAttempt(index) {
    const { selected } = this.scene;
    this.attemptIndex = index;
    this.build();
    this.firstStep = Math.max(0, this.scene.chosen.length - STEPS / 2);
    this.scene.selected = selected;
    this.applyFilter();
  }

  chooseAxis(kind) {
    const { selected } = this.scene;
    this.axisKind = kind;
    this.build();
    this.timeline.fit();
    this.applyFilter();
    if (selected >= 0) this.select(selected);
  }

  toggleGroup(group, isShown) {
    if (isShown) this.hidden.delete(group);
    else this.hidden.add(group);
    this.scene.lanes = this.lanes(this.scene.axis);
    this.timeline.resize();
  }

  select(operation) {
    const { scene } = this;
    scene.selected = operation;
    scene.before = operation < 0 ? [] : this.history.before(operation).direct.slice(0, 24);
    if (operation >= 0) {
      this.timeline.reveal(operation);
      const place = scene.stuck.has(operation) ? "cannot be placed" : "";
      say(`${this.history.label(operation)}, ${this.history.names.processes[this.history.process[operation]]} ${place}`);
    }
    this.refresh();
  }

  /** Texts beside the drawing. */
  refresh() {
    showDetails(this);
    showOrders(this);
    for (const row of document.querySelectorAll("#table tbody tr")) {
      row.setAttribute("aria-selected", String(Number(row.dataset.operation) === this.scene.selected));
    }
    this.timeline.redraw();
  }

  /** Finds what the search and the selects ask for. */
  applyFilter() {
    const { history, scene } = this;
    const query = value("search").trim().toLowerCase();
    const process = value("filter-process");
    const method = value("filter-method");
    const key = value("filter-key");
    scene.rows = process === "" ? history.rows : history.rows.filter((row) => row.process === Number(process));
    const test = this.tester(query, method, key);
    this.found = null;
    scene.matches = null;
    if (test) {
      scene.matches = scene.rows.map((row) => ({ ...row, operations: row.operations.filter(test) }));
    }
    if (test || process !== "") {
      const lists = (scene.matches ?? scene.rows).map((row) => row.operations);
      const all = new Uint32Array(lists.reduce((sum, list) => sum + list.length, 0));
      let place = 0;
      for (const list of lists) {
        all.set(list, place);
        place += list.length;
      }
      this.found = all.sort();
    }
    document.getElementById("hits").textContent = this.found ? counted(this.found.length, "match").replace("matchs", "matches") : "";
    this.timeline.rowOf = undefined;
    this.timeline.resize();
    showTable(this);
    showLegend(this);
    this.refresh();
    this.markButtons();
  }

  /** A test of operations, or null if every operation passes. */
  tester(query, method, key) {
    const { history } = this;
    const tests = [];
    if (method !== "") tests.push((i) => history.method[i] === Number(method));
    if (key !== "") tests.push((i) => this.keyColumn(history)[i] === Number(key));
    if (query !== "") {
      // Words in any order; an arrow belongs to the result after it.
      const words = (query.replaceAll("->", "→").match(/→\s*\S+|[^\s→]+/g) ?? []).map((word) => word.replace(/→\s*/, "→ "));
      tests.push((i) => {
        const text = `${history.label(i)} ${history.names.processes[history.process[i]]}`.toLowerCase();
        return words.every((word) => text.includes(word));
      });
    }
    return tests.length === 0 ? null : (i) => tests.every((test) => test(i));
  }

  /** The column that says which key an operation is about. */
  keyColumn(history) {
    return this.keysAreObjects ? history.object : history.key;
  }

  /** Goes to the next operation that was found. */
  nextMatch(direction) {
    if (!this.found || this.found.length === 0) return;
    const { selected } = this.scene;
    let place = firstPlace(0, this.found.length, (index) => this.found[index] > selected);
    if (direction < 0) place = firstPlace(0, this.found.length, (index) => this.found[index] >= selected) - 1;
    this.closer();
    this.select(this.found[(place + this.found.length) % this.found.length]);
  }

  /** Zooms in until single operations can be seen. */
  closer() {
    const { axis } = this.scene;
    if (axis.kind === "label" || this.timeline.scale * axis.interval * 8 > 60) return;
    const typical = axis.kind === "order" ? 12 : 40 / axis.interval;
    this.timeline.scale = axis.kind === "order" ? typical : Math.max(this.timeline.scale, 2 / axis.interval);
  }

  /** Goes to the operations of a part that no order explains. */
  showPart(part) {
    if (this.view !== "whole") this.open("whole");
    this.select(part.core[part.core.length - 1]);
  }

  /** Goes to the operations that cannot be placed. */
  showViolation() {
    const refuted = this.verdict.counterexample;
    if (!refuted) return;
    if (this.view === "whole") this.timeline.frame(...this.span(this.scene.axis));
    const target = refuted.stuck[0] ?? refuted.operations[0];
    if (target !== undefined) this.select(this.local(target));
  }

  /** Goes along the chosen order. */
  step(direction) {
    const { chosen, stepOf, selected } = this.scene;
    if (!chosen || chosen.length === 0) return;
    const now = selected >= 0 ? stepOf[selected] : -1;
    const next = Math.min(Math.max(now + direction, 0), chosen.length - 1);
    this.closer();
    this.select(chosen[next]);
  }

  /** Arrow keys: to the neighbour in the row, or to the nearest operation of the row beside it. */
  go(direction) {
    const { rows, selected, history } = this.scene;
    if (rows.length === 0) return;
    if (selected < 0) return this.select(rows[0].operations[0]);
    const r = Math.max(0, rows.findIndex((row) => row.process === history.process[selected]));
    const { operations } = rows[r];
    const k = firstPlace(0, operations.length, (place) => operations[place] >= selected);
    if (direction === "left") this.select(operations[Math.max(0, k - 1)]);
    if (direction === "right") this.select(operations[Math.min(operations.length - 1, k + 1)]);
    const row = rows[r + { up: -1, down: 1 }[direction]];
    if (row) {
      const near = firstPlace(0, row.operations.length, (place) => history.call[row.operations[place]] >= history.call[selected]);
      this.select(row.operations[Math.min(near, row.operations.length - 1)]);
    }
  }

  /** Keys on the timeline; says whether it knew the key. */
  key(event) {
    const { history } = this.scene;
    const keys = {
      ArrowLeft: () => this.go("left"),
      ArrowRight: () => this.go("right"),
      ArrowUp: () => this.go("up"),
      ArrowDown: () => this.go("down"),
      Home: () => this.select(0),
      End: () => this.select(history.length - 1),
      ",": () => this.step(-1),
      ".": () => this.step(1),
    };
    if (!keys[event.key] || history.length === 0) return false;
    keys[event.key]();
    return true;
  }

  markButtons() {
    press("view-small", this.view === "small");
    press("view-whole", this.view === "whole");
    document.getElementById("to-violation").hidden = !this.small;
    press("axis-order", this.axisKind === "order");
    press("axis-time", this.axisKind === "time");
    const summary = this.view === "small" ? `Timeline of the counterexample, ${counted(this.small.length, "operation")}` : `Timeline of ${counted(this.whole.length, "operation")}`;
    this.timeline.canvas.setAttribute("aria-label", summary);
  }
}

const value = (id) => document.getElementById(id).value;
const press = (id, isPressed) => document.getElementById(id).setAttribute("aria-pressed", String(isPressed));
const onClick = (id, action) => document.getElementById(id).addEventListener("click", action);

/** Tells a screen reader. */
function say(text) {
  document.getElementById("live").textContent = text;
}

/** Fills the selects. */
function showFilters(page) {
  const { whole, verdict } = page;
  const fill = (id, all, options) => {
    const select = document.getElementById(id);
    select.replaceChildren(make("option", { value: "" }, all), ...options.map(([code, text]) => make("option", { value: String(code) }, text)));
    select.hidden = options.length < 2;
  };
  fill("filter-process", "All processes", whole.rows.slice(0, 2000).map((row) => [row.process, row.name]));
  fill("filter-method", "All operations", verdict.methods.map((name, index) => [index, name]));
  page.keysAreObjects = !whole.key.some((code) => code !== 0);
  const codes = [...new Set(page.keyColumn(whole))].filter((code) => code !== 0).slice(0, 2000);
  const keys = codes.map((code) => [code, whole.value(code)]);
  keys.sort((a, b) => a[1].localeCompare(b[1], "en", { numeric: true }));
  fill("filter-key", page.keysAreObjects ? "All objects" : "All keys", keys);
  document.getElementById("axis-group").hidden = !page.timed;
}

/** Light or dark: what the reader prefers, until they say otherwise. */
function followTheme(onChange) {
  const root = document.documentElement;
  const prefers = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  const apply = (isDark) => {
    root.dataset.theme = isDark ? "dark" : "light";
    onChange();
  };
  const now = () => chosen ?? prefers.matches;
  prefers.addEventListener("change", () => apply(now()));
  onClick("theme", () => {
    chosen = !now();
    apply(chosen);
  });
  window.addEventListener("beforeprint", () => apply(false));
  window.addEventListener("afterprint", () => apply(now()));
  apply(now());
}

/** Connects buttons, fields and keys. */
function connect(page) {
  const { timeline } = page;
  const tip = document.getElementById("tip");
  listen(timeline, {
    select: (operation) => page.select(operation),
    point: (operation, x, y) => showTip(page, tip, operation, { x, y }),
    key: (event) => page.key(event),
  });
  onClick("view-small", () => page.open("small"));
  onClick("view-whole", () => page.open("whole"));
  onClick("to-violation", () => page.showViolation());
  onClick("axis-order", () => page.chooseAxis("order"));
  onClick("axis-time", () => page.chooseAxis("time"));
  onClick("zoom-in", () => timeline.zoom(1.5));
  onClick("zoom-out", () => timeline.zoom(1 / 1.5));
  onClick("zoom-fit", () => timeline.fit());
  const help = document.getElementById("help");
  onClick("help-button", () => help.showModal());
  for (const id of ["filter-process", "filter-method", "filter-key"]) {
    document.getElementById(id).addEventListener("change", () => page.applyFilter());
  }
  const search = document.getElementById("search");
  let timer;
  search.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => page.applyFilter(), page.history.length > 20000 ? 250 : 60);
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") page.nextMatch(event.shiftKey ? -1 : 1);
    if (event.key === "Escape") timeline.canvas.focus();
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    const keys = {
      "/": () => search.focus(),
      "?": () => help.showModal(),
      c: () => page.open("small"),
      w: () => page.open("whole"),
      v: () => page.showViolation(),
      n: () => page.nextMatch(1),
      N: () => page.nextMatch(-1),
      Escape: () => page.select(-1),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
  new ResizeObserver(() => timeline.resize()).observe(document.getElementById("canvas-box").parentElement);
}

/** What is under the mouse. */
function showTip(page, tip, operation, { x, y }) {
  tip.hidden = operation < 0;
  if (operation < 0) return;
  const { history, stuck } = page.scene;
  const lines = [make("b", {}, history.label(operation)), make("br"), history.names.processes[history.process[operation]]];
  const reason = page.shownAttempt?.stuck.find(([id]) => id === page.original(operation))?.[1];
  if (stuck.has(operation)) lines.push(make("br"), `✗ ${reason ?? "cannot be placed"}`);
  const note = page.verdict.notes[page.original(operation)];
  if (note) lines.push(make("br"), note);
  tip.replaceChildren(...lines);
  const { width } = page.timeline;
  tip.style.left = `${Math.min(x + 14, Math.max(0, width - tip.offsetWidth - 8))}px`;
  tip.style.top = `${y + 16}px`;
}

/** Opens the history of the page: gives the timeline with everything around it. */
async function openHistory(verdict) {
  const bytes = await inflated(document.getElementById("columns"));
  const { processes, methods, silent_args: silentArgs, silent_results: silentResults } = verdict;
  const whole = new History(decoded(bytes, verdict.ranks), { processes, methods, silentArgs, silentResults });
  const page = new Page(verdict, whole);
  showFilters(page);
  followTheme(() => {
    if (!page.scene) return;
    page.timeline.colours = palette();
    // At once: a printer does not wait for the next frame.
    page.timeline.draw();
    showLegend(page);
  });
  showParts(page);
  document.getElementById("view-small").parentElement.hidden = !verdict.counterexample;
  connect(page);
  page.open("small");
  return page;
}
