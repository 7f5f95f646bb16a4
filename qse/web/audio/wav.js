/**
 * Read and write WAV files (RIFF, RF64) in pieces, without loading the file into memory.
 *
 * Samples are Float32Arrays, one per channel, full scale 1.0. Integers are divided by a power of two, as libsndfile
 * does, where decodeAudioData divides by another number for positive than for negative samples.
 */

const PCM = 1;
const FLOAT = 3;
const EXTENSIBLE = 0xfffe;
const LAWS = [6, 7]; // A-law and mu-law: a byte per sample, whatever bits are stated
const LOUDEST = 1000; // samples above it were never divided by their full scale
const RIFF_LIMIT = 0xffffffff;
const RATES = [1000, 1_000_000]; // Hz; the table of a resampler grows with the rate
const MOST_CHANNELS = 64; // each takes a state of the model
const MOST_CHUNKS = 4096; // that are looked at
const FEW = 4096; // bytes behind the samples with which a file is read
const PIECE = 1 << 20; // bytes that are searched at a time

/** Bytes per sample, and how to read and write one. */
export const FORMATS = {
  pcm8: { tag: PCM, bytes: 1, get: (view, at) => (view.getUint8(at) - 128) / 128, set: setPcm8 },
  pcm16: { tag: PCM, bytes: 2, get: (view, at) => view.getInt16(at, true) / 32768, set: setPcm16 },
  pcm24: { tag: PCM, bytes: 3, get: getPcm24, set: setPcm24 },
  pcm32: { tag: PCM, bytes: 4, get: (view, at) => view.getInt32(at, true) / 2147483648, set: setPcm32 },
  float32: { tag: FLOAT, bytes: 4, get: (view, at) => view.getFloat32(at, true), set: setFloat32 },
  float64: { tag: FLOAT, bytes: 8, get: (view, at) => view.getFloat64(at, true), set: setFloat64 },
};

function getPcm24(view, at) {
  return ((view.getInt8(at + 2) << 16) | view.getUint16(at, true)) / 8388608;
}

function toInteger(value, scale) {
  return Math.max(-scale, Math.min(scale - 1, Math.round(value * scale)));
}

function setPcm8(view, at, value) {
  view.setUint8(at, toInteger(value, 128) + 128);
}

function setPcm16(view, at, value) {
  view.setInt16(at, toInteger(value, 32768), true);
}

function setPcm24(view, at, value) {
  const integer = toInteger(value, 8388608);
  view.setUint16(at, integer & 0xffff, true);
  view.setInt8(at + 2, integer >> 16);
}

function setPcm32(view, at, value) {
  view.setInt32(at, toInteger(value, 2147483648), true);
}

function setFloat32(view, at, value) {
  view.setFloat32(at, value, true);
}

function setFloat64(view, at, value) {
  view.setFloat64(at, value, true);
}

/** A fault of the user's file; its message completes the sentence "NAME ...". */
export class FileError extends Error {}

async function viewOf(blob, start, length) {
  return new DataView(await blob.slice(start, start + length).arrayBuffer());
}

function tagAt(view, at) {
  return at + 4 <= view.byteLength ? String.fromCharCode(...new Uint8Array(view.buffer, at, 4)) : "";
}

/**
 * A WAV file that is read in pieces. `sampleRate` in Hz, `channels`, `frames` per channel, `format` of FORMATS; `missing`:
 * seconds that lie behind the samples which its header counts, and are not read.
 */
export class WavReader {
  constructor(blob, { sampleRate, channels, format, start, frames, missing = 0 }) {
    Object.assign(this, { blob, sampleRate, channels, format, start, frames, missing });
  }

  /** Return a reader, or null where the file is no WAV or holds a codec. FileError for a damaged WAV. */
  static async open(blob) {
    const head = await viewOf(blob, 0, 12);
    const kind = tagAt(head, 0);
    if ((kind !== "RIFF" && kind !== "RF64") || tagAt(head, 8) !== "WAVE") return null;
    const { layout, start, bytes, isOpen } = await findChunks(blob, kind === "RF64");
    if (!layout) throw new FileError("is a damaged WAV file: it does not say how its samples are stored.");
    if (layout.contradiction) throw new FileError(`is a damaged WAV file: its header states ${layout.contradiction}. Copy it again.`);
    if (!layout.format) return null;
    const [lowest, highest] = RATES;
    if (!(layout.sampleRate >= lowest && layout.sampleRate <= highest)) {
      throw new FileError(`claims ${layout.sampleRate} samples per second.`);
    }
    if (layout.channels > MOST_CHANNELS) {
      throw new FileError(`has ${layout.channels} channels, and this page takes ${MOST_CHANNELS}. Take some of them out of it.`);
    }
    const frameBytes = layout.channels * FORMATS[layout.format].bytes;
    const frames = Math.floor(Math.min(bytes, blob.size - start) / frameBytes);
    if (bytes > blob.size - start) throw new FileError("is cut short: its end is missing. Copy it again.");
    if (!frames) throw new FileError("holds no samples.");
    const unread = isOpen ? 0 : await bytesBehind(blob, start + bytes + (bytes & 1));
    const missing = unread > FEW ? unread / frameBytes / layout.sampleRate : 0;
    return new WavReader(blob, { ...layout, start, frames, missing });
  }

  /** Read `count` frames from `start` on, fewer at the end. FileError for samples that are no sound. */
  async read(start, count) {
    const { bytes, get } = FORMATS[this.format];
    count = Math.max(0, Math.min(count, this.frames - start));
    const step = bytes * this.channels;
    const view = await viewOf(this.blob, this.start + start * step, count * step);
    return Array.from({ length: this.channels }, (_, channel) => {
      const samples = new Float32Array(count);
      for (let i = 0, at = channel * bytes; i < count; i++, at += step) samples[i] = get(view, at);
      if (this.format.startsWith("float")) checkSamples(samples);
      return samples;
    });
  }
}

function checkSamples(samples) {
  for (const sample of samples) {
    if (!Number.isFinite(sample)) throw new FileError("holds samples that are not numbers. Export it again.");
    if (Math.abs(sample) > LOUDEST) throw new FileError("holds samples far above full scale. Export it again.");
  }
}

async function findChunks(blob, is64) {
  let layout = null;
  let bytes64 = null;
  for (let at = 12, count = 0; at + 8 <= blob.size && count < MOST_CHUNKS; count++) {
    const view = await viewOf(blob, at, 64);
    const tag = tagAt(view, 0);
    let size = view.getUint32(4, true);
    if (tag === "ds64" && view.byteLength >= 24) bytes64 = Number(view.getBigUint64(16, true));
    if (tag === "fmt " && view.byteLength >= 24) layout = readLayout(view, size);
    if (tag === "data") {
      if (is64 && size === RIFF_LIMIT && bytes64 !== null) size = bytes64;
      const isOpen = size === 0 || size === RIFF_LIMIT; // of a program that could not write the length afterwards
      return { layout, start: at + 8, bytes: isOpen ? blob.size - at - 8 : size, isOpen };
    }
    at += 8 + size + (size & 1);
  }
  throw new FileError("is a damaged WAV file: it holds no sound.");
}

/** Return how many bytes from `at` on may be sound: those behind the last whole chunk, but for zeros, or from another `data` on. */
async function bytesBehind(blob, at) {
  for (let count = 0; at + 8 <= blob.size && count < MOST_CHUNKS; count++) {
    const view = await viewOf(blob, at, 8);
    const tag = tagAt(view, 0);
    const end = at + 8 + view.getUint32(4, true);
    if (tag === "data" || tag === "RIFF" || !/^[ -~]{4}$/.test(tag) || end > blob.size) break;
    at = end + (end & 1);
  }
  for (let place = at; place < blob.size; place += PIECE) {
    const bytes = new Uint8Array(await blob.slice(place, place + PIECE).arrayBuffer());
    if (bytes.some((byte) => byte)) return blob.size - at;
  }
  return 0;
}

function readLayout(view, size) {
  let tag = view.getUint16(8, true);
  if (tag === EXTENSIBLE && size >= 40 && view.byteLength >= 34) tag = view.getUint16(32, true);
  const bits = view.getUint16(22, true);
  const name = `${tag === PCM ? "pcm" : tag === FLOAT ? "float" : ""}${bits}`;
  const channels = view.getUint16(10, true);
  const block = view.getUint16(20, true);
  const plain = [PCM, FLOAT, ...LAWS].includes(tag);
  const wanted = channels * (LAWS.includes(tag) ? 1 : Math.ceil(bits / 8));
  const contradiction = plain && block !== wanted ? `${block} and ${wanted} bytes for a sample of all channels` : null;
  return { sampleRate: view.getUint32(12, true), channels, format: channels && FORMATS[name] ? name : null, contradiction };
}

/** Return the header of a WAV file; RF64 where the length does not fit into 32 bits. */
export function wavHeader({ sampleRate, channels, frames, format }) {
  const { tag, bytes } = FORMATS[format];
  const length = frames * channels * bytes;
  const large = length + 72 > RIFF_LIMIT;
  const fields = [];
  const text = (value) => fields.push(...new TextEncoder().encode(value));
  const number = (value, count) => {
    for (let i = 0; i < count; i++) fields.push(Math.floor(value / 256 ** i) % 256);
  };
  text(large ? "RF64" : "RIFF");
  number(large ? RIFF_LIMIT : length + 36, 4);
  text("WAVE");
  if (large) {
    text("ds64");
    [[28, 4], [length + 72, 8], [length, 8], [frames, 8], [0, 4]].forEach(([value, count]) => number(value, count));
  }
  text("fmt ");
  const rate = sampleRate * channels * bytes;
  const layout = [[16, 4], [tag, 2], [channels, 2], [sampleRate, 4], [rate, 4], [channels * bytes, 2], [8 * bytes, 2]];
  layout.forEach(([value, count]) => number(value, count));
  text("data");
  number(large ? RIFF_LIMIT : length, 4);
  return new Uint8Array(fields);
}

/** Return the samples of all channels interleaved, in the bytes of `format`; clipped where it holds integers. */
export function encode(channels, format) {
  const { bytes, set } = FORMATS[format];
  const step = bytes * channels.length;
  const view = new DataView(new ArrayBuffer(channels[0].length * step));
  channels.forEach((samples, channel) => {
    for (let i = 0, at = channel * bytes; i < samples.length; i++, at += step) set(view, at, samples[i]);
  });
  return new Uint8Array(view.buffer);
}
