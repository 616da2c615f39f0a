// Memory as boxes and arrows. A node has the same place in all pictures: src/run/heap.rs has found it, and
// the sizes here are the ones there.

const LINE = 19;
const LABEL = 22;
const MOST_LETTERS = 24;
/** The name space of drawings, from one that the page has: a page holds no address, not even this one. */
const SVG = document.querySelector("#heap svg").namespaceURI;

/** An element of a drawing. */
function shape(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** A text that is at most so long: its middle gives way. */
function middle(text, most) {
  const letters = [...text];
  if (letters.length <= most) return text;
  const half = Math.floor((most - 1) / 2);
  return `${letters.slice(0, half).join("")}…${letters.slice(letters.length - half).join("")}`;
}

/** Whether a cell holds more than the node that it refers to. */
const isTuple = (cell) => cell.value.startsWith("(");

/** What the label of a variable says. */
const labelled = (cell) => (isTuple(cell) ? `${cell.name} ${cell.value}` : cell.name);

/** The nodes that a picture's variables lead to. */
function reachable(memory) {
  const nodes = new Map(memory.nodes.map((node) => [node.id, node]));
  const todo = [...memory.variables, ...memory.locals].map((cell) => cell.node).filter((id) => id !== undefined);
  const seen = new Set();
  while (todo.length > 0) {
    const id = todo.pop();
    if (seen.has(id) || !nodes.has(id)) continue;
    seen.add(id);
    todo.push(...nodes.get(id).fields.map((field) => field.node).filter((next) => next !== undefined));
  }
  return seen;
}

class Heap {
  constructor(layout) {
    this.layout = layout;
    this.box = document.getElementById("heap");
    this.cells = document.getElementById("cells");
  }

  /** Draws memory; what is not as it was before stands out. */
  show(memory, before) {
    const isNode = (cell) => cell.node !== undefined && this.layout.places[cell.node];
    const plain = memory.variables.filter((cell) => !isNode(cell));
    const old = new Map(before.variables.map((cell) => [cell.name, cell.value]));
    this.cells.replaceChildren(
      ...plain.map((cell) => {
        const kind = old.get(cell.name) === cell.value ? "cell" : "cell fresh";
        return make("span", { class: kind }, `${cell.name} = `, make("b", {}, middle(cell.value, 2 * MOST_LETTERS)));
      }),
    );
    this.cells.hidden = plain.length === 0;
    if (Object.keys(this.layout.places).length === 0) return this.box.replaceChildren();
    const { width, height } = this.layout;
    const drawing = shape("svg", { viewBox: `0 0 ${width} ${height}`, width, height, style: `min-width:${Math.round(width * 0.62)}px` });
    const past = new Map(before.nodes.map((node) => [node.id, node]));
    const known = reachable(memory);
    const arrows = [];
    for (const node of memory.nodes) this.node(node, { drawing, arrows, past: past.get(node.id), isKnown: known.has(node.id) });
    drawing.append(...arrows);
    this.labels(memory, before, drawing);
    drawing.prepend(shape("title", {}, described(memory)));
    this.box.replaceChildren(drawing);
  }

  node(node, { drawing, arrows, past, isKnown }) {
    const place = this.layout.places[node.id];
    const { x, y, width } = place;
    const height = (node.fields.length + 1) * LINE + 6;
    const kinds = ["node", past ? "" : "fresh", node.freed ? "freed" : "", isKnown || node.freed ? "" : "lost"];
    const group = shape("g", { class: kinds.filter(Boolean).join(" ") });
    group.append(shape("rect", { class: "box", x, y, width, height, rx: 6 }));
    const title = node.freed ? `#${node.id} freed` : `#${node.id} ${node.kind}`;
    group.append(shape("text", { class: "title", x: x + 10, y: y + 14 }, title));
    node.fields.forEach((field, index) => {
      const top = y + 3 + LINE * (index + 1);
      const was = past?.fields[index];
      const isFresh = past && (!was || was.value !== field.value);
      if (isFresh) group.append(shape("rect", { class: "changed", x: x + 1, y: top, width: width - 2, height: LINE, rx: 3 }));
      group.append(shape("text", { class: "name", x: x + 10, y: top + 13.5 }, middle(field.name, MOST_LETTERS)));
      const target = field.node === undefined ? undefined : this.layout.places[field.node];
      if (target) {
        const port = { x: x + width - 12, y: top + LINE / 2 };
        group.append(shape("circle", { class: "port", cx: port.x, cy: port.y, r: 3 }));
        arrows.push(this.arrow({ port, from: place, to: target, height }, isFresh ? "arrow fresh" : "arrow", isKnown));
        if (isTuple(field)) group.append(shape("text", { class: "value", x: x + width - 22, y: top + 13.5 }, middle(field.value, MOST_LETTERS)));
      } else {
        group.append(shape("text", { class: "value", x: x + width - 10, y: top + 13.5 }, middle(field.value, MOST_LETTERS)));
      }
    });
    drawing.append(group);
  }

  /** From a field to a node: straight on where nobody stands between, else around. */
  arrow({ port, from, to, height }, kind, isKnown) {
    const right = from.x + from.width;
    let path;
    let tip;
    if (to === from) {
      path = `M${port.x} ${port.y} C${right + 34} ${port.y - 4} ${right + 34} ${from.y - 18} ${right - 16} ${from.y - 3}`;
      tip = [right - 16, from.y - 2, Math.PI * 0.7];
    } else if (to.x > right) {
      const y = Math.min(Math.max(port.y, to.y + 9), to.y + to.height - 9);
      const isFar = to.row === from.row && this.isBetween(from, to);
      const bend = Math.max(18, (to.x - port.x) * 0.45);
      if (isFar) {
        const over = Math.min(from.y, to.y) - 22;
        path = `M${port.x} ${port.y} C${port.x + 40} ${over} ${to.x - 60} ${over} ${to.x - 1} ${to.y + 9}`;
        tip = [to.x - 1, to.y + 9, Math.atan2(to.y + 9 - over, 60)];
      } else {
        path = `M${port.x} ${port.y} C${port.x + bend} ${port.y} ${to.x - bend} ${y} ${to.x - 2} ${y}`;
        tip = [to.x - 1, y, 0];
      }
    } else {
      // Backwards: around the lower side.
      const bottom = to.y + to.height;
      const under = Math.max(from.y + height, bottom) + 16;
      const x = to.x + Math.min(to.width - 14, to.width * 0.7);
      path = `M${port.x} ${port.y} C${right + 40} ${port.y} ${right + 20} ${under} ${(right + x) / 2} ${under} S${x} ${under} ${x} ${bottom + 2}`;
      tip = [x, bottom + 1, -Math.PI / 2];
    }
    const [tx, ty, angle] = tip;
    const side = (turn) => `${tx - 7 * Math.cos(angle + turn)} ${ty - 7 * Math.sin(angle + turn)}`;
    return shape(
      "g",
      { class: isKnown ? kind : `${kind} lost` },
      shape("path", { d: path, class: "line" }),
      shape("path", { d: `M${side(0.42)} L${tx} ${ty} L${side(-0.42)} Z`, class: "tip" }),
    );
  }

  isBetween(from, to) {
    return Object.values(this.layout.places).some((place) => place.row === from.row && place.x > from.x && place.x < to.x);
  }

  /** The variables that refer to nodes: shared ones above, those of threads below. */
  labels(memory, before, drawing) {
    const count = new Map();
    const old = new Set([
      ...before.variables.map((cell) => `${labelled(cell)}=${cell.node}`),
      ...before.locals.map((cell) => `t${cell.thread}.${cell.name}=${cell.node}`),
    ]);
    const heights = new Map(memory.nodes.map((node) => [node.id, (node.fields.length + 1) * LINE + 6]));
    const label = (cell, text, thread) => {
      const place = this.layout.places[cell.node];
      if (!place || !heights.has(cell.node)) return;
      const isAbove = thread === undefined;
      const key = `${cell.node} ${isAbove}`;
      const index = count.get(key) ?? 0;
      count.set(key, index + 1);
      const width = text.length * 7.3 + 14;
      const x = place.x + 8;
      const y = isAbove ? place.y - LABEL * (index + 1) - 1 : place.y + heights.get(cell.node) + 5 + LABEL * index;
      const kind = old.has(`${text}=${cell.node}`) ? "label" : "label fresh";
      const group = shape("g", { class: isAbove ? `${kind} shared` : kind });
      if (!isAbove) group.style.setProperty("--hue", String(HUES[thread % HUES.length]));
      if (index === 0) {
        const [from, to] = isAbove ? [place.y - 6, place.y - 1] : [y + 1, y - 4];
        group.append(shape("path", { class: "stem", d: `M${x + 6} ${from} L${x + 10} ${to} L${x + 14} ${from} Z` }));
      }
      group.append(shape("rect", { x, y, width, height: 17, rx: 8.5 }), shape("text", { x: x + 7, y: y + 12.5 }, text));
      drawing.append(group);
    };
    for (const cell of memory.variables) if (cell.node !== undefined) label(cell, labelled(cell));
    for (const cell of memory.locals) if (cell.node !== undefined) label(cell, `t${cell.thread}.${cell.name}`, cell.thread);
  }
}

/** Memory in words, for those who do not see the drawing. */
function described(memory) {
  const cell = ({ name, value }) => `${name} = ${value}`;
  const variables = memory.variables.map(cell);
  const nodes = memory.nodes.map((node) => `#${node.id}${node.freed ? " (freed)" : ""}: ${node.fields.map(cell).join(", ")}`);
  const locals = memory.locals.map((local) => `t${local.thread}.${cell(local)}`);
  return [...variables, ...nodes, ...locals].join("; ");
}
