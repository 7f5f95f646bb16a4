/** The worker of the recordings: enhances, mixes and encodes in the background. Recordings are Blobs of WAV files. */

import { spectrogram } from "../audio/spectrum.js";
import { FileError, WavReader, encode, wavHeader } from "../audio/wav.js";
import { enhance } from "../model/enhance.js";
import { keptShare, mix } from "../model/model_stream.js";
import { loadEngine } from "../model/runtime.js";
import { serve } from "../rpc.js";

const BLOCK = 1 << 16;
const engines = new Map(); // name of the model -> promise of its Engine

function engineOf(model) {
  if (!engines.has(model.name)) engines.set(model.name, loadEngine(model));
  const engine = engines.get(model.name);
  engine.catch(() => engines.delete(model.name)); // the next file tries again
  return engine;
}

function loudest(channels) {
  return channels.reduce((peak, samples) => samples.reduce((top, x) => Math.max(top, Math.abs(x)), peak), 0);
}

/** Return a WAV (32-bit float, no attenuation limit) of the enhanced recording, and its processing time. */
async function enhanceFile({ blob, model }, progress) {
  const reader = await WavReader.open(blob);
  const engine = await engineOf(model);
  const layout = { ...reader, format: "float32" };
  const parts = [wavHeader(layout)];
  const began = performance.now();
  let done = 0;
  let peak = 0;
  for await (const block of enhance(reader, engine)) {
    parts.push(new Blob([encode(block, "float32")])); // which the browser may move to disk
    done += block[0].length;
    peak = Math.max(peak, loudest(block));
    progress({ done: done / reader.frames });
  }
  const seconds = (performance.now() - began) / 1000;
  return { blob: new Blob(parts, { type: "audio/wav" }), seconds, peak };
}

/** Return readers of the noisy and the enhanced recording and a function that reads their mixture. */
async function mixer({ noisy, enhanced, strength }) {
  const [before, after] = await Promise.all([WavReader.open(noisy), WavReader.open(enhanced)]);
  const kept = keptShare(strength);
  const read = async (start, count) => {
    const clean = await after.read(start, count);
    if (!kept) return clean;
    const original = await before.read(start, count);
    return clean.map((samples, channel) => mix(samples, original[channel], kept));
  };
  return { before, after, read };
}

/** Return the WAV to download: the mixture for the attenuation limit `strength`, in `format` of FORMATS. */
async function encodeFile({ noisy, enhanced, strength, format }, progress) {
  const { after, read } = await mixer({ noisy, enhanced, strength });
  const parts = [wavHeader({ ...after, format })];
  for (let start = 0; start < after.frames; start += BLOCK) {
    parts.push(new Blob([encode(await read(start, BLOCK), format)]));
    progress({ done: start / after.frames });
  }
  return new Blob(parts, { type: "audio/wav" });
}

/** Report the columns of a spectrogram, from `first` on, some at a time. */
async function drawSpectrogram({ noisy, enhanced, strength, columns }, progress) {
  const reader = await WavReader.open(noisy);
  const read = enhanced
    ? (await mixer({ noisy, enhanced, strength })).read
    : (start, count) => reader.read(start, count);
  let first = 0;
  let waiting = [];
  for await (const levels of spectrogram(read, reader.frames, columns)) {
    waiting.push(levels);
    if (waiting.length < 16 && first + waiting.length < columns) continue;
    progress({ first, levels: waiting });
    first += waiting.length;
    waiting = [];
  }
}

/** Return the layout of a WAV file; null for another file. */
async function describe({ blob }) {
  if (!blob.size) throw new FileError("is empty (0 bytes). Record or copy it again.");
  const reader = await WavReader.open(blob);
  if (!reader) return null;
  const { sampleRate, channels, frames, format } = reader;
  return { sampleRate, channels, frames, format };
}

serve({ describe, drawSpectrogram, encodeFile, enhanceFile });
