/** Write a WAV file into a Blob, block by block. */

import { encode, wavHeader } from "./wav.js";

const PART = 1 << 20; // bytes, after which what was written becomes a Blob, which the browser may move to disk

/** A WAV file that grows. `sampleRate` in Hz, `channels`, `format` of FORMATS; `frames` written so far. */
export class WavWriter {
  constructor({ sampleRate, channels, format }) {
    Object.assign(this, { sampleRate, channels, format, frames: 0 });
    this.parts = [];
    this.waiting = [];
    this.bytes = 0; // that wait
  }

  /** Append samples: one Float32Array per channel. */
  add(block) {
    const bytes = encode(block, this.format);
    this.waiting.push(bytes);
    this.bytes += bytes.length;
    this.frames += block[0].length;
    if (this.bytes >= PART) this.flush();
  }

  flush() {
    this.parts.push(new Blob(this.waiting));
    this.waiting = [];
    this.bytes = 0;
  }

  /** Return the file. */
  finish() {
    this.flush();
    return new Blob([wavHeader(this), ...this.parts], { type: "audio/wav" });
  }
}
