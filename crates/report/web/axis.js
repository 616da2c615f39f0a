// Time axes: where each rank stands, in units of their own.

/** Units of time, in nanoseconds. */
const UNITS = [
  { size: 1e9, name: "s" },
  { size: 1e6, name: "ms" },
  { size: 1e3, name: "µs" },
  { size: 1, name: "ns" },
];

/** The largest unit of which a duration has one. */
const unitOf = (nanoseconds) => UNITS.find(({ size }) => nanoseconds >= size) ?? UNITS[UNITS.length - 1];

/** An axis from the position of each rank. `interval` is the least distance that matters. */
class Axis {
  constructor(kind, positions, interval) {
    this.kind = kind;
    this.positions = positions;
    this.interval = interval;
    const last = positions.length > 0 ? positions[positions.length - 1] : 0;
    this.from = positions.length > 0 ? positions[0] : 0;
    // Room for what never ends.
    this.to = last + Math.max((last - this.from) * 0.02, interval);
  }

  /** The position of a rank, which may have a fraction or lie beside the ranks. */
  at(rank) {
    const { positions } = this;
    if (positions.length === 0) return 0;
    const low = Math.floor(rank);
    if (low < 0) return positions[0] + rank * this.interval;
    if (low >= positions.length - 1) return positions[positions.length - 1] + (rank - positions.length + 1) * this.interval;
    return positions[low] + (positions[low + 1] - positions[low]) * (rank - low);
  }
}

/** Events one after another at equal distances. */
function orderAxis(history) {
  const positions = new Float64Array(history.ranks);
  for (let rank = 0; rank < positions.length; rank++) positions[rank] = rank;
  return new Axis("order", positions, 1);
}

/** Recorded time, to scale; `unit` is how many nanoseconds it counts in, if that is known. */
function timeAxis(history, unit) {
  const positions = Float64Array.from(history.times ?? orderAxis(history).positions);
  const span = positions.length > 1 ? positions[positions.length - 1] - positions[0] : 1;
  const axis = new Axis("time", positions, Math.max(span / Math.max(positions.length, 1) / 20, 1e-3));
  axis.unit = unit;
  return axis;
}

/**
 * Events in their order, as close as labels allow, in pixels: for small histories. Each rank stands
 * as far left as the one before it and the labels of the operations that end there allow.
 */
function labelAxis(history, widthOf) {
  const positions = new Float64Array(history.ranks);
  const endingAt = Array.from(positions, () => []);
  const last = new Map();
  const waiting = [];
  for (let i = 0; i < history.length; i++) {
    const process = history.process[i];
    const open = last.get(process);
    if (open !== undefined) endingAt[history.call[i]].push(open);
    last.delete(process);
    if (history.ret[i] === PENDING) last.set(process, i);
    else endingAt[history.ret[i]].push(i);
  }
  for (const open of last.values()) waiting.push(open);
  for (let rank = 0; rank < positions.length; rank++) {
    let place = rank === 0 ? 0 : positions[rank - 1] + 18;
    for (const i of endingAt[rank]) place = Math.max(place, positions[history.call[i]] + widthOf(i));
    positions[rank] = place;
  }
  const axis = new Axis("label", positions, 18);
  for (const i of waiting) axis.to = Math.max(axis.to, positions[history.call[i]] + widthOf(i) + 12);
  axis.to += 14;
  return axis;
}
