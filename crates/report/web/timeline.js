// The drawing: one row per process, one bar per operation, only what is visible.
//
// Operations of a row do not overlap, so a binary search finds the first visible one. Where they are
// narrower than three pixels, a column of pixels is painted once, darker where more happens, and
// another search finds the first operation of the next column: a frame costs what the screen has
// pixels, not what the history has operations.

const NARROW = 3;
const HEAD = 26;
const LANE = 22;

class Timeline {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.offset = 0;
    this.scale = 1;
    this.scroll = 0;
    this.width = 0;
    this.height = 0;
    this.pending = false;
    this.onDraw = () => {};
  }

  /**
   * Shows a scene: { history, axis, rows, lanes, chosen, points, stepOf, stuck, marked, matches,
   * selected, before, roomy, span, now }.
   */
  show(scene) {
    this.scene = scene;
    this.colours = palette();
    this.rowHeight = scene.roomy ? 46 : 28;
    this.barHeight = scene.roomy ? 24 : 19;
    this.resize();
  }

  /** The height that the scene needs, lanes and head included. */
  get wanted() {
    return this.top + this.scene.rows.length * this.rowHeight + 8;
  }

  get top() {
    return HEAD + this.scene.lanes.length * LANE + 6;
  }

  resize() {
    const box = this.canvas.parentElement;
    const { innerHeight } = window;
    const least = 120;
    const most = Math.max(least, innerHeight * (this.scene.roomy ? 0.6 : 0.66));
    this.width = Math.max(box.clientWidth, 200);
    this.height = Math.round(Math.min(Math.max(this.wanted, least), most));
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.canvas.style.height = `${this.height}px`;
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.context.font = `12.5px ${this.colours.mono}`;
    this.letter = this.context.measureText("mmmmmmmmmm").width / 10;
    this.context.font = `12.5px ${this.colours.sans}`;
    const names = this.scene.rows.slice(0, 400).map((row) => this.context.measureText(row.name).width);
    const groups = this.scene.lanes.map((lane) => this.context.measureText(lane.group).width);
    this.gutter = Math.min(Math.max(40, ...names, ...groups) + 26, this.width * 0.3, 190);
    this.clamp();
    this.redraw();
  }

  x(position) {
    return this.gutter + (position - this.offset) * this.scale;
  }

  position(x) {
    return this.offset + (x - this.gutter) / this.scale;
  }

  get fitScale() {
    const { axis } = this.scene;
    return (this.width - this.gutter - 12) / Math.max(axis.to - axis.from, 1e-9);
  }

  /** Shows everything, or as much as stays readable. */
  fit() {
    const { axis } = this.scene;
    const isLabel = axis.kind === "label";
    this.scale = isLabel ? Math.min(this.fitScale, 1.7) : this.fitScale;
    this.offset = axis.from - 6 / this.scale;
    this.scroll = 0;
    this.clamp();
    this.redraw();
  }

  /** Shows an interval of positions with some room around it. */
  frame(from, to) {
    const room = Math.max((to - from) * 0.15, this.scene.axis.interval * 2);
    this.scale = (this.width - this.gutter) / (to - from + 2 * room);
    this.offset = from - room;
    this.clamp();
    this.redraw();
  }

  zoom(factor, x = this.gutter + (this.width - this.gutter) / 2) {
    const fixed = this.position(x);
    const { axis } = this.scene;
    const closest = axis.kind === "label" ? 6 : 160 / axis.interval;
    const farthest = Math.min(this.fitScale * 0.9, closest);
    this.scale = Math.min(Math.max(this.scale * factor, farthest), closest);
    this.offset = fixed - (x - this.gutter) / this.scale;
    this.clamp();
    this.redraw();
  }

  pan(dx, dy) {
    this.offset -= dx / this.scale;
    this.scroll -= dy;
    this.clamp();
    this.redraw();
  }

  clamp() {
    const { axis } = this.scene;
    const visible = (this.width - this.gutter) / this.scale;
    const room = visible * 0.5;
    this.offset = Math.min(Math.max(this.offset, axis.from - room), Math.max(axis.from - room, axis.to - visible + room));
    const hidden = Math.max(0, this.wanted - this.height);
    this.scroll = Math.min(Math.max(this.scroll, 0), hidden);
  }

  /** Brings an operation into view. */
  reveal(operation) {
    const { history, axis, rows } = this.scene;
    const row = rows.findIndex((candidate) => candidate.process === history.process[operation]);
    if (row < 0) return;
    const y = this.top + row * this.rowHeight - this.scroll;
    if (y < this.top) this.scroll -= this.top - y;
    if (y + this.rowHeight > this.height) this.scroll += y + this.rowHeight - this.height;
    const from = axis.positions[history.call[operation]];
    const to = history.ret[operation] === PENDING ? from : axis.positions[history.ret[operation]];
    const right = this.position(this.width);
    if (from < this.offset || from > right || (to > right && to - from < right - this.offset)) {
      this.offset = (from + to) / 2 - (this.width - this.gutter) / 2 / this.scale;
    }
    this.clamp();
    this.redraw();
  }

  /** The operation at a place of the canvas, or -1. */
  hit(x, y) {
    const { rows, history } = this.scene;
    if (x < this.gutter || y < this.top) return -1;
    const row = rows[Math.floor((y - this.top + this.scroll) / this.rowHeight)];
    if (!row) return -1;
    const where = this.position(x);
    const reach = 4 / this.scale;
    const place = firstPlace(0, row.operations.length, (k) => this.endOf(row, k) >= where - reach);
    let best = -1;
    let distance = Infinity;
    for (let k = place; k < Math.min(place + 3, row.operations.length); k++) {
      const away = Math.max(this.startOf(row, k) - where, where - this.endOf(row, k), 0);
      if (away < distance && away <= reach) [best, distance] = [row.operations[k], away];
    }
    return best < history.length ? best : -1;
  }

  startOf(row, k) {
    return this.scene.axis.positions[this.scene.history.call[row.operations[k]]];
  }

  /** Where a bar ends; what never returned ends where its process goes on, or at the edge. */
  endOf(row, k) {
    const { history, axis } = this.scene;
    const ret = history.ret[row.operations[k]];
    if (ret !== PENDING) return axis.positions[ret];
    if (k + 1 < row.operations.length) return this.startOf(row, k + 1) - 3 / this.scale;
    return Math.max(axis.to, this.position(this.width) + 10 / this.scale);
  }

  redraw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.draw();
    });
  }

  draw() {
    const began = performance.now();
    const { context, colours, scene } = this;
    context.fillStyle = colours.paper;
    context.fillRect(0, 0, this.width, this.height);
    context.textBaseline = "middle";
    this.drawBackground();
    const first = Math.max(0, Math.floor(this.scroll / this.rowHeight));
    const last = Math.min(scene.rows.length, Math.ceil((this.scroll + this.height - this.top) / this.rowHeight));
    context.save();
    context.beginPath();
    context.rect(this.gutter, this.top - 4, this.width - this.gutter, this.height - this.top + 4);
    context.clip();
    const shown = [];
    const spots = scene.roomy ? this.roomySpots() : [];
    this.drawThread(spots);
    for (let r = first; r < last; r++) {
      const dim = scene.matches !== null;
      if (dim) context.globalAlpha = 0.16;
      this.drawRow(scene.rows[r], this.rowY(r), dim ? null : shown);
      context.globalAlpha = 1;
      if (dim) this.drawRow(scene.matches[r], this.rowY(r), shown);
    }
    this.drawMarked();
    if (scene.roomy) this.drawNumbers(spots);
    else this.drawTacks(shown);
    this.drawSelection();
    this.drawNow();
    context.restore();
    this.drawNames(first, last);
    this.drawHead();
    this.lastFrame = performance.now() - began;
    this.onDraw();
  }

  /** The top of a row's bars. */
  rowY(r) {
    return this.top + r * this.rowHeight - this.scroll + 4;
  }

  drawBackground() {
    const { context, colours, scene } = this;
    for (let r = 0; r < scene.rows.length; r++) {
      const y = this.top + r * this.rowHeight - this.scroll;
      if (y + this.rowHeight < this.top || y > this.height) continue;
      if (r % 2 === 1) {
        context.fillStyle = colours.zebra;
        context.fillRect(0, y, this.width, this.rowHeight);
      }
    }
    if (scene.span) {
      const [from, to] = scene.span.map((position) => this.x(position));
      context.fillStyle = colours.badWash;
      context.globalAlpha = 0.55;
      context.fillRect(Math.max(from - 3, this.gutter), this.top - 4, Math.max(to - from, 2) + 6, this.height);
      context.globalAlpha = 1;
    }
    for (const lane of scene.lanes) {
      for (const item of lane.items) {
        const [from, to] = [this.x(item.from), this.x(item.to)];
        if (to < this.gutter || from > this.width) continue;
        context.globalAlpha = 0.09;
        context.fillStyle = item.colour;
        if (to - from > 3) context.fillRect(from, this.top - 4, to - from, this.height);
        context.globalAlpha = 0.5;
        context.fillRect(from, this.top - 4, 1, this.height);
        context.globalAlpha = 1;
      }
    }
  }

  /** Draws a row; notes in `shown` the bars that are wide enough to carry something. */
  drawRow(row, y, shown) {
    const { operations } = row;
    const left = this.position(this.gutter - 2);
    const right = this.position(this.width + 2);
    let k = firstPlace(0, operations.length, (place) => this.endOf(row, place) >= left);
    const run = { from: -1, to: -1, level: -1 };
    while (k < operations.length) {
      const start = this.startOf(row, k);
      if (start > right) break;
      const x0 = this.x(start);
      const x1 = this.x(this.endOf(row, k));
      if (x1 - x0 >= NARROW) {
        this.drawBar(operations[k], x0, x1, y);
        if (shown && x1 - x0 >= 12) shown.push({ operation: operations[k], y });
        k++;
      } else {
        k = this.paintColumn(row, k, Math.floor(x0), y, run);
      }
    }
    this.flush(run, y);
  }

  /** Paints one column of pixels for all narrow operations that begin in it; gives the next one. */
  paintColumn(row, k, column, y, run) {
    const until = this.position(column + 1);
    let reach = 1;
    const length = row.operations.length;
    while (k + reach < length && this.startOf(row, k + reach) < until) reach *= 2;
    const next = firstPlace(k + 1, Math.min(k + reach, length), (place) => this.startOf(row, place) >= until);
    // Darker than usual for the row, or lighter.
    const usual = Math.max(1, length / ((this.scene.axis.to - this.scene.axis.from) * this.scale));
    const level = Math.min(5, Math.max(0, Math.round(2 + Math.log2((next - k) / usual))));
    if (column > run.to + 1 || level !== run.level) {
      this.flush(run, y);
      run.from = column;
      run.level = level;
    }
    run.to = column;
    const last = next - 1;
    const isWide = last > k && (this.endOf(row, last) - this.startOf(row, last)) * this.scale >= NARROW;
    return isWide ? last : next;
  }

  flush(run, y) {
    if (run.from < 0) return;
    const { context } = this;
    const alpha = context.globalAlpha;
    context.globalAlpha = alpha * (0.25 + 0.13 * run.level);
    context.fillStyle = this.colours.soft;
    context.fillRect(run.from, y + 2, run.to - run.from + 1.2, this.barHeight - 4);
    context.globalAlpha = alpha;
    run.from = -1;
  }

  drawBar(operation, x0, x1, y) {
    const { context, colours, scene } = this;
    const { history } = scene;
    const isStuck = scene.stuck.has(operation);
    const isPending = history.ret[operation] === PENDING;
    const method = history.method[operation];
    const height = this.barHeight;
    const [from, to] = [Math.max(x0, this.gutter - 8), Math.min(x1, this.width + 8)];
    const width = to - from;
    context.fillStyle = isStuck ? colours.badWash : history.failed[operation] ? colours.raised : colours.fill(method);
    if (width < 9) {
      context.fillStyle = isStuck ? colours.bad : colours.edge(method);
      context.fillRect(from, y + 1, width, height - 2);
      return;
    }
    if (isPending) {
      const colour = isStuck ? colours.badWash : colours.fill(method);
      const fade = context.createLinearGradient(from, 0, to, 0);
      fade.addColorStop(0, colour);
      fade.addColorStop(0.4, colour);
      fade.addColorStop(1, withoutInk(colour));
      context.fillStyle = fade;
    }
    context.strokeStyle = isStuck ? colours.bad : colours.edge(method);
    context.lineWidth = isStuck ? 2 : 1;
    context.setLineDash(isPending ? [5, 3] : history.failed[operation] ? [2, 2] : []);
    context.beginPath();
    if (isPending) {
      context.moveTo(to, y + 0.5);
      context.lineTo(from + 0.5, y + 0.5);
      context.lineTo(from + 0.5, y + height - 0.5);
      context.lineTo(to, y + height - 0.5);
    } else {
      context.roundRect(from + 0.5, y + 0.5, width - 1, height - 1, 4);
    }
    context.fill();
    context.stroke();
    context.setLineDash([]);
    this.drawLabel(operation, Math.max(x0, this.gutter) + 7, Math.min(x1, this.width), y, isStuck);
  }

  drawLabel(operation, from, to, y, isStuck) {
    const room = Math.floor((to - from - 3) / this.letter);
    if (room < 2) return;
    const { context, colours, scene } = this;
    let label = (isStuck ? "✗ " : "") + scene.history.label(operation);
    if (label.length > room) label = label.slice(0, room - 1) + "…";
    context.font = `${isStuck ? "600 " : ""}12.5px ${colours.mono}`;
    context.fillStyle = isStuck ? colours.bad : colours.ink;
    context.fillText(label, from, y + this.barHeight / 2 + 0.5);
  }

  /** Operations of the counterexample stand out even where all others melt together. */
  drawMarked() {
    const { context, colours, scene } = this;
    for (const operation of scene.marked) {
      const place = this.placeOf(operation);
      if (!place) continue;
      context.strokeStyle = colours.bad;
      context.lineWidth = 2;
      context.fillStyle = colours.bad;
      if (place.x1 - place.x0 < 9) context.fillRect(place.x0 - 1, place.y, Math.max(3, place.x1 - place.x0), this.barHeight);
      else context.strokeRect(place.x0, place.y, place.x1 - place.x0, this.barHeight);
    }
  }

  /** Where an operation's bar stands, if its row is shown. */
  placeOf(operation) {
    const { rows, history } = this.scene;
    this.rowOf ??= new Map();
    if (this.rowOf.scene !== this.scene.rows) {
      this.rowOf = new Map(rows.map((row, index) => [row.process, index]));
      this.rowOf.scene = rows;
    }
    const r = this.rowOf.get(history.process[operation]);
    if (r === undefined) return null;
    const { operations } = rows[r];
    const k = firstPlace(0, operations.length, (place) => operations[place] >= operation);
    if (operations[k] !== operation) return null;
    return { x0: this.x(this.startOf(rows[r], k)), x1: this.x(this.endOf(rows[r], k)), y: this.rowY(r), row: r };
  }

  /** The linearization points of a small scene, in order. */
  roomySpots() {
    const { chosen, points, axis } = this.scene;
    if (!points) return [];
    const spots = [];
    chosen.forEach((operation, step) => {
      const place = this.placeOf(operation);
      if (place) spots.push({ step, x: this.x(axis.at(points[step])), y: place.y + this.barHeight + 5 });
    });
    return spots;
  }

  /** The line along the order. */
  drawThread(spots) {
    const { context, colours } = this;
    context.strokeStyle = colours.accent;
    context.globalAlpha = 0.5;
    context.lineWidth = 1.5;
    context.beginPath();
    spots.forEach(({ x, y }, index) => context[index ? "lineTo" : "moveTo"](x, y));
    context.stroke();
    context.globalAlpha = 1;
  }

  /** Points with the number of their step. */
  drawNumbers(spots) {
    const { context, colours } = this;
    context.textAlign = "center";
    context.font = `600 10.5px ${colours.sans}`;
    context.lineWidth = 1.5;
    for (const { step, x, y } of spots) {
      context.fillStyle = colours.paper;
      context.strokeStyle = colours.accent;
      context.beginPath();
      context.arc(x, y, step < 99 ? 8.5 : 11, 0, 7);
      context.fill();
      context.stroke();
      context.fillStyle = colours.accent;
      context.fillText(String(step + 1), x, y + 0.5);
    }
    context.textAlign = "start";
  }

  /** Points of a large scene. */
  drawTacks(shown) {
    const { scene, context, colours } = this;
    if (!scene.points) return;
    context.fillStyle = colours.accent;
    for (const { operation, y } of shown) {
      const step = scene.stepOf[operation];
      if (step < 0) continue;
      const x = this.x(scene.axis.at(scene.points[step]));
      context.fillRect(x - 0.75, y - 1, 1.5, this.barHeight + 2);
      context.beginPath();
      context.arc(x, y + this.barHeight + 1, 2.5, 0, 7);
      context.fill();
    }
  }

  drawSelection() {
    const { context, colours, scene } = this;
    if (scene.selected < 0) return;
    const own = this.placeOf(scene.selected);
    context.strokeStyle = colours.soft;
    context.lineWidth = 1.2;
    for (const operation of scene.before) {
      const place = this.placeOf(operation);
      if (!place || !own) continue;
      const [y0, y1] = [place.y + this.barHeight / 2, own.y + this.barHeight / 2];
      const bend = Math.max(8, Math.min(40, (own.x0 - place.x1) / 2));
      context.beginPath();
      context.moveTo(place.x1, y0);
      context.bezierCurveTo(place.x1 + bend, y0, own.x0 - bend, y1, own.x0 - 2, y1);
      context.moveTo(own.x0 - 8, y1 - 4);
      context.lineTo(own.x0 - 2, y1);
      context.lineTo(own.x0 - 8, y1 + 4);
      context.stroke();
    }
    if (!own) return;
    context.strokeStyle = colours.accent;
    context.lineWidth = 2.5;
    context.beginPath();
    const from = Math.max(own.x0 - 2, this.gutter - 20);
    const to = Math.min(Math.max(own.x1, own.x0 + 3) + 2, this.width + 20);
    context.roundRect(from, own.y - 2, to - from, this.barHeight + 4, 6);
    context.stroke();
  }

  /** The moment of a run that is shown. */
  drawNow() {
    const { context, colours, scene } = this;
    if (scene.now === null) return;
    context.fillStyle = colours.accent;
    context.fillRect(this.x(scene.now) - 1, this.top - 4, 2, this.height);
  }

  drawNames(first, last) {
    const { context, colours, scene } = this;
    context.fillStyle = colours.raised;
    context.fillRect(0, 0, this.gutter, this.height);
    context.fillStyle = colours.line;
    context.fillRect(this.gutter - 1, 0, 1, this.height);
    context.save();
    context.beginPath();
    context.rect(0, this.top - 4, this.gutter - 6, this.height);
    context.clip();
    context.font = `12.5px ${colours.sans}`;
    context.fillStyle = colours.ink;
    for (let r = first; r < last; r++) context.fillText(scene.rows[r].name, 14, this.rowY(r) + this.barHeight / 2);
    context.restore();
    const hidden = this.wanted - this.height;
    if (hidden > 0) {
      const track = this.height - this.top;
      context.fillStyle = colours.soft;
      context.globalAlpha = 0.5;
      const size = Math.max(24, (track * track) / (track + hidden));
      context.fillRect(this.width - 6, this.top + (this.scroll / hidden) * (track - size), 4, size);
      context.globalAlpha = 1;
    }
  }

  /** The axis, and the lanes of annotations under it. */
  drawHead() {
    const { context, colours, scene } = this;
    context.fillStyle = colours.paper;
    context.fillRect(this.gutter, 0, this.width - this.gutter, this.top - 5);
    context.fillStyle = colours.raised;
    context.fillRect(0, 0, this.gutter - 1, this.top - 5);
    context.font = `11.5px ${colours.sans}`;
    context.fillStyle = colours.soft;
    if (scene.axis.kind === "label") {
      context.fillText("events in their order, not to scale →", this.gutter + 8, HEAD / 2);
    } else {
      this.drawTicks();
    }
    scene.lanes.forEach((lane, index) => this.drawLane(lane, HEAD + index * LANE));
    context.fillStyle = colours.line;
    context.fillRect(0, this.top - 5, this.width, 1);
  }

  drawTicks() {
    const { context, colours, scene } = this;
    const visible = (this.width - this.gutter) / this.scale;
    const rough = (visible / (this.width - this.gutter)) * 110;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((unit) => unit * power).find((unit) => unit >= rough);
    const word = scene.axis.kind === "order" ? "event " : "+";
    const { unit } = scene.axis;
    const shown = unit ? unitOf((this.offset + visible) * unit) : null;
    const factor = shown ? unit / shown.size : 1;
    const digits = Math.max(0, -Math.floor(Math.log10(step * factor)));
    for (let tick = Math.ceil(this.offset / step) * step; this.x(tick) < this.width; tick += step) {
      const x = this.x(tick);
      if (x < this.gutter || tick < 0) continue;
      context.fillStyle = colours.line;
      context.fillRect(x, HEAD - 8, 1, 8);
      context.fillStyle = colours.soft;
      const number = (tick * factor || 0).toLocaleString("en", { maximumFractionDigits: digits });
      context.fillText(word + number + (shown ? ` ${shown.name}` : ""), x + 4, HEAD / 2);
    }
  }

  drawLane(lane, y) {
    const { context, colours } = this;
    context.font = `11.5px ${colours.sans}`;
    context.fillStyle = colours.soft;
    context.fillText(lane.group, 14, y + LANE / 2, this.gutter - 20);
    context.save();
    context.beginPath();
    context.rect(this.gutter, y, this.width - this.gutter, LANE);
    context.clip();
    lane.items.forEach((item, index) => {
      const from = this.x(item.from);
      const to = this.x(item.to);
      if (to < this.gutter || from > this.width) return;
      const isMoment = to - from < 4;
      context.fillStyle = item.colour;
      context.globalAlpha = isMoment ? 1 : 0.3;
      if (isMoment) context.fillRect(from - 1, y + 4, 3, LANE - 8);
      else context.fillRect(from, y + 3, to - from, LANE - 6);
      context.globalAlpha = 1;
      const start = Math.max(from, this.gutter) + 6;
      const next = index + 1 < lane.items.length ? this.x(lane.items[index + 1].from) - 4 : this.width;
      const room = next - start;
      context.fillStyle = colours.ink;
      const text = clipped(item.text, Math.floor(room / 6.2));
      if (text.length > 1) context.fillText(text, start, y + LANE / 2);
    });
    context.restore();
  }
}

/** A text of at most `most` characters. */
function clipped(text, most) {
  if (text.length <= most) return text;
  return most < 2 ? "" : text.slice(0, most - 1) + "…";
}
