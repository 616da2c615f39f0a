// A history in the page: labels, rows, real-time order, and parts of it.

/** The first place in [from, to) at which `isRight` holds; `isRight` must stay true once it is. */
function firstPlace(from, to, isRight) {
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (isRight(middle)) to = middle;
    else from = middle + 1;
  }
  return from;
}

class History {
  /** `columns` as decoded; `names` has the processes, the methods, and which of their values say nothing. */
  constructor(columns, names) {
    Object.assign(this, columns);
    this.names = names;
    this.rows = this.byProcess();
  }

  /** For each process that does something: its operations in call order. */
  byProcess() {
    const counts = new Uint32Array(this.names.processes.length + 1);
    for (let i = 0; i < this.length; i++) counts[this.process[i] + 1]++;
    for (let p = 1; p < counts.length; p++) counts[p] += counts[p - 1];
    const sorted = new Uint32Array(this.length);
    const next = counts.slice();
    for (let i = 0; i < this.length; i++) sorted[next[this.process[i]]++] = i;
    const rows = [];
    for (let p = 0; p + 1 < counts.length; p++) {
      const operations = sorted.subarray(counts[p], counts[p + 1]);
      if (operations.length > 0) rows.push({ process: p, name: this.names.processes[p], operations });
    }
    const { compare } = new Intl.Collator("en", { numeric: true });
    return rows.sort((a, b) => compare(a.name, b.name));
  }

  /** A value as text; null if there is none. */
  value(code) {
    if (code === 0) return null;
    if (code % 2 === 1) {
      const zigzag = (code - 1) / 2;
      return String(zigzag % 2 ? -(zigzag + 1) / 2 : zigzag / 2);
    }
    const { text, isPair } = this.strings[code / 2 - 1];
    return isPair ? `[${text}]` : text;
  }

  callText(i) {
    const key = this.value(this.key[i]);
    const code = this.names.silentArgs[this.method[i]] ? 0 : this.arg[i];
    let arg = this.value(code);
    if (arg !== null && key === null && code % 2 === 0 && this.strings[code / 2 - 1].isPair) {
      arg = this.strings[code / 2 - 1].text;
    }
    const args = [key, arg].filter((text) => text !== null).join(", ");
    const object = this.value(this.object[i]);
    const name = this.names.methods[this.method[i]];
    return (object === null ? "" : object + ".") + name + (args === "" ? "" : `(${args})`);
  }

  /** What an operation gave back; empty if it gave nothing. */
  resultText(i) {
    if (this.ret[i] === PENDING) return "?";
    const value = this.value(this.result[i]);
    if (this.names.silentResults[this.method[i]] && !this.failed[i]) return "";
    if (this.failed[i]) return value === null ? "failed" : `failed: ${value}`;
    return value ?? "";
  }

  label(i) {
    const result = this.resultText(i);
    return result === "" ? this.callText(i) : `${this.callText(i)} → ${result}`;
  }

  /** Operations in the order of their returns; pending ones are left out. */
  get returns() {
    if (!this.sortedReturns) {
      const counts = new Uint32Array(this.ranks + 1);
      let total = 0;
      for (let i = 0; i < this.length; i++) {
        if (this.ret[i] === PENDING) continue;
        counts[this.ret[i] + 1]++;
        total++;
      }
      for (let r = 1; r < counts.length; r++) counts[r] += counts[r - 1];
      const sorted = new Uint32Array(total);
      for (let i = 0; i < this.length; i++) {
        if (this.ret[i] !== PENDING) sorted[counts[this.ret[i]]++] = i;
      }
      this.sortedReturns = sorted;
    }
    return this.sortedReturns;
  }

  /**
   * What must come before an operation: how many operations returned before its call, and those
   * among them that no other one stands between.
   */
  before(i) {
    const call = this.call[i];
    const returns = this.returns;
    const count = firstPlace(0, returns.length, (p) => this.ret[returns[p]] >= call);
    let latest = -1;
    for (let j = i - 1; j >= 0 && latest < 0; j--) {
      if (this.ret[j] < call) latest = this.call[j];
    }
    const direct = [];
    for (let p = count - 1; p >= 0 && this.ret[returns[p]] >= latest; p--) direct.push(returns[p]);
    return { count, direct: direct.reverse() };
  }

  /** How many operations overlap with one in time. */
  concurrent(i) {
    const returns = this.returns;
    const before = firstPlace(0, returns.length, (p) => this.ret[returns[p]] >= this.call[i]);
    const ret = this.ret[i];
    const called = ret === PENDING ? this.length : firstPlace(0, this.length, (j) => this.call[j] > ret);
    return called - before - 1;
  }

  /** The recorded time of a rank since the first event. */
  time(rank) {
    return this.times ? this.times[rank] : rank;
  }

  /**
   * The history of some operations only, with ranks of its own; those in `open` have not returned.
   * `original` leads back.
   */
  part(operations, open) {
    const isOpen = new Set(open);
    const pick = (column) => Uint32Array.from(operations, (i) => column[i]);
    const ret = Uint32Array.from(operations, (i) => (isOpen.has(i) ? PENDING : this.ret[i]));
    const call = pick(this.call);
    const moments = [...new Set([...call, ...ret].filter((rank) => rank !== PENDING))].sort((a, b) => a - b);
    const rankOf = new Map(moments.map((moment, rank) => [moment, rank]));
    const columns = {
      strings: this.strings,
      length: operations.length,
      process: pick(this.process),
      method: pick(this.method),
      failed: Uint8Array.from(operations, (i) => this.failed[i]),
      object: pick(this.object),
      key: pick(this.key),
      arg: pick(this.arg),
      result: pick(this.result),
      line: Float64Array.from(operations, (i) => this.line[i]),
      call: call.map((moment) => rankOf.get(moment)),
      ret: ret.map((moment) => (moment === PENDING ? PENDING : rankOf.get(moment))),
      ranks: moments.length,
      times: Float64Array.from(moments, (moment) => this.time(moment)),
    };
    const part = new History(columns, this.names);
    part.original = Uint32Array.from(operations);
    part.moments = moments;
    return part;
  }
}

/**
 * Where the linearization points of an order stand, as ranks with fractions: each as early as its
 * call and its predecessors allow, those of one interval between events spread evenly.
 */
function linearizationPoints(history, order) {
  const points = new Float64Array(order.length);
  let now = 0;
  for (let s = 0; s < order.length; s++) {
    now = Math.max(now, history.call[order[s]]);
    points[s] = now;
  }
  for (let s = 0; s < points.length; ) {
    let end = s;
    while (end < points.length && points[end] === points[s]) end++;
    const rank = points[s];
    for (let t = s; t < end; t++) {
      const spread = rank + (t - s + 1) / (end - s + 1);
      points[t] = Math.min(spread, Math.max(rank, history.ret[order[t]]));
    }
    s = end;
  }
  return points;
}
