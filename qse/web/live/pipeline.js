/** From the microphone's sample rate through the model and back, block by block, with meters and a recording. */

import { QUALITY, Resampler } from "../audio/resampler.js";
import { encode } from "../audio/wav.js";
import { ModelStream, keptShare } from "../model/model_stream.js";
import { LevelMeter, TimeMeter } from "./meters.js";

const GLIDE = 0.125; // change per hop of the noisy signal's share, when strength or bypass is switched

export class LivePipeline {
  /**
   * `strength` in dB, null: no limit; `bypass`: the noisy signal, delayed as the enhanced one; `muted`: silence in the
   * output and in the recording, both sides of it. `beginning` as in `Engine.session`.
   */
  constructor(engine, sampleRate, { strength = null, bypass = false, muted = false }, beginning = {}) {
    this.engine = engine;
    this.inward = new Resampler(sampleRate, engine.sampleRate, QUALITY.live);
    this.outward = new Resampler(engine.sampleRate, sampleRate, QUALITY.live);
    this.times = new TimeMeter((1000 * engine.hopLength) / engine.sampleRate);
    this.stream = new ModelStream(engine, { onStep: (milliseconds) => this.times.add(milliseconds), beginning });
    this.noisy = new LevelMeter(engine.sampleRate);
    this.enhanced = new LevelMeter(engine.sampleRate);
    this.set({ strength, bypass, muted });
    this.kept = this.wanted;
    this.gains = { input: this.gain, output: this.gain };
    this.recording = null;
    this.received = this.emitted = 0; // samples
    this.delay = Math.round((engine.latency * sampleRate) / engine.sampleRate); // of output sample n to input sample n
  }

  set({ strength, bypass, muted = false }) {
    this.wanted = bypass ? 1 : keptShare(strength);
    this.gain = muted ? 0 : 1;
  }

  /** Return the output samples that are ready after the next input samples. */
  async process(samples) {
    const noisy = this.inward.process(samples);
    const enhanced = await this.stream.process(noisy, () => this.glide());
    this.noisy.add(noisy);
    this.enhanced.add(enhanced);
    const output = this.faded(this.outward.process(enhanced), "output");
    const input = this.faded(samples, "input");
    this.recording?.add(input, output);
    this.received += samples.length;
    this.emitted += output.length;
    return output;
  }

  /** Return a block of `side`, silent if muted; faded where that has changed. */
  faded(block, side) {
    const before = this.gains[side];
    if (!block.length || (before === 1 && this.gain === 1)) return block;
    this.gains[side] = this.gain;
    const step = (this.gain - before) / block.length;
    return block.map((sample, i) => sample * (before + (i + 1) * step));
  }

  glide() {
    const change = Math.max(-GLIDE, Math.min(GLIDE, this.wanted - this.kept));
    this.kept = Math.abs(change) < GLIDE ? this.wanted : this.kept + change;
    return this.kept;
  }

  /** Record from now on: the microphone left, the output right, of the same moments. */
  record() {
    this.recording = new Recording(this.received - this.emitted + this.delay);
  }

  /** Return the recording so far, as parts of a WAV without its header, and its frames. */
  endRecording() {
    const { parts, frames } = this.recording.finish();
    this.recording = null;
    return { parts, frames };
  }

  /** Return the figures to display. */
  figures() {
    return {
      noisy: this.noisy.decibels,
      enhanced: this.enhanced.decibels,
      silent: this.noisy.silentSeconds,
      hop: this.times.quantiles(),
      period: this.times.period,
      resets: this.stream.resets,
    };
  }
}

/** Two channels of a 16-bit WAV; `early`: samples of the next output that belong to moments before the recording. */
class Recording {
  constructor(early) {
    this.waiting = [[], []];
    this.counts = [0, 0];
    this.cut = early;
    this.parts = [];
    this.frames = 0;
  }

  add(noisy, output) {
    this.push(0, noisy);
    const cut = Math.min(this.cut, output.length);
    this.cut -= cut;
    this.push(1, output.subarray(cut));
    if (Math.min(...this.counts) >= 1 << 16) this.flush();
  }

  push(channel, samples) {
    this.waiting[channel].push(samples.slice());
    this.counts[channel] += samples.length;
  }

  flush() {
    const frames = Math.min(...this.counts);
    const channels = this.waiting.map((blocks) => {
      const joined = new Float32Array(blocks.reduce((sum, block) => sum + block.length, 0));
      blocks.reduce((at, block) => (joined.set(block, at), at + block.length), 0);
      return joined;
    });
    if (frames) this.parts.push(new Blob([encode(channels.map((samples) => samples.subarray(0, frames)), "pcm16")]));
    this.waiting = channels.map((samples) => [samples.slice(frames)]);
    this.counts = this.counts.map((count) => count - frames);
    this.frames += frames;
  }

  finish() {
    this.flush();
    return this;
  }
}
