// Mouse, touch and keyboard on the timeline.

/** Moves, zooms and points; `actions` has select(operation), point(operation, x, y) and key(event). */
function listen(timeline, actions) {
  const { canvas } = timeline;
  const fingers = new Map();
  let travelled = 0;
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button > 0) return;
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, place(event));
    if (fingers.size === 1) travelled = 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    const now = place(event);
    const last = fingers.get(event.pointerId);
    if (!last) {
      const operation = timeline.hit(now.x, now.y);
      canvas.classList.toggle("pointing", operation >= 0);
      actions.point(operation, now.x, now.y);
      return;
    }
    travelled += Math.abs(now.x - last.x) + Math.abs(now.y - last.y);
    if (fingers.size === 2) {
      const [other] = [...fingers].filter(([id]) => id !== event.pointerId).map(([, spot]) => spot);
      const before = Math.hypot(last.x - other.x, last.y - other.y);
      const after = Math.hypot(now.x - other.x, now.y - other.y);
      if (before > 10 && after > 10) timeline.zoom(after / before, (now.x + other.x) / 2);
    } else if (travelled > 4) {
      canvas.classList.add("dragging");
      actions.point(-1, 0, 0);
      timeline.pan(now.x - last.x, event.pointerType === "touch" ? 0 : now.y - last.y);
    }
    fingers.set(event.pointerId, now);
  });
  const release = (event) => {
    const known = fingers.delete(event.pointerId);
    canvas.classList.remove("dragging");
    if (known && event.type === "pointerup" && travelled <= 4 && fingers.size === 0) {
      const { x, y } = place(event);
      actions.select(timeline.hit(x, y));
    }
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => actions.point(-1, 0, 0));
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const unit = event.deltaMode === 1 ? 18 : 1;
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        timeline.pan(-(event.deltaX || event.deltaY) * unit, 0);
      } else if (event.altKey || place(event).x < timeline.gutter) {
        timeline.pan(0, -event.deltaY * unit);
      } else {
        timeline.zoom(Math.exp(-event.deltaY * unit * 0.0018), place(event).x);
      }
    },
    { passive: false },
  );
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (moved(timeline, event) || actions.key(event)) event.preventDefault();
  });
}

/** Keys that only move the view. */
function moved(timeline, event) {
  const step = (timeline.width - timeline.gutter) / 6;
  const moves = {
    "+": () => timeline.zoom(1.5),
    "=": () => timeline.zoom(1.5),
    "-": () => timeline.zoom(1 / 1.5),
    "−": () => timeline.zoom(1 / 1.5),
    0: () => timeline.fit(),
    PageUp: () => timeline.pan(0, timeline.height / 2),
    PageDown: () => timeline.pan(0, -timeline.height / 2),
  };
  if (event.shiftKey) {
    moves.ArrowLeft = () => timeline.pan(step, 0);
    moves.ArrowRight = () => timeline.pan(-step, 0);
    moves.ArrowUp = () => timeline.pan(0, timeline.rowHeight);
    moves.ArrowDown = () => timeline.pan(0, -timeline.rowHeight);
  }
  const move = moves[event.key];
  if (!move) return false;
  move();
  return true;
}
