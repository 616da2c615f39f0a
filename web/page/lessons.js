// The tutorial: each lesson puts something on the page and asks about it.

const QUEUE = `{"process":"ann","op":"enqueue","arg":1,"call":10,"return":40}
{"process":"bob","op":"enqueue","arg":2,"call":20,"return":30}
{"process":"cat","op":"dequeue","result":2,"call":50,"return":60}
{"process":"cat","op":"dequeue","result":1,"call":70,"return":80}
`;
const OVERTAKEN = `{"process":"ann","op":"enqueue","arg":1,"call":10,"return":20}
{"process":"ann","op":"enqueue","arg":2,"call":30,"return":40}
{"process":"bob","op":"dequeue","result":2,"call":35,"return":60}
`;
const PENDING = `{"process":"ann","op":"write","arg":1,"call":10}
{"process":"bob","op":"read","result":null,"call":20,"return":30}
{"process":"bob","op":"read","result":1,"call":40,"return":50}
`;
const PUSHED = `{"process":"ann","op":"push","arg":1,"call":10,"return":20}
{"process":"ann","op":"push","arg":2,"call":30,"return":40}
{"process":"bob","op":"pop","result":2,"call":50,"return":60}
`;
const LOST = `// A counter that loses updates: between the read and the write another thread may come.
object lost_update : counter
var n: int = 0
method increment() -> int {
  let seen = n
  n = seen + 1
  return seen
}
expect explore(threads: 2) fails
`;

const LESSONS = [
  {
    title: "A log",
    text: "Each line is an operation: who called it, what it was given, what it returned, and when. Ann's and Bob's calls overlap, so either may have come first. Cat gets 2 and then 1: there is an order of the four operations that explains this, and the report shows it. Such a log is linearizable.",
    thing: { source: "queue.jsonl", log: QUEUE, spec: "queue" },
    exit: 0,
  },
  {
    title: "A violation",
    text: "Here Ann's calls do not overlap: 1 was in the queue before 2 came. Bob must not get 2. No order explains the three operations, and the report draws them and says why. Change Bob's result to 1, and check again.",
    thing: { source: "overtaken.jsonl", log: OVERTAKEN, spec: "queue" },
    exit: 1,
  },
  {
    title: "Nobody knows",
    text: "Ann's write never returned: perhaps the network broke. It may have happened at any time since, or not at all. Bob reads nothing and then 1, so it happened between his reads. Let him read 1 first and then nothing, and no order is left.",
    thing: { source: "pending.jsonl", log: PENDING, spec: "register" },
    exit: 0,
  },
  {
    title: "Which object?",
    text: "This log does not say what was tested. If all objects that know these operations agree, their verdict is the answer, and you can confirm the guess. Here they do not: last in, first out is right for a stack and wrong for a queue. Choose what you meant.",
    thing: { source: "pushed.jsonl", log: PUSHED, spec: "" },
    exit: 2,
  },
  {
    title: "An algorithm",
    text: "A log is one run. For an algorithm, written in a small language, every run of some threads is examined. Two threads that increment this counter can both see 0: the report has a shortest run that shows it, step by step, beside the source.",
    thing: { name: "lost_update.seri", seri: LOST },
    exit: 1,
  },
  {
    title: "Mended",
    text: "The library has the same counter with a compare-and-swap, which notices that another thread came between. Within the bounds no run goes wrong: the bounds are part of the answer. For any number of threads, ask the command for a proof.",
    thing: { library: "cas_counter" },
    exit: 0,
  },
  {
    title: "A famous mistake",
    text: "Treiber's stack, with nodes that are used again as soon as they are popped. A thread sees a node on top, sleeps, and wakes up when the same node is on top again with another one below it. Step through the run, and watch the memory.",
    thing: { library: "broken/treiber_aba" },
    exit: 1,
  },
  {
    title: "Your own",
    text: "Drop a log of your own on this page, in any format that the command reads, or an algorithm. What you see can be saved as a report or sent as a link. Nothing is sent by the page itself.",
    thing: null,
  },
];

class Lessons {
  constructor(restore) {
    this.restore = restore;
    $("lesson-back").onclick = () => this.show(this.at - 1);
    $("lesson-next").onclick = () => this.show(this.at + 1);
    $("lesson-close").onclick = () => ($("lesson").hidden = true);
  }

  async show(at) {
    this.at = at;
    const { title, text, thing, exit } = LESSONS[at];
    $("lesson").hidden = false;
    $("lesson").dataset.exit = exit ?? "";
    $("lesson-title").textContent = title;
    $("lesson-text").textContent = text;
    $("lesson-count").textContent = `${at + 1} of ${LESSONS.length}`;
    $("lesson-back").disabled = at === 0;
    $("lesson-next").disabled = at === LESSONS.length - 1;
    if (thing) await this.restore(thing);
  }
}
