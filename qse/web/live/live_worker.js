/** The page's side of the worker that runs the model on live sound. */

export const FAILED = "The processing has failed. Start again.";
const MISSING = "A part of this page could not be loaded. Reload the page.";

function timeout(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds, null));
}

/** Return an error that names the file that could not be loaded, beside a sentence for users of the page. */
export function missingFile(url) {
  return Object.assign(new Error(MISSING), { file: String(url) });
}

export class LiveWorker {
  /**
   * `rings`: the memory of two shared rings; null: samples travel in messages through `port`. `onUpdate(message)` gets
   * what `worker.js` says, `onFailure(sentence, lost)` is called where it fails; `lost`: it will not answer any more.
   */
  constructor(url, rings, { onUpdate, onFailure }) {
    Object.assign(this, { url, rings, onUpdate, onFailure });
    this.model = null; // name, latency, hop and bandwidth of the model, once it runs
    this.worker = new Worker(url, { type: "module" });
  }

  /** Load the model. Error with a sentence for the user, and with `file` where a file could not be loaded. */
  start(values) {
    const transfer = [];
    let port = null;
    if (!this.rings) {
      const { port1, port2 } = new MessageChannel();
      this.port = port2;
      port = port1;
      transfer.push(port1);
    }
    return new Promise((resolve, reject) => {
      this.worker.onerror = (event) => {
        event.preventDefault();
        reject(missingFile(this.url));
        this.onFailure(FAILED, true);
      };
      this.worker.onmessage = ({ data }) => this.receive(data, resolve, reject);
      this.send("start", { ...values, rings: this.rings, port }, transfer);
    });
  }

  receive(data, resolve, reject) {
    this.answered = performance.now();
    if (data.ready) {
      this.model = data.ready;
      resolve();
    }
    if (data.error) {
      reject(Object.assign(new Error(data.error), { file: data.file }));
      this.onFailure(data.error, false);
    } else this.onUpdate(data);
    if (data.stopped) this.onStopped?.();
    if (data.replaced) this.onReplaced?.(data.replaced);
  }

  /** Go on with the model of another graph. Error where it cannot be loaded; the present one runs on then. */
  async replace(graph) {
    const { model, error } = await new Promise((resolve) => {
      this.onReplaced = resolve;
      this.send("replace", { graph });
    });
    if (error) throw new Error(error);
    this.model = model;
  }

  send(action, values = {}, transfer = []) {
    this.worker.postMessage({ action, ...values }, transfer);
  }

  /** Wait until the worker has ended a recording, `milliseconds` at most. */
  async finish(milliseconds) {
    const stopped = new Promise((resolve) => (this.onStopped = resolve));
    this.send("stop");
    await Promise.race([stopped, timeout(milliseconds)]);
  }

  close() {
    this.worker.terminate();
  }
}
