/** One run of the microphone mode: microphone, audio thread, worker, output device. */

import { graphFor } from "../model/bands.js";
import "./ring.js";

const ANSWER_SECONDS = 5; // without figures of the worker, after which it counts as failed
const RESUME_MS = 3000;
const TAPS_MS = 2000;
const STOP_MS = 20000; // for a worker that is behind: its recording must not be lost
const FAIL_MS = 10000; // the same, of a session that has failed
const LIMIT_SECONDS = 0.5; // of sound under way, before input is dropped
const BUFFER_SECONDS = 0.04;
const MESSAGE_SECONDS = 0.01; // least sound of a message to the worker

/** Samples of a ring, a power of two: all that may be under way, and as much again of what the worker returns late. */
function ringCapacity(limit) {
  return 2 ** Math.ceil(Math.log2(2 * limit));
}

/** Audio constraints: the browser's own processing would run before the model and change what it gets. */
function constraints(deviceId) {
  const off = { echoCancellation: false, noiseSuppression: false, autoGainControl: false };
  return { audio: { ...off, ...(deviceId ? { deviceId: { exact: deviceId } } : {}) } };
}

const MICROPHONE_ERRORS = {
  NotAllowedError: "The browser does not allow the microphone. Allow it beside the address of this page.",
  NotFoundError: "No microphone was found. Plug one in and start again.",
  NotReadableError: "The microphone cannot be opened. Another program may be using it.",
  OverconstrainedError: "This microphone is gone. Choose another.",
};

function timeout(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds, null));
}

async function openMicrophone(deviceId) {
  try {
    return await navigator.mediaDevices.getUserMedia(constraints(deviceId));
  } catch (error) {
    throw new Error(MICROPHONE_ERRORS[error.name] ?? `The microphone cannot be opened: ${error.message}`);
  }
}

/**
 * Options: `model` and `band` (see `graphFor`), `settings` (strength, bypass), `deviceId`, `channel` (the only one to
 * take, counted from 1; null mixes), `sinkId`, `play` (false: no playback), `buffer` in seconds; for tests `transport`
 * ("shared" or "messages"), `sampleRate` and `tap`.
 *
 * `onUpdate(changes)` is called with figures, `dropouts`, `recording`, `error` (a sentence; the session has ended).
 */
export class LiveSession {
  constructor(options, onUpdate) {
    this.options = options;
    this.onUpdate = onUpdate;
    this.transport = options.transport ?? (globalThis.crossOriginIsolated ? "shared" : "messages");
    this.closed = this.stopping = false;
    this.failing = null; // a promise, while the session ends because of an error
  }

  /** Open everything. Error with a sentence for the user; nothing stays open then. */
  async start() {
    try {
      const { sampleRate, deviceId, sinkId } = this.options;
      this.context = new AudioContext({ latencyHint: "interactive", ...(sampleRate ? { sampleRate } : {}) });
      this.limit = Math.round((LIMIT_SECONDS + (this.options.buffer ?? BUFFER_SECONDS)) * this.context.sampleRate);
      this.capacity = ringCapacity(this.limit);
      this.stream = await openMicrophone(deviceId);
      if (sinkId && this.context.setSinkId) await this.context.setSinkId(sinkId);
      for (const file of ["ring.js", "downmix.js", "worklet.js"]) {
        await this.context.audioWorklet.addModule(new URL(file, import.meta.url));
      }
      await this.startWorker();
      this.connect();
      await this.resume();
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Let the sound run; without an output device or a click on the page, some browsers never answer. */
  async resume() {
    await Promise.race([this.context.resume(), timeout(RESUME_MS)]);
    if (this.context.state !== "running") this.onUpdate({ paused: this.context.state });
  }

  startWorker() {
    const { model, band, settings } = this.options;
    const { sampleRate } = this.context;
    const microphone = this.stream.getAudioTracks()[0].getSettings().sampleRate ?? sampleRate;
    const graph = graphFor(model, Math.min(sampleRate, microphone), band);
    const messages = { graph, settings, sampleRate, rings: null, port: null };
    const transfer = [];
    if (this.transport === "shared") {
      messages.rings = { input: Ring.memory(this.capacity, true), output: Ring.memory(this.capacity, true) };
    } else {
      const { port1, port2 } = new MessageChannel();
      messages.port = port1;
      this.port = port2;
      transfer.push(port1);
    }
    this.rings = messages.rings;
    this.worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    return new Promise((resolve, reject) => {
      this.worker.onerror = (event) => {
        event.preventDefault();
        reject(new Error("A part of this page could not be loaded. Reload the page."));
        this.end("The processing has failed. Start again.");
      };
      this.worker.onmessage = ({ data }) => {
        if (data.ready) {
          this.model = data.ready;
          resolve();
        }
        if (data.error) {
          reject(new Error(data.error));
          this.fail(data.error);
        } else this.onUpdate(data);
        this.answered = performance.now();
        if (data.stopped) this.onStopped?.();
      };
      this.worker.postMessage({ action: "start", ...messages }, transfer);
    });
  }

  connect() {
    const { context } = this;
    const { buffer = BUFFER_SECONDS, play = true, channel = null, tap = false } = this.options;
    const processorOptions = {
      rings: this.rings,
      target: Math.round(buffer * context.sampleRate),
      limit: this.limit,
      capacity: this.capacity,
      batch: Math.round(Math.max(this.model.hop, MESSAGE_SECONDS) * context.sampleRate),
      channel,
      tap,
    };
    this.node = new AudioWorkletNode(context, "qse-live", { outputChannelCount: [2], processorOptions });
    this.node.port.onmessage = ({ data }) => (data.stopped ? this.onTaps?.(data.stopped) : this.report(data) ?? this.watch());
    this.node.onprocessorerror = () => this.fail("The browser's audio thread has failed. Start again.");
    if (this.port) this.node.port.postMessage({ port: this.port }, [this.port]);
    this.volume = new GainNode(context, { gain: play ? 1 : 0 });
    new MediaStreamAudioSourceNode(context, { mediaStream: this.stream }).connect(this.node);
    this.node.connect(this.volume).connect(context.destination);
    this.stream.getAudioTracks()[0].onended = () => this.fail("The microphone is gone. Plug it in and start again.");
    context.onstatechange = () => {
      if (!this.closed && context.state !== "running") this.onUpdate({ paused: context.state });
      else if (!this.closed) this.onUpdate({ paused: null });
    };
  }

  /** End the session where the worker no longer answers; called by each report of the audio thread. */
  watch() {
    const seconds = (performance.now() - this.answered) / 1000;
    if (seconds > ANSWER_SECONDS) this.fail("The processing no longer answers. Start again, or choose a faster model.");
  }

  report({ underruns, dropped, skipped, playing, delay, channels }) {
    const { context, model } = this;
    const input = this.stream.getAudioTracks()[0]?.getSettings().latency ?? 0;
    const output = context.outputLatency || context.baseLatency || 0;
    const latency = { input, pipeline: delay, model: model.latency, output };
    latency.total = input + delay + model.latency + output;
    this.onUpdate({ dropouts: { underruns, dropped, skipped }, playing, latency, channels });
  }

  /** Change `strength` (dB or null) and `bypass` while running. */
  set(settings) {
    this.options.settings = settings;
    this.worker?.postMessage({ action: "set", ...settings });
  }

  record() {
    this.worker.postMessage({ action: "record" });
  }

  /** End the recording; `onUpdate({recording})` hands it over. */
  endRecording() {
    this.worker.postMessage({ action: "endRecording" });
  }

  /** End the session because of an error, after the worker has handed over a running recording. */
  fail(sentence) {
    if (this.closed || this.failing) return;
    if (!this.model) this.end(sentence); // nothing has begun
    else this.failing = this.finishWorker(FAIL_MS).then(() => this.end(sentence));
  }

  end(sentence) {
    if (this.closed) return;
    this.close();
    this.onUpdate({ error: sentence });
  }

  /** End the session, a running recording first. With the option `tap`, return what the audio thread kept. */
  async stop() {
    if (this.closed) return null;
    this.stopping = true;
    const taps = new Promise((resolve) => (this.onTaps = resolve));
    this.node.port.postMessage({ stop: true });
    const [kept] = await Promise.all([Promise.race([taps, timeout(TAPS_MS)]), this.finishWorker(STOP_MS)]);
    this.close();
    return kept;
  }

  /** Close the microphone, and wait until the worker has ended a recording, `milliseconds` at most. */
  async finishWorker(milliseconds) {
    const stopped = new Promise((resolve) => (this.onStopped = resolve));
    this.stream.getTracks().forEach((track) => track.stop());
    this.worker.postMessage({ action: "stop" });
    await Promise.race([stopped, timeout(milliseconds)]);
  }

  close() {
    this.closed = true;
    this.worker?.terminate();
    this.stream?.getTracks().forEach((track) => track.stop());
    if (this.context && this.context.state !== "closed") this.context.close();
  }
}
