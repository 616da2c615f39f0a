// Asks the module, in workers: one for short questions, a fresh one for each long one.

/** The element of an id. */
const $ = (id) => document.getElementById(id);

/** A new element. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

/** The module, compiled, and the address of what workers run; `boot.js` has unpacked both. */
const { module: compiled, worker: WORKER } = globalThis.seriatim;

/** What is said when the module broke: a panic is a defect, anything else a limit of the page. */
function broken({ words, error }) {
  if (words) {
    return { exit: 4, error: `this is a defect of Seriatim, not of what it was asked about; please report it: ${words}` };
  }
  return { exit: 3, error: `unknown: the page has no more memory or stack for this (${error}); the command has more of both` };
}

/** Somebody who answers short questions, one after the other. */
class Clerk {
  constructor() {
    this.worker = new Worker(WORKER);
    this.waiting = new Map();
    this.next = 0;
    this.worker.onmessage = ({ data }) => {
      const resolve = this.waiting.get(data.id);
      if (!resolve) return;
      this.waiting.delete(data.id);
      resolve(data.answer ?? broken(data.broken));
    };
  }

  ask(question) {
    return new Promise((resolve) => {
      const id = this.next++;
      this.waiting.set(id, resolve);
      this.worker.postMessage({ module: compiled, id, question });
    });
  }
}

/** A long question with a time limit. The worker ends with it, so that its memory is free again. */
class Errand {
  /** The module stops by itself at its time limit; if it does not, it is stopped soon after. */
  constructor(question, log, seconds, tell) {
    this.worker = new Worker(WORKER);
    this.answer = new Promise((resolve) => (this.resolve = resolve));
    const late = `unknown: the time limit of ${seconds} s was reached`;
    const timer = setTimeout(() => this.stop(late), (seconds * 1.25 + 2) * 1000);
    this.answer.then(() => {
      clearTimeout(timer);
      this.worker.terminate();
    });
    this.worker.onmessage = ({ data }) => {
      if (data.progress) tell(data.progress);
      else this.resolve(data.answer ?? broken(data.broken));
    };
    this.worker.onerror = (event) => this.resolve(broken({ words: "", error: event.message }));
    const asked = { ...question, milliseconds: Math.round(seconds * 1000) };
    this.worker.postMessage({ module: compiled, id: 0, question: asked, log });
  }

  stop(why = "unknown: stopped by hand") {
    this.resolve({ exit: 3, error: why });
  }
}
