/**
 * The worker of the microphone: runs the model on what the audio thread delivers, by shared memory or by messages.
 *
 * Messages from the page: `start`, `set` (strength, bypass, muted), `record`, `endRecording`, `stop`; to the page: `ready`,
 * `figures` four times a second, `recording`, `error`.
 */

import { wavHeader } from "../audio/wav.js";
import { loadEngine } from "../model/runtime.js";
import { LivePipeline } from "./pipeline.js";
import "./ring.js";

const FIGURES_MS = 250;
const WAIT_MS = 20;

let pipeline = null;
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

/** Take samples from one shared ring and put them into the other, until `stop`. */
async function runShared(rings) {
  const input = new Ring(rings.input);
  const output = new Ring(rings.output);
  while (running) {
    input.wait(WAIT_MS);
    const block = new Float32Array(Math.min(input.available, sampleRate >> 4));
    if (block.length) {
      input.read(block);
      const samples = await pipeline.process(block);
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
      const output = await pipeline.process(data);
      if (output.length) port.postMessage(output, [output.buffer]);
    });
    last.catch(fail);
  };
}

async function start({ graph, settings, rings, port, ...options }) {
  sampleRate = options.sampleRate;
  const engine = await loadEngine(graph);
  pipeline = new LivePipeline(engine, sampleRate, settings);
  await warmUp(engine);
  running = true;
  const { name, latency, hopLength } = engine;
  const seconds = { latency: latency / engine.sampleRate, hop: hopLength / engine.sampleRate };
  self.postMessage({ ready: { name, bandwidth: engine.sampleRate / 2, ...seconds } });
  setInterval(() => self.postMessage({ figures: pipeline.figures() }), FIGURES_MS);
  if (rings) await runShared(rings);
  else runMessages(port);
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
  set: (settings) => pipeline?.set(settings),
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
