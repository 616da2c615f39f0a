// The texts beside the drawing: the selected operation, the orders, the parts, the table.

/** Makes an element. Texts are always text, never markup. */
function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "on") element.addEventListener("click", value);
    else if (name === "class") element.className = value;
    else if (value !== undefined && value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const grouped = (number) => number.toLocaleString("en");
const counted = (number, noun) => `${grouped(number)} ${noun}${number === 1 ? "" : "s"}`;
/** A sentence with a capital, unless it begins with the name of an operation, and a full stop. */
function sentence(text) {
  const capital = /^[a-z]+[ :]/.test(text) ? text[0].toUpperCase() + text.slice(1) : text;
  return text === "" || /[.!?]$/.test(text) ? capital : `${capital}.`;
}

/** Steps of a long order that are listed at once. */
const STEPS = 60;
/** Rows of the table. */
const ROWS = 200;

/** A duration with its unit, if the history says in which one it counts. */
function duration(page, units) {
  const { unit } = page.verdict;
  if (!unit) return grouped(units);
  const { size, name } = unitOf(units * unit);
  return `${((units * unit) / size).toLocaleString("en", { maximumFractionDigits: Math.log10(size) })} ${name}`;
}

/** A moment: wall-clock time in UTC, a duration since the start, or the bare number. */
function moment(page, since) {
  const { unit, is_unix: isUnix, first_time: first } = page.verdict;
  const units = BigInt(first) + BigInt(since);
  if (!unit) return units.toString();
  if (!isUnix) return duration(page, Number(units));
  const nanoseconds = units * BigInt(unit);
  const date = new Date(Number(nanoseconds / 1_000_000n));
  if (Number.isNaN(date.getTime())) return units.toString();
  const fraction = (nanoseconds % 1_000_000_000n).toString().padStart(9, "0").replace(/(000)+$/, "");
  return date.toISOString().replace(/\.\d+Z$/, fraction === "" ? "Z" : `.${fraction}Z`);
}

/** A recorded time, exactly. */
function exactTime(page, history, rank) {
  const since = history.time(rank);
  if (!page.timed) return `event ${grouped(since)}`;
  const exact = Number.isSafeInteger(since) && page.verdict.first_time !== "0" ? ` (${moment(page, since)})` : "";
  return `+${duration(page, since)}${exact}`;
}

/** A recorded time for a table: since the first event. */
function shortTime(page, history, rank) {
  return page.timed ? `+${duration(page, history.time(rank))}` : grouped(history.time(rank));
}

/** Buttons that lead to operations. */
function chips(page, operations) {
  const { history } = page.scene;
  const shown = operations.slice(0, 12).map((operation) =>
    make("button", { type: "button", on: () => page.select(operation), title: history.names.processes[history.process[operation]] }, history.label(operation)),
  );
  const more = operations.length - shown.length;
  return make("div", { class: "chips" }, ...shown, more > 0 ? `and ${grouped(more)} more` : null);
}

/** What an operation has to do with the order that is shown. */
function standing(page, operation) {
  const { scene } = page;
  const attempt = page.shownAttempt;
  if (attempt) {
    const stuck = attempt.stuck.find(([id]) => id === page.original(operation));
    if (stuck) return make("span", { class: "stuck" }, `✗ cannot be placed: ${stuck[1]}`);
  }
  const step = scene.stepOf ? scene.stepOf[operation] : -1;
  if (step >= 0) {
    const what = `step ${grouped(step + 1)} of ${grouped(scene.chosen.length)}`;
    const state = page.stateAfter(step);
    return make("span", {}, what, state === undefined ? null : make("span", {}, ", leaving ", make("code", {}, state)));
  }
  if (page.verdict.verdict === "linearizable") return "takes no effect in this order";
  return scene.stepOf ? "not placed in this order" : null;
}

/** Describes the selected operation. */
function showDetails(page) {
  const box = document.getElementById("details");
  const { scene } = page;
  const operation = scene.selected;
  const title = make("h2", { id: "details-title" }, "Operation");
  if (operation < 0) {
    box.replaceChildren(title, make("p", { class: "hint" }, "Click an operation, or press an arrow key, to see what it did and what must come before it."));
    return;
  }
  const { history } = scene;
  const original = page.original(operation);
  const rows = [];
  const add = (name, value) => value && rows.push(make("dt", {}, name), make("dd", {}, value));
  add("process", history.names.processes[history.process[operation]].replace(/^process /, ""));
  add("call", exactTime(page, history, history.call[operation]));
  const isCut = page.verdict.counterexample?.open.includes(original) && scene.isSmall;
  if (history.ret[operation] !== PENDING) add("return", exactTime(page, history, history.ret[operation]));
  else add("return", isCut ? `later: ${page.whole.label(original)}` : "never: it may take effect at any time after its call, or never");
  if (history.failed[operation]) add("outcome", "failed");
  if (history.line[operation]) add("line", grouped(history.line[operation]));
  if (history.names.silentResults[history.method[operation]]) add("result", history.value(history.result[operation]));
  add("note", page.verdict.notes[original]);
  add("in the order", standing(page, operation));
  const before = history.before(operation);
  const after = before.count === 0 ? "nothing" : counted(before.count, "operation");
  add("must come after", `${after}${before.count > before.direct.length ? ", directly after:" : before.count > 0 ? ":" : ""}`);
  const list = make("dl", {}, ...rows);
  if (before.direct.length > 0) list.append(make("dt", {}), make("dd", {}, chips(page, before.direct)));
  list.append(make("dt", {}, "overlaps"), make("dd", {}, counted(history.concurrent(operation), "operation")));
  box.replaceChildren(title, make("p", { class: "selected-name" }, history.label(operation)), list);
}

/** One step of an order. */
function stepItem(page, { step, operation, state }) {
  const { history } = page.scene;
  const who = history.names.processes[history.process[operation]];
  return make(
    "li",
    { "data-step": String(step + 1), class: step >= 99 ? "long" : "", "aria-current": operation === page.scene.selected ? "true" : undefined },
    make("button", { type: "button", class: "step", on: () => page.select(operation) }, history.label(operation)),
    make("span", { class: "who" }, who),
    state === undefined ? null : make("span", { class: "state" }, `→ ${state}`),
  );
}

/** Lists the attempts of a counterexample, or a witness. */
function showOrders(page) {
  const box = document.getElementById("orders");
  const { scene } = page;
  if (!scene.stepOf) return box.replaceChildren();
  const children = [make("h2", {}, page.attempt ? "Why no order works" : page.orderTitle)];
  if (page.attempt && page.verdict.counterexample.attempts.length > 1) {
    const tabs = page.verdict.counterexample.attempts.map((_, index) =>
      make("button", { type: "button", "aria-pressed": String(index === page.attemptIndex), on: () => page.chooseAttempt(index) }, `Order ${index + 1}`),
    );
    children.push(make("div", { class: "tabs", role: "group", "aria-label": "Orders that get farthest" }, ...tabs));
  }
  const { chosen } = scene;
  const selected = scene.selected >= 0 ? scene.stepOf[scene.selected] : -1;
  if (selected >= 0 && (selected < page.firstStep || selected >= page.firstStep + STEPS)) page.firstStep = Math.max(0, selected - 10);
  if (scene.stuck.has(scene.selected) && page.shownAttempt) page.firstStep = Math.max(0, chosen.length - STEPS / 2);
  const first = Math.min(page.firstStep, Math.max(0, chosen.length - 1));
  const last = Math.min(first + STEPS, chosen.length);
  const items = [];
  const context = page.verdict.counterexample?.context;
  if (page.attempt && context && first === 0) {
    items.push(make("li", { class: "start", "data-step": "…" }, `${counted(context.count, "earlier operation")}`, make("span", { class: "state" }, `→ ${context.state}`)));
  }
  for (let step = first; step < last; step++) items.push(stepItem(page, { step, operation: chosen[step], state: page.stateAfter(step) }));
  if (page.shownAttempt && last === chosen.length) items.push(...stuckItems(page));
  if (chosen.length > STEPS) children.push(pager(page, first, last, chosen.length));
  children.push(make("ol", { class: "steps" }, ...items));
  box.replaceChildren(...children);
}

/** The operations that would have to come next. */
function stuckItems(page) {
  const { history } = page.scene;
  return page.shownAttempt.stuck.map(([id, reason]) => {
    const operation = page.local(id);
    return make(
      "li",
      { class: "fail", "data-step": "✗" },
      make("button", { type: "button", class: "step", on: () => page.select(operation) }, history.label(operation)),
      make("span", { class: "who" }, history.names.processes[history.process[operation]]),
      make("span", { class: "reason" }, reason),
    );
  });
}

function pager(page, first, last, total) {
  const go = (step) => () => {
    page.firstStep = Math.min(Math.max(0, step), total - 1);
    page.scene.selected = -1;
    page.refresh();
  };
  return make(
    "div",
    { class: "pager" },
    make("button", { type: "button", on: go(first - STEPS), disabled: first === 0 }, "Earlier"),
    make("button", { type: "button", on: go(first + STEPS), disabled: last === total }, "Later"),
    `steps ${grouped(first + 1)}–${grouped(last)} of ${grouped(total)}`,
  );
}

/** Lists the parts of a history that was split. */
function showParts(page) {
  const box = document.getElementById("parts");
  const { parts, parts_left_out: left, unknown } = page.verdict;
  const children = [];
  if (unknown) {
    const far = `An order is known for ${counted(unknown.linearizable_events, "event")} of the open parts. ${counted(unknown.decided.length, "part")} decided, ${grouped(unknown.open.length)} open.`;
    children.push(make("h2", {}, "How far it got"), make("p", {}, far));
  }
  if (parts.length > 1) {
    const mark = { linearizable: "✓ linearizable", violation: "✗ violated", open: "? open" };
    const rank = { violation: 0, open: 1, linearizable: 2 };
    const sorted = [...parts].sort((a, b) => rank[a.standing] - rank[b.standing]).slice(0, 50);
    const name = (part) => {
      const label = part.label || "all";
      if (!part.core) return label;
      return make("button", { type: "button", class: "step", on: () => page.showPart(part) }, label);
    };
    const rows = sorted.map((part) =>
      make("tr", {}, make("th", { scope: "row" }, name(part)), make("td", {}, part.operations === undefined ? "" : grouped(part.operations)), make("td", { class: part.standing === "violation" ? "stuck" : "" }, mark[part.standing])),
    );
    const head = make("tr", {}, ...["Part", "Operations", ""].map((text) => make("th", { scope: "col" }, text)));
    children.push(make("h2", {}, "Parts"), make("table", { class: "parts" }, make("thead", {}, head), make("tbody", {}, ...rows)));
    const more = parts.length - sorted.length + left;
    if (more > 0) children.push(make("p", { class: "more" }, `and ${counted(more, "part")} more`));
  }
  box.replaceChildren(...children);
}

/** Lists the operations of the scene, or those that match. */
function showTable(page) {
  const { scene } = page;
  const { history } = scene;
  const list = page.found ?? { at: (index) => index, length: history.length };
  const shown = Math.min(list.length, ROWS);
  const heads = ["Operation", "Process", "Call", "Return"];
  if (hasLines(history)) heads.push("Line");
  if (hasPlaces(scene)) heads.push("In the order");
  const rows = [];
  for (let index = 0; index < shown; index++) rows.push(tableRow(page, list.at(index)));
  const head = make("thead", {}, make("tr", {}, ...heads.map((text) => make("th", { scope: "col" }, text))));
  document.getElementById("table").replaceChildren(head, make("tbody", {}, ...rows));
  const title = scene.isSmall ? "Operations of the counterexample" : page.found ? "Operations that match" : "Operations";
  document.getElementById("table-title").textContent = title;
  const more = list.length - shown;
  document.getElementById("table-more").textContent = more > 0 ? `and ${counted(more, "operation")} more: filter to see them` : "";
}

/** Whether there is something to say about where operations stand in an order. */
function hasPlaces(scene) {
  return scene.stepOf !== null || scene.stuck.size > 0;
}

/** Whether operations stand in a file: those of a run do not. */
function hasLines(history) {
  history.someLine ??= history.line.some((line) => line > 0);
  return history.someLine;
}

function tableRow(page, operation) {
  const { history, stepOf, stuck, selected } = page.scene;
  const step = stepOf && stepOf[operation] >= 0 ? `step ${grouped(stepOf[operation] + 1)}` : stepOf ? "not placed" : "";
  const isStuck = stuck.has(operation);
  const cell = (text, kind) => make("td", { class: kind }, text);
  const pick = () => page.select(operation);
  return make(
    "tr",
    { "aria-selected": String(operation === selected), "data-operation": String(operation), on: pick },
    make("td", { class: "op" }, make("button", { type: "button", class: "link" }, history.label(operation))),
    cell(history.names.processes[history.process[operation]]),
    cell(shortTime(page, history, history.call[operation]), "num"),
    cell(history.ret[operation] === PENDING ? "pending" : shortTime(page, history, history.ret[operation]), "num"),
    hasLines(history) ? cell(history.line[operation] ? grouped(history.line[operation]) : "", "num") : null,
    !hasPlaces(page.scene) ? null : isStuck ? cell("✗ cannot be placed", "stuck") : cell(step),
  );
}

/** Explains the signs, and lets groups of annotations be hidden. */
function showLegend(page) {
  const { scene } = page;
  const colours = page.timeline.colours;
  const used = new Set();
  for (const row of scene.rows.slice(0, 200)) for (const i of row.operations.subarray(0, 200)) used.add(scene.history.method[i]);
  const sign = (style, text) => {
    const swatch = make("i");
    Object.assign(swatch.style, style);
    return make("span", {}, swatch, text);
  };
  const items = [...used].sort((a, b) => a - b).slice(0, 10).map((method) =>
    sign({ background: colours.fill(method), borderColor: colours.edge(method) }, page.verdict.methods[method]),
  );
  if (scene.history.ret.includes(PENDING)) items.push(sign({ borderStyle: "dashed", borderRightStyle: "none", borderColor: colours.soft }, "pending"));
  if (scene.stuck.size > 0) items.push(sign({ background: colours.badWash, borderColor: colours.bad, borderWidth: "2px" }, "✗ cannot be placed"));
  if (scene.marked.length > 0) items.push(sign({ borderColor: colours.bad }, "in the counterexample"));
  if (scene.points) items.push(sign({ width: "11px", borderRadius: "9px", borderColor: colours.accent }, "linearization point"));
  for (const group of page.groups) {
    const box = make("input", { type: "checkbox", checked: !page.hidden.has(group) });
    box.addEventListener("change", () => page.toggleGroup(group, box.checked));
    items.push(make("label", {}, box, group || "annotations"));
  }
  document.getElementById("legend").replaceChildren(...items);
}
