/** Recordings without noise, in a worker. */

import { graphFor } from "../model/bands.js";
import { RemoteWorker } from "../rpc.js";
import { assetsAt, checkedStrength, defaultModel, failure, findModel, translated } from "./models.js";

const WORKER = "npm/recording_worker.js";
const workers = new Map(); // address of the package -> its worker, which keeps the models that it has loaded

function workerAt(assets) {
  if (!workers.has(assets)) workers.set(assets, new RemoteWorker(new URL(WORKER, assets)));
  return workers.get(assets);
}

/** Return a recording without noise, of the same kind, length and sample rate; see `index.d.ts`. */
export async function denoise(recording, sampleRate = recording?.sampleRate, options = {}) {
  const { channels, wrap } = taken(recording, sampleRate);
  const strength = checkedStrength(options.strength);
  const assets = assetsAt(options.assets);
  const graph = graphFor(await findModel(options.model ?? defaultModel(), assets), sampleRate);
  const worker = workerAt(assets);
  try {
    return wrap(await worker.call("denoise", { channels, sampleRate, graph, strength }));
  } catch (error) {
    if (error.file?.endsWith(WORKER)) workers.delete(assets); // the next call tries again
    throw translated(error);
  }
}

/** Return the channels of a recording, and a function that makes a recording of such channels. */
function taken(recording, sampleRate) {
  if (!Number.isInteger(sampleRate) || sampleRate < 1) {
    throw failure(`the sample rate is ${sampleRate}: give it in Hz, as an integer.`);
  }
  if (recording instanceof Float32Array) return { channels: [recording], wrap: ([samples]) => samples };
  if (!globalThis.AudioBuffer || !(recording instanceof AudioBuffer)) {
    throw failure("this is no recording: pass a Float32Array of samples, or an AudioBuffer.");
  }
  if (recording.sampleRate !== sampleRate) throw failure(`the AudioBuffer has ${recording.sampleRate} Hz, not ${sampleRate}.`);
  const { length, numberOfChannels } = recording;
  const channels = Array.from({ length: numberOfChannels }, (_, channel) => recording.getChannelData(channel));
  const wrap = (cleaned) => {
    const buffer = new AudioBuffer({ length, numberOfChannels, sampleRate });
    cleaned.forEach((samples, channel) => buffer.copyToChannel(samples, channel));
    return buffer;
  };
  return { channels, wrap };
}
