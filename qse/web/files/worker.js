/** The worker of the recordings: enhances, mixes and encodes in the background. Recordings are Blobs of WAV files. */

import { isJoined } from "../audio/joined.js";
import { spectrogram } from "../audio/spectrum.js";
import { FileError, WavReader } from "../audio/wav.js";
import { WavWriter } from "../audio/wav_writer.js";
import { graphFor } from "../model/bands.js";
import { enhance } from "../model/enhance.js";
import { enroll } from "../model/enrolment.js";
import { keptShare, mix } from "../model/model_stream.js";
import { loadEngine, loadGraph } from "../model/runtime.js";
import { beginningOf, readVoice } from "../model/voice.js";
import { serve } from "../rpc.js";
import { decodeMedia } from "./media.js";

const BLOCK = 1 << 16;
const engines = new Map(); // name of a model and address of its graph -> promise of its Engine

function engineOf(graph) {
  const key = `${graph.name} ${graph.url}`;
  if (!engines.has(key)) engines.set(key, loadEngine(graph));
  const engine = engines.get(key);
  engine.catch(() => engines.delete(key)); // the next file tries again
  return engine;
}

/** Load a model, for recordings up to 24 kHz if it has a graph for them. */
const prepare = async ({ model, band }) => void (await engineOf(graphFor(model, 48000, band)));

/**
 * Return a WAV (32-bit float, no attenuation limit) of the enhanced recording, its processing time in seconds, and the
 * bandwidth of the model in Hz. `model` and `band` as in `graphFor`.
 */
async function enhanceFile({ blob, model, band }, progress) {
  const reader = await WavReader.open(blob);
  const engine = await engineOf(graphFor(model, reader.sampleRate, band));
  const writer = new WavWriter({ ...reader, format: "float32" });
  const began = performance.now();
  for await (const block of enhance(reader, engine, beginningOf(engine, model.voice))) {
    writer.add(block);
    progress({ done: writer.frames / reader.frames });
  }
  const seconds = (performance.now() - began) / 1000;
  return { blob: writer.finish(), seconds, bandwidth: engine.sampleRate / 2 };
}

/**
 * Return a reader of the enhanced recording and a function that reads its mixture with the noisy one, which is opened
 * only where it is needed: the file may be gone.
 */
async function mixer({ noisy, enhanced, strength }) {
  const kept = keptShare(strength);
  const after = await WavReader.open(enhanced);
  const before = kept ? await WavReader.open(noisy) : null;
  const read = async (start, count) => {
    const clean = await after.read(start, count);
    if (!kept) return clean;
    const original = await before.read(start, count);
    return clean.map((samples, channel) => mix(samples, original[channel], kept));
  };
  return { after, read };
}

/** Return the WAV to download: the mixture for the attenuation limit `strength`, in `format` of FORMATS. */
async function encodeFile({ noisy, enhanced, strength, format }, progress) {
  const { after, read } = await mixer({ noisy, enhanced, strength });
  const writer = new WavWriter({ ...after, format });
  while (writer.frames < after.frames) {
    writer.add(await read(writer.frames, BLOCK));
    progress({ done: writer.frames / after.frames });
  }
  return writer.finish();
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

/** Return the layout of a WAV file, and the seconds that are `missing`; null for another file. */
async function describe({ blob }) {
  if (!blob.size) {
    await blob.arrayBuffer(); // fails where the file is gone
    throw new FileError("is empty (0 bytes). Record or copy it again.");
  }
  const reader = await WavReader.open(blob);
  if (!reader) return null;
  const { sampleRate, channels, frames, format, missing } = reader;
  return { sampleRate, channels, frames, format, missing };
}

/** Decode another file than WAV; `joined`: whether it consists of several files, of which the first alone is read. */
async function decode({ blob }, progress) {
  const decoded = await decodeMedia(blob, progress);
  return { ...decoded, joined: await isJoined(blob) };
}

/**
 * Return `{voice, doubts}` for a model that keeps one talker, see `enroll`: of a `recording` (a WAV), or of a `file` of
 * `qse enroll`.
 */
async function openVoice({ recording, file, model }) {
  const engine = await engineOf(graphFor(model, 0));
  const found = recording
    ? await enroll(await WavReader.open(recording), engine, await loadGraph({ name: model.name, ...model.talker }))
    : { voice: await readVoice(file), doubts: [] };
  beginningOf(engine, found.voice); // refuses what does not fit
  return found;
}

serve({ decode, describe, drawSpectrogram, encodeFile, enhanceFile, openVoice, prepare });
