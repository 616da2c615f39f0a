// The page: two panels, lessons, and whatever is dropped on it.

const clerk = new Clerk();
const algorithm = new AlgorithmPanel(clerk);
const log = new LogPanel(algorithm);
const panels = { log, algorithm };

/** Shows a panel. */
function show(name) {
  for (const other of Object.keys(panels)) {
    $(`${other}-panel`).hidden = other !== name;
    $(`tab-${other}`).setAttribute("aria-selected", String(other === name));
    $(`tab-${other}`).tabIndex = other === name ? 0 : -1;
  }
}

for (const name of Object.keys(panels)) {
  $(`tab-${name}`).onclick = () => show(name);
  $(`tab-${name}`).onkeydown = ({ key }) => {
    if (key !== "ArrowLeft" && key !== "ArrowRight") return;
    const other = name === "log" ? "algorithm" : "log";
    show(other);
    $(`tab-${other}`).focus();
  };
}

/** Shows a thing: what a link or a lesson is about. */
function restore(thing) {
  const name = thing.log !== undefined || thing.bytes !== undefined ? "log" : "algorithm";
  show(name);
  return panels[name].restore(thing);
}

/** Shows a file, by its name: an algorithm is edited, anything else is a log. */
function take(file) {
  const name = file.name.endsWith(".seri") ? "algorithm" : "log";
  show(name);
  return panels[name].open(file);
}

const carries = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
addEventListener("dragover", (event) => {
  if (!carries(event)) return;
  event.preventDefault();
  $("drop").hidden = false;
});
addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) $("drop").hidden = true;
});
addEventListener("drop", (event) => {
  if (!carries(event)) return;
  event.preventDefault();
  $("drop").hidden = true;
  take(event.dataTransfer.files[0]);
});

async function start() {
  show("log");
  const library = await clerk.ask({ ask: "library" });
  if (library.error) return log.result.show(library, 0);
  log.offer(library);
  algorithm.offer(library);
  $("version").textContent = `Version ${library.version}.`;
  const lessons = new Lessons(restore);
  $("open-lessons").onclick = () => lessons.show(0);
  if (location.hash.length > 1) await follow();
  else await lessons.show(0);
  document.documentElement.dataset.ready = "true";
}

/** Shows what the address is about. */
async function follow() {
  try {
    await restore(await thingOf(location.hash));
  } catch (error) {
    log.result.show({ exit: 2, error: `the link is damaged: ${error.message}` }, 0);
  }
}

addEventListener("hashchange", follow);
start();
