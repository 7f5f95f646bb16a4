/** Call functions of a worker: one message per call, any number of progress messages, one result or error. */

/** Answer the calls of a page with `methods`: functions (arguments, progress) that return a value or a promise. */
export function serve(methods) {
  self.onmessage = async ({ data: { id, method, values } }) => {
    const progress = (value) => self.postMessage({ id, progress: value });
    try {
      self.postMessage({ id, result: await methods[method](values, progress) });
    } catch (error) {
      const kind = error instanceof DOMException ? error.name : error.constructor.name;
      self.postMessage({ id, error: error.message || String(error), kind, file: error.file });
    }
  };
}

function stopped() {
  return Object.assign(new Error("stopped"), { kind: "Stopped" });
}

/** The other side of `serve`: a worker whose functions are called with `call`. */
export class RemoteWorker {
  constructor(url) {
    this.worker = new Worker(url, { type: "module" });
    this.calls = new Map();
    this.count = 0;
    this.worker.onmessage = ({ data }) => this.receive(data);
    this.worker.onerror = (event) => {
      event.preventDefault();
      const missing = { message: "A part of this page could not be loaded. Reload the page.", file: String(url) };
      this.fail(Object.assign(new Error(), event.message ? { message: event.message } : missing));
    };
  }

  /** Return a promise of the result; `progress(value)` is called for each progress message. */
  call(method, values, progress = () => {}) {
    const id = ++this.count;
    if (this.closed) return Promise.reject(stopped());
    return new Promise((resolve, reject) => {
      this.calls.set(id, { resolve, reject, progress });
      this.worker.postMessage({ id, method, values });
    });
  }

  receive({ id, progress, result, error, kind, file }) {
    const call = this.calls.get(id);
    if (!call) return;
    if (progress !== undefined) return call.progress(progress);
    this.calls.delete(id);
    if (error === undefined) return call.resolve(result);
    call.reject(Object.assign(new Error(error), { kind, file }));
  }

  fail(error) {
    for (const call of this.calls.values()) call.reject(error);
    this.calls.clear();
  }

  /** End the worker and reject the calls that are open. */
  close() {
    this.closed = true;
    this.worker.terminate();
    this.fail(stopped());
  }
}
