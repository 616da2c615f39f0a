// The source of an algorithm: line numbers, what the run executes, where each thread stands.

const KEYWORDS = /^(?:assert|assume|atomic|break|cas|choose|client|const|continue|else|empty|enum|expect|faa|false|fn|for|free|if|in|init|inf|let|lock|loop|method|new|null|object|or|refines|return|shared|spec|struct|swap|thread|true|unlock|var|while|with)$/;

/** A line of source with comments, words and numbers told apart. */
function coloured(line) {
  const pieces = line.match(/\/\/.*|@\w+|[A-Za-z_]\w*|[^A-Za-z_/@]+|./g) ?? [];
  return pieces.map((piece) => {
    if (piece.startsWith("//")) return make("i", {}, piece);
    if (piece.startsWith("@") && piece.length > 1) return make("i", {}, piece);
    return KEYWORDS.test(piece) ? make("b", {}, piece) : piece;
  });
}

class Source {
  constructor(text, rows) {
    const executed = new Set(rows.map((row) => row.line));
    const lines = text.replace(/\n$/, "").split("\n");
    this.lines = lines.map((line, index) => {
      const marks = make("span", { class: "marks" });
      const number = make("span", { class: "number", "aria-hidden": "true" }, String(index + 1));
      const kind = executed.has(index + 1) ? "line executed" : "line";
      return { marks, element: make("span", { class: kind }, marks, number, make("code", {}, ...coloured(line), "\n")) };
    });
    this.box = document.getElementById("source");
    this.box.replaceChildren(...this.lines.map((line) => line.element));
  }

  /** Marks a line. */
  mark(number) {
    this.show({ line: number }, []);
  }

  /** Marks the line of the current row, and the line of each thread's last row. */
  show(current, last) {
    for (const { element, marks } of this.lines) {
      if (marks.firstChild) marks.replaceChildren();
      element.removeAttribute("aria-current");
    }
    last.forEach((row, thread) => {
      const line = row?.line && this.lines[row.line - 1];
      if (line) line.marks.append(pill(thread));
    });
    const here = current?.line && this.lines[current.line - 1];
    if (!here) return;
    here.element.setAttribute("aria-current", "true");
    within(this.box, here.element);
  }
}

/** A thread by its number, in its colour. */
function pill(thread) {
  const element = make("span", { class: "pill" }, `t${thread}`);
  element.style.setProperty("--hue", String(HUES[thread % HUES.length]));
  return element;
}

/** Scrolls a box, and nothing else, so that an element in it is seen. */
function within(box, element) {
  const [outer, inner] = [box.getBoundingClientRect(), element.getBoundingClientRect()];
  const room = Math.min(40, outer.height / 4);
  if (inner.top < outer.top + room) box.scrollTop -= outer.top + room - inner.top;
  if (inner.bottom > outer.bottom - room) box.scrollTop += inner.bottom - outer.bottom + room;
}
