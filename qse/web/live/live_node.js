/**
 * An AudioWorkletNode that removes noise: the audio thread (`worklet.js`), the worker with the model, and the rings or
 * messages between them. It mixes its input to one channel.
 */

import { LiveWorker, missingFile } from "./live_worker.js";
import "./ring.js";

const ANSWER_SECONDS = 5; // without figures of the worker, after which it counts as failed
const TAPS_MS = 2000;
const LIMIT_SECONDS = 0.5; // of sound under way, before input is dropped
const BUFFER_SECONDS = 0.04;
const MESSAGE_SECONDS = 0.01; // least sound of a message to the worker
const WORKLET_FILES = ["ring.js", "downmix.js", "worklet.js"];
const Base = globalThis.AudioWorkletNode ?? class {}; // so that the file can be imported where there are none

/** Samples of a ring, a power of two: all that may be under way, and as much again of what the worker returns late. */
function ringCapacity(limit) {
  return 2 ** Math.ceil(Math.log2(2 * limit));
}

function ringsFor(transport, capacity) {
  const shared = transport ? transport === "shared" : globalThis.crossOriginIsolated;
  return shared ? { input: Ring.memory(capacity, true), output: Ring.memory(capacity, true) } : null;
}

async function loadWorklet(context, base) {
  for (const file of WORKLET_FILES) {
    const url = new URL(file, base);
    await context.audioWorklet.addModule(url).catch(() => {
      throw missingFile(url);
    });
  }
}

export class LiveNode extends Base {
  /**
   * Load what the node needs and return it, with the model running.
   *
   * Options: `graph` (see `graphFor`), `settings` (strength, bypass, muted), `base` (address of this folder), `buffer` in
   * seconds, `outputChannels` (1, or 2 of the same samples), `channel` (the only one to take, counted from 1; null
   * mixes), `transport` ("shared", "messages"; null: shared memory where the page may share it), `tap` for tests.
   *
   * `onUpdate(changes)` gets what the worker says, and ten times a second `dropouts`, `playing`, `delay` (seconds in
   * buffers) and `channels`; `onFailure(sentence, lost)` as in LiveWorker. Error with a sentence; nothing runs then.
   */
  static async create(context, options, listeners) {
    const { graph, settings, base = import.meta.url, buffer = BUFFER_SECONDS, transport = null } = options;
    await loadWorklet(context, base);
    const { sampleRate } = context;
    const limit = Math.round((LIMIT_SECONDS + buffer) * sampleRate);
    const capacity = ringCapacity(limit);
    const worker = new LiveWorker(new URL("worker.js", base), ringsFor(transport, capacity), listeners);
    try {
      await worker.start({ graph, settings, sampleRate });
      const { outputChannels = 1, channel = null, tap = false } = options;
      const target = Math.round(buffer * sampleRate);
      const batch = Math.round(Math.max(worker.model.hop, MESSAGE_SECONDS) * sampleRate);
      const processorOptions = { rings: worker.rings, target, limit, capacity, batch, channel, tap };
      return new this(context, worker, { outputChannelCount: [outputChannels], processorOptions }, listeners);
    } catch (error) {
      worker.close();
      throw error;
    }
  }

  /** Call `create`. */
  constructor(context, worker, nodeOptions, { onUpdate, onFailure }) {
    super(context, "qse-live", nodeOptions);
    Object.assign(this, { worker, onUpdate, onFailure });
    this.options = nodeOptions.processorOptions;
    this.port.onmessage = ({ data }) => (data.stopped ? this.onTaps?.(data.stopped) : this.report(data));
    this.onprocessorerror = () => onFailure("The browser's audio thread has failed. Start again.", false);
    if (worker.port) this.port.postMessage({ port: worker.port }, [worker.port]);
  }

  /** Name, latency and hop in seconds, and bandwidth in Hz of the model. */
  get model() {
    return this.worker.model;
  }

  report({ underruns, dropped, skipped, playing, delay, channels }) {
    this.onUpdate({ dropouts: { underruns, dropped, skipped }, playing, delay, channels });
    const seconds = (performance.now() - this.worker.answered) / 1000;
    if (seconds < ANSWER_SECONDS) return;
    this.onFailure("The processing no longer answers. Start again, or choose a faster model.", false);
  }

  /** Change `strength` (dB or null), `bypass` and `muted` while running. */
  set(settings) {
    this.worker.send("set", settings);
  }

  /** End the audio thread. With the option `tap`, return what it kept. */
  endAudio() {
    const taps = new Promise((resolve) => (this.onTaps = resolve));
    this.port.postMessage({ stop: true });
    const late = new Promise((resolve) => setTimeout(resolve, TAPS_MS, null));
    return Promise.race([taps, late]);
  }

  close() {
    this.port.postMessage({ stop: true });
    this.disconnect();
    this.worker.close();
  }
}
