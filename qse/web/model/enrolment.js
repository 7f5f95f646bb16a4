/** Enroll a talker: find the voice that a model keeps in a recording, as `qse enroll` does. */

import { QUALITY, Resampler } from "../audio/resampler.js";
import { FileError } from "../audio/wav.js";
import { join } from "./enhance.js";

const SPEAKING = 10 ** -3.5; // of the power of the loudest hop
const LONGEST = 60; // seconds of a recording that are used
const LEAST = 3; // seconds of speech
const ENOUGH = 5; // seconds of speech in which a second voice shows
const CLEAN = 10; // dB: less noise changes little
const ALIKE = 0.5; // likeness: fewer than one voice in 20 has less, and half of the pairs of two
const BLOCK = 1 << 15;

/**
 * Return `{voice, doubts}` of a recording (a reader as of `enhance`): doubts are sentences about what makes the voice
 * less certain. `engine`: of the model's graph for 16 kHz; `talkers`: session of its graph of talkers. FileError with
 * the rest of a sentence for less than 3 s of speech.
 */
export async function enroll(reader, engine, talkers) {
  const noisy = await mono(reader, engine.sampleRate);
  const hop = engine.graphHopLength;
  const hops = Math.floor(noisy.length / hop);
  const powers = Array.from({ length: hops }, (_, t) => power(noisy.subarray(t * hop, (t + 1) * hop)));
  const loudest = Math.max(0, ...powers);
  const speaks = powers.map((value) => value > SPEAKING * loudest);
  const count = speaks.filter(Boolean).length;
  const seconds = (count * hop) / engine.sampleRate;
  if (seconds < LEAST) {
    throw new FileError(`holds ${seconds.toFixed(1)} s of speech: ${LEAST} s are needed, 10 s are better.`);
  }

  const counts = [Math.ceil(count / 2), Math.floor(count / 2)]; // of hops with speech, in both halves
  const sums = counts.map(() => Object.fromEntries(talkers.inputNames.map((name) => [name, null])));
  const enhanced = new Float32Array(hops * hop);
  const session = engine.oneGrid(null);
  for (let t = 0, heard = 0; t < hops; t++) {
    enhanced.set(await session.step(noisy.slice(t * hop, (t + 1) * hop)), t * hop);
    if (!speaks[t]) continue;
    const sum = sums[heard++ < counts[0] ? 0 : 1];
    for (const name of talkers.inputNames) add(sum, name, session.state[name].data);
  }

  const entriesOf = (sum, total) => entries(engine, talkers, (name) => sum(name).map((value) => value / total));
  const whole = await entriesOf((name) => sums[0][name].map((value, i) => value + sums[1][name][i]), count);
  const halves = [];
  for (const [i, sum] of sums.entries()) halves.push(await entriesOf((name) => sum[name], counts[i]));
  const lag = engine.latency - engine.secondGrid;
  const snr = ratio(noisy, enhanced.subarray(lag));
  const voice = { model: engine.name, version: engine.version, entries: whole };
  return { voice, doubts: doubts(snr, seconds, likeness(...halves)) };
}

/** Return the mean of all channels at `rate`, LONGEST seconds at most. */
async function mono(reader, rate) {
  const resampler = new Resampler(reader.sampleRate, rate, QUALITY.file);
  const frames = Math.min(reader.frames, LONGEST * reader.sampleRate);
  const parts = [];
  for (let start = 0; start < frames; start += BLOCK) {
    const channels = await reader.read(start, Math.min(BLOCK, frames - start));
    const mean = channels[0].map((_, i) => channels.reduce((sum, samples) => sum + samples[i], 0) / channels.length);
    parts.push(resampler.process(mean));
  }
  parts.push(resampler.finish());
  return join(parts);
}

function power(samples) {
  return samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length;
}

function add(sum, name, values) {
  sum[name] ??= new Float64Array(values.length);
  for (let i = 0; i < values.length; i++) sum[name][i] += values[i];
}

/** Return what the graph of talkers makes of mean states, `mean(name)` of each: rows by the names of entries. */
async function entries(engine, talkers, mean) {
  const inputs = {};
  for (const { name, shape } of engine.states) {
    if (talkers.inputNames.includes(name)) inputs[name] = new engine.Tensor("float32", Float32Array.from(mean(name)), shape);
  }
  const outputs = await talkers.run(inputs);
  const rows = {};
  for (const [name, { data, dims }] of Object.entries(outputs)) {
    const [bands, numbers] = dims;
    rows[name] = Array.from({ length: bands }, (_, band) => Array.from(data.subarray(band * numbers, (band + 1) * numbers)));
  }
  return rows;
}

/** Return the level of an enhanced signal above what was removed, in dB, at most 60. */
function ratio(noisy, enhanced) {
  let [kept, removed] = [1e-12, 0];
  enhanced.forEach((sample, i) => {
    kept += sample * sample;
    removed += (noisy[i] - sample) ** 2;
  });
  return 10 * Math.log10(kept / Math.max(removed, 1e-6 * kept));
}

/** Return the cosine of two sets of entries. */
function likeness(first, second) {
  let [product, a, b] = [0, 0, 0];
  for (const [name, rows] of Object.entries(first)) {
    const others = second[name].flat();
    rows.flat().forEach((value, i) => {
      product += value * others[i];
      a += value * value;
      b += others[i] * others[i];
    });
  }
  return a && b ? product / Math.sqrt(a * b) : 1;
}

function doubts(snr, seconds, alike) {
  const found = [];
  if (snr < CLEAN) found.push(`The speech is only ${snr.toFixed(0)} dB above the noise: record in a quiet room.`);
  if (seconds >= ENOUGH && alike < ALIKE) {
    found.push(`Its halves sound like two people (likeness ${alike.toFixed(2)}): one talker alone has to speak.`);
  }
  return found;
}
