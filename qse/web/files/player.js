/** Play two recordings of the same length at one position, and switch between them without a gap. */

import { WavReader } from "../audio/wav.js";

const CHUNK_SECONDS = 0.5;
const AHEAD_SECONDS = 1.2;
const FADE_SECONDS = 0.015;

export class Player {
  /** `onChange()` is called when playback starts or ends. */
  constructor(onChange) {
    this.onChange = onChange;
    this.playing = false;
    this.offset = 0; // seconds, where playback begins or has stopped
    this.shares = [0, 1]; // of the noisy and the enhanced recording
    this.run = 0;
  }

  /** Load a pair of WAV Blobs; playback stops. */
  async load(noisy, enhanced) {
    this.pause();
    this.offset = 0;
    this.readers = await Promise.all([WavReader.open(noisy), WavReader.open(enhanced)]);
    this.sampleRate = this.readers[0].sampleRate;
    this.duration = this.readers[0].frames / this.sampleRate;
  }

  /** Set how much of the noisy and of the enhanced recording is played. */
  setShares(noisy, enhanced) {
    this.shares = [noisy, enhanced];
    this.gains?.forEach((gain, i) => gain.gain.setTargetAtTime(this.shares[i], this.context.currentTime, FADE_SECONDS / 3));
  }

  get position() {
    if (!this.playing) return this.offset;
    return Math.max(this.offset, Math.min(this.duration, this.context.currentTime - this.began + this.offset));
  }

  async play() {
    if (this.playing || !this.readers) return;
    if (this.position >= this.duration - 0.01) this.offset = 0;
    this.prepare();
    await this.context.resume();
    this.playing = true;
    this.began = this.context.currentTime + 0.05;
    this.feed(++this.run);
    this.onChange();
  }

  /** Open an AudioContext at the recording's own rate, so that pieces join without a click. */
  prepare() {
    if (this.context?.sampleRate !== this.sampleRate || this.context.state === "closed") {
      this.context?.close();
      try {
        this.context = new AudioContext({ sampleRate: this.sampleRate });
      } catch {
        this.context = new AudioContext(); // for a rate that the browser does not offer
      }
    }
    this.gains = this.shares.map((gain) => {
      const node = new GainNode(this.context, { gain });
      node.connect(this.context.destination);
      return node;
    });
  }

  /** Schedule piece after piece of both recordings, a little ahead of the position. */
  async feed(run) {
    let frame = Math.round(this.offset * this.sampleRate);
    const { frames } = this.readers[0];
    const first = frame;
    while (frame < frames && run === this.run) {
      const count = Math.min(Math.round(CHUNK_SECONDS * this.sampleRate), frames - frame);
      const pieces = await Promise.all(this.readers.map((reader) => reader.read(frame, count)));
      if (run !== this.run) return;
      const time = this.began + (frame - first) / this.sampleRate;
      pieces.forEach((channels, i) => this.schedule(channels, this.gains[i], time));
      frame += count;
      const early = this.began + (frame - first) / this.sampleRate - this.context.currentTime - AHEAD_SECONDS;
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, 1000 * early)));
    }
    const rest = this.duration - this.position;
    await new Promise((resolve) => setTimeout(resolve, 1000 * rest + 100));
    if (run === this.run) this.pause(this.duration);
  }

  schedule(channels, gain, time) {
    const shown = channels.slice(0, 2); // a browser plays two; more channels are for the download
    const buffer = new AudioBuffer({ length: shown[0].length, numberOfChannels: shown.length, sampleRate: this.sampleRate });
    shown.forEach((samples, channel) => buffer.copyToChannel(samples, channel));
    const source = new AudioBufferSourceNode(this.context, { buffer });
    source.connect(gain);
    source.start(Math.max(time, this.context.currentTime));
  }

  pause(offset = this.position) {
    this.run++;
    if (!this.playing) return;
    this.offset = offset;
    this.playing = false;
    this.gains.forEach((gain) => gain.disconnect());
    this.onChange();
  }

  /** Continue at `seconds`, playing or not as before. */
  async seek(seconds) {
    const { playing } = this;
    this.pause();
    this.offset = Math.max(0, Math.min(this.duration ?? 0, seconds));
    if (playing) await this.play();
  }
}
