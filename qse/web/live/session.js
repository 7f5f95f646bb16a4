/** One run of the microphone mode: microphone, audio thread, worker, output device. */

import { graphForTrack } from "../model/bands.js";
import { LiveNode } from "./live_node.js";

const RESUME_MS = 3000;
const STOP_MS = 20000; // for a worker that is behind: its recording must not be lost
const FAIL_MS = 10000; // the same, of a session that has failed

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
    this.closed = this.stopping = false;
    this.failing = null; // a promise, while the session ends because of an error
  }

  /** Open everything. Error with a sentence for the user; nothing stays open then. */
  async start() {
    try {
      const { sampleRate, deviceId, sinkId } = this.options;
      this.context = new AudioContext({ latencyHint: "interactive", ...(sampleRate ? { sampleRate } : {}) });
      this.stream = await openMicrophone(deviceId);
      if (sinkId && this.context.setSinkId) await this.context.setSinkId(sinkId);
      await this.makeNode();
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

  get microphone() {
    return this.stream?.getAudioTracks()[0];
  }

  /** Name, latency, hop and bandwidth of the model; null before it runs. */
  get model() {
    return this.node?.model ?? null;
  }

  async makeNode() {
    const { context } = this;
    const { model, band, ...options } = this.options;
    const graph = graphForTrack(model, this.microphone, context.sampleRate, band);
    const listeners = {
      onUpdate: (changes) => this.receive(changes),
      onFailure: (sentence, lost) => (lost ? this.end(sentence) : this.fail(sentence)),
    };
    this.node = await LiveNode.create(context, { ...options, graph, outputChannels: 2 }, listeners);
  }

  connect() {
    const { context } = this;
    this.volume = new GainNode(context, { gain: (this.options.play ?? true) ? 1 : 0 });
    new MediaStreamAudioSourceNode(context, { mediaStream: this.stream }).connect(this.node);
    this.node.connect(this.volume).connect(context.destination);
    this.microphone.onended = () => this.fail("The microphone is gone. Plug it in and start again.");
    context.onstatechange = () => {
      if (!this.closed && context.state !== "running") this.onUpdate({ paused: context.state });
      else if (!this.closed) this.onUpdate({ paused: null });
    };
  }

  receive({ delay, ...changes }) {
    this.onUpdate(delay === undefined ? changes : { ...changes, latency: this.latency(delay) });
  }

  latency(delay) {
    const { context, model } = this;
    const input = this.microphone?.getSettings().latency ?? 0;
    const output = context.outputLatency || context.baseLatency || 0;
    return { input, pipeline: delay, model: model.latency, output, total: input + delay + model.latency + output };
  }

  /** Change `strength` (dB or null) and `bypass` while running. */
  set(settings) {
    this.options.settings = settings;
    this.node?.set(settings);
  }

  record() {
    this.node.worker.send("record");
  }

  /** End the recording; `onUpdate({recording})` hands it over. */
  endRecording() {
    this.node.worker.send("endRecording");
  }

  /** End the session because of an error, after the worker has handed over a running recording. */
  fail(sentence) {
    if (this.closed || this.failing) return;
    if (!this.node) this.end(sentence); // nothing has begun
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
    const [taps] = await Promise.all([this.node.endAudio(), this.finishWorker(STOP_MS)]);
    this.close();
    return taps;
  }

  /** Close the microphone, and wait until the worker has ended a recording, `milliseconds` at most. */
  async finishWorker(milliseconds) {
    this.stream.getTracks().forEach((track) => track.stop());
    await this.node.worker.finish(milliseconds);
  }

  close() {
    this.closed = true;
    this.node?.close();
    this.stream?.getTracks().forEach((track) => track.stop());
    if (this.context && this.context.state !== "closed") this.context.close();
  }
}
