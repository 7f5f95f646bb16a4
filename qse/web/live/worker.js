/**
 * The worker of the microphone: runs the model on what the audio thread delivers, by shared memory or by messages.
 *
 * Messages from the page: `start`, `set` (strength, bypass, muted), `replace` (another model), `record`, `endRecording`,
 * `stop`; to the page: `ready`, `replaced`, `figures` four times a second, `recording`, `error`.
 */

import { wavHeader } from "../audio/wav.js";
import { loadEngine } from "../model/runtime.js";
import { beginningOf } from "../model/voice.js";
import { LivePipeline } from "./pipeline.js";
import "./ring.js";

const FIGURES_MS = 250;
const WAIT_MS = 20;

let pipeline = null;
let successor = null; // a pipeline with another model, which takes over with the next block
let settings = null;
let sampleRate = 0;
let running = false;

const { port1, port2 } = new MessageChannel();

/** Let the messages that wait be handled: a loop of promises would keep them out. */
function yieldToMessages() {
  return new Promise((resolve) => {
    port1.onmessage = resolve;
    port2.postMessage(0);
  });
}

function fail(error) {
  running = false;
  self.postMessage({ error: error.message || String(error), file: error.file });
}

/** Return the output samples that are ready after the next input samples. */
function process(samples) {
  if (successor) {
    pipeline.stream.close();
    [pipeline, successor] = [successor, null];
  }
  return pipeline.process(samples);
}

/** Take samples from one shared ring and put them into the other, until `stop`. */
async function runShared(rings) {
  const input = new Ring(rings.input);
  const output = new Ring(rings.output);
  while (running) {
    input.wait(WAIT_MS);
    const block = new Float32Array(Math.min(input.available, sampleRate >> 4));
    if (block.length) {
      input.read(block);
      const samples = await process(block);
      output.write(samples);
    }
    await yieldToMessages();
  }
}

/** Answer each message of samples with a message of samples, in their order. */
function runMessages(port) {
  let last = Promise.resolve();
  port.onmessage = ({ data }) => {
    last = last.then(async () => {
      const output = await process(data);
      if (output.length) port.postMessage(output, [output.buffer]);
    });
    last.catch(fail);
  };
}

async function start({ graph, rings, port, ...options }) {
  ({ sampleRate, settings } = options);
  pipeline = await pipelineOf(graph);
  running = true;
  self.postMessage({ ready: described(pipeline.engine) });
  setInterval(() => self.postMessage({ figures: pipeline.figures() }), FIGURES_MS);
  if (rings) await runShared(rings);
  else runMessages(port);
}

/** Go on with another model; the present one runs until that is loaded. A running recording is lost. */
async function replace({ graph }) {
  try {
    successor = await pipelineOf(graph);
    self.postMessage({ replaced: { model: described(successor.engine) } });
  } catch (error) {
    self.postMessage({ replaced: { error: error.message } });
  }
}

async function pipelineOf(graph) {
  const engine = await loadEngine(graph);
  await warmUp(engine);
  return new LivePipeline(engine, sampleRate, settings, beginningOf(engine, graph.voice));
}

function described({ name, sampleRate: rate, latency, hopLength }) {
  return { name, bandwidth: rate / 2, latency: latency / rate, hop: hopLength / rate };
}

/** Run the model before it matters: the browser compiles WebAssembly a second time while it runs. */
async function warmUp(engine) {
  const hop = new Float32Array(engine.hopLength);
  const session = engine.session();
  for (let i = 0; i < 40; i++) await session.step(hop);
  session.close();
}

function endRecording() {
  if (!pipeline?.recording) return;
  const { parts, frames } = pipeline.endRecording();
  const header = wavHeader({ sampleRate, channels: 2, frames, format: "pcm16" });
  const blob = new Blob([header, ...parts], { type: "audio/wav" });
  self.postMessage({ recording: { blob, seconds: frames / sampleRate } });
}

const ACTIONS = {
  start,
  endRecording,
  replace,
  set: (values) => {
    settings = values;
    for (const one of [pipeline, successor]) one?.set(settings);
  },
  record: () => pipeline?.record(),
  stop: () => {
    running = false;
    endRecording();
    self.postMessage({ stopped: true });
  },
};

self.onmessage = async ({ data: { action, ...values } }) => {
  try {
    await ACTIONS[action](values);
  } catch (error) {
    fail(error);
  }
};
