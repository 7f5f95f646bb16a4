/** Enhance a recording in blocks, at its own sample rate, every channel by itself. Memory does not grow with it. */

import { QUALITY, Resampler } from "../audio/resampler.js";
import { ModelStream } from "./model_stream.js";

const BLOCK = 1 << 15;

/** One channel: to the model's sample rate, through the model, and back; in step with the input, latency cut off. */
class ChannelPath {
  constructor(engine, sampleRate, beginning, first) {
    this.inward = new Resampler(sampleRate, engine.sampleRate, QUALITY.file, first?.inward);
    this.outward = new Resampler(engine.sampleRate, sampleRate, QUALITY.file, first?.outward);
    this.stream = new ModelStream(engine, { beginning });
    this.unwanted = this.stream.latency; // samples still to be cut off
    this.spare = engine.latency + engine.hopLength + Math.ceil((2 * engine.sampleRate) / sampleRate);
  }

  async process(samples) {
    return this.outward.process(await this.enhanced(this.inward.process(samples)));
  }

  async finish() {
    const parts = [await this.enhanced(this.inward.finish()), await this.enhanced(new Float32Array(this.spare))];
    return [...parts.map((part) => this.outward.process(part)), this.outward.finish()];
  }

  async enhanced(noisy) {
    const output = await this.stream.process(noisy);
    const cut = Math.min(this.unwanted, output.length);
    this.unwanted -= cut;
    return output.subarray(cut);
  }
}

/** Return all samples of `parts` as one Float32Array. */
export function join(parts) {
  const joined = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

/**
 * Yield enhanced blocks (arrays of one Float32Array per channel), in all as long as the recording and aligned with it.
 *
 * `reader` has `sampleRate`, `channels`, `frames` and `read(start, count)`, as WavReader; `beginning` as in
 * `Engine.session`.
 */
export async function* enhance(reader, engine, beginning = {}) {
  const paths = [];
  for (let channel = 0; channel < reader.channels; channel++) {
    paths.push(new ChannelPath(engine, reader.sampleRate, beginning, paths[0]));
  }
  try {
    yield* blocks(reader, paths);
  } finally {
    for (const path of paths) path.stream.close();
  }
}

async function* blocks(reader, paths) {
  let written = 0;
  for (let start = 0; start < reader.frames; start += BLOCK) {
    const noisy = await reader.read(start, BLOCK);
    const block = [];
    for (const [channel, path] of paths.entries()) block.push(await path.process(noisy[channel]));
    written += block[0].length;
    yield block;
  }
  const rest = [];
  for (const path of paths) rest.push(join(await path.finish()).subarray(0, reader.frames - written));
  yield rest;
}
