// The page of a history: its head, and the timeline.

/** The verdict and what stands around it. */
function showHead(verdict) {
  const set = (id, text) => (document.getElementById(id).textContent = text);
  const marks = { violation: ["✗", "Not linearizable"], linearizable: ["✓", "Linearizable"], unknown: ["?", "Unknown"] };
  const [mark, word] = marks[verdict.verdict];
  set("mark", mark);
  set("word", word);
  document.getElementById("badge").dataset.verdict = verdict.verdict;
  document.getElementById("title").replaceChildren(verdict.source, make("small", {}, ` as ${verdict.spec}`));
  set("facts", verdict.facts.join(" · "));
  set("why", sentence(verdict.sentence));
  const refuted = verdict.counterexample;
  const context = document.getElementById("context");
  if (refuted) {
    const size = refuted.operations.length;
    context.append(`No order explains ${size === 1 ? "this operation" : `these ${grouped(size)} operations`}${refuted.part ? ` of ${refuted.part}` : ""}`);
    if (refuted.context) {
      context.append(`, after ${counted(refuted.context.count, "earlier operation")} that leave the ${verdict.object} in state `, make("code", {}, refuted.context.state));
    }
    context.append(".");
  }
  document.getElementById("warnings").replaceChildren(...verdict.warnings.map((text) => make("li", {}, text)));
}

async function start() {
  const verdict = JSON.parse(document.getElementById("verdict").textContent);
  document.getElementById("app").hidden = false;
  showHead(verdict);
  const page = await openHistory(verdict);
  // For tests: what is on the screen, and how long it took.
  window.seriatim = { page, opened: performance.now() };
  document.documentElement.dataset.ready = "true";
}

start();
