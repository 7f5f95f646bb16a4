/** Decode compressed recordings and videos piece by piece: containers by Mediabunny, codecs by the browser. */

import { findDamage } from "../audio/damage.js";
import { flacFrames } from "../audio/flac.js";
import { encoderDelay } from "../audio/mp3.js";
import { FileError } from "../audio/wav.js";
import { WavWriter } from "../audio/wav_writer.js";

const SILENCE = 1 << 16; // samples of silence that are written at once
const GAP_SECONDS = 0.01; // containers round times to milliseconds
const MISSING_SECONDS = 0.02; // below it, a file counts as complete
const LOST = "is damaged: its sound cannot be read. Copy it again.";
const IN_TABLES = 0.1; // the same for MP4: decoders leave out up to 80 ms at the beginning
const IN_HEADER = 1; // the same for headers: some recorders measure the duration with a clock

/** Return the samples of an AudioSample, one Float32Array per channel. */
function samplesOf(sample) {
  return Array.from({ length: sample.numberOfChannels }, (_, planeIndex) => {
    const samples = new Float32Array(sample.numberOfFrames);
    sample.copyTo(samples, { planeIndex, format: "f32-planar" });
    return samples;
  });
}

/** Add `frames` samples of silence to a WavWriter. */
function addSilence(writer, frames) {
  for (let left = frames; left > 0; left -= SILENCE) {
    const block = new Float32Array(Math.min(left, SILENCE));
    writer.add(Array.from({ length: writer.channels }, () => block));
  }
}

/**
 * Decode a track of `duration` seconds into a WavWriter (32-bit float), up to `end` seconds; `delay` is that of an MP3
 * encoder, `origin` the time at which the first track of the file begins. Where the times of the samples leave a gap, it is filled with silence.
 * Return the `writer`, the samples of silence within the sound (`filled`), and the seconds at which it ends (`end`).
 */
async function decodeTrack(sink, { duration, end, delay, origin }, progress) {
  let writer = null;
  let unwanted = delay.start;
  let percent = 0;
  let filled = 0;
  let next = 0; // place of the next sample, counted from the origin, with those that are left out
  for await (const sample of sink.samples()) {
    const { sampleRate, numberOfChannels: channels, numberOfFrames: frames } = sample;
    const timestamp = sample.timestamp - origin;
    writer ??= new WavWriter({ sampleRate, channels, format: "float32" });
    if (writer.sampleRate !== sampleRate || writer.channels !== channels) {
      throw new FileError("changes its sample rate or its channels on the way. Convert it to WAV first.");
    }
    const at = Math.round(timestamp * sampleRate);
    const gap = at - next;
    if (gap > GAP_SECONDS * sampleRate) {
      if (writer.frames) filled += gap;
      addSilence(writer, gap);
    }
    next = (gap > GAP_SECONDS * sampleRate ? at : Math.min(next, at)) + frames;
    const early = Math.max(0, -at); // before the time 0: for the decoder only
    const cut = Math.min(frames, early + unwanted);
    unwanted -= Math.max(0, cut - early);
    const left = Math.max(0, Math.round(end * sampleRate) - delay.total - writer.frames);
    const block = samplesOf(sample).map((samples) => samples.subarray(cut, cut + left));
    sample.close();
    if (block[0].length) writer.add(block);
    if (timestamp / duration < (percent + 1) / 100) continue;
    percent = Math.floor((100 * timestamp) / duration);
    progress({ done: percent / 100 });
  }
  return { writer, filled, end: next / (writer?.sampleRate ?? 1) };
}

/**
 * Return when a track begins, lasts and ends, in seconds; `stated` is the end in the header of the file, null where it has
 * none. Mediabunny does not know how long the last block of Matroska lasts: there the header says the end, or the decoder.
 */
async function timesOf(input, track, family) {
  const origin = Math.max(0, await input.getFirstTimestamp());
  const duration = (await track.computeDuration()) - origin;
  const header = ["MP4", "Matroska"].includes(family) ? await track.getDurationFromMetadata() : null;
  const stated = header === null ? null : header - origin;
  const alone = (await input.getTracks()).length === 1; // the header of Matroska states the end of the longest track
  if (family !== "Matroska") return { origin, duration, end: duration, stated, alone };
  return { origin, duration, end: alone && stated !== null ? Math.max(duration, stated) : Infinity, stated, alone };
}

const above = (least, seconds) => (seconds > least ? seconds : 0);

/**
 * Return the seconds that an MP4, Matroska or Ogg file announces beyond the sound that was decoded from its track, by its
 * tables, its header or the positions of its pages; 0 for what may as well be intact.
 */
async function missingSeconds(input, { family, damaged, seconds }, { origin, duration, stated, alone }, { writer, filled, end }) {
  const decoded = writer.frames / writer.sampleRate;
  const silence = filled / writer.sampleRate;
  if (family === "MP4") return above(IN_TABLES, duration - decoded) || above(IN_HEADER, stated - decoded);
  if (family === "Ogg") return damaged ? above(MISSING_SECONDS, seconds - decoded + silence) : 0;
  if (family !== "Matroska") return 0;
  if (!damaged) return alone ? above(IN_HEADER, stated - end) : 0;
  const last = alone ? end : Math.max(end, (await input.computeDuration()) - origin);
  return above(MISSING_SECONDS, silence + Math.max(0, stated - last));
}

function load() {
  return import("../vendor/mediabunny.min.js").catch(() => {
    throw new Error("A part of this page could not be loaded: is its server still running?");
  });
}

/**
 * Return a recording `{blob, sampleRate, channels, frames, missing}`, `blob` a WAV (32-bit float), `missing` the seconds
 * that the file announces beyond what could be decoded, `tracks` how many sound tracks it has, of which one is read, and
 * `damaged`. Where no decoder reads the file in pieces, return only the `sampleRate` that the file states,
 * `tracks` and `damaged`; that is true too where decoding began, and failed, and `seconds` is the stated duration then.
 *
 * FileError with the rest of a sentence for a video without sound.
 */
export async function decodeMedia(blob, progress) {
  const { ALL_FORMATS, AudioSampleSink, BlobSource, Input } = await load();
  const structure = await findDamage(blob);
  const { damaged } = structure;
  const input = new Input({ formats: ALL_FORMATS, source: new BlobSource(structure.sound ?? blob) });
  let stated = { damaged };
  try {
    if (!(await input.canRead())) return stated;
    const track = await input.getPrimaryAudioTrack();
    if (!track) throw new FileError(damaged ? LOST : "holds no sound.");
    const sampleRate = await track.getSampleRate();
    const tracks = (await input.getAudioTracks()).length;
    if (structure.mixed || !(await track.canDecode())) return { sampleRate, tracks, damaged };
    stated = { sampleRate, tracks, damaged: true };
    const delay = (await track.getCodec()) === "mp3" ? await encoderDelay(blob) : { start: 0, total: 0, frames: null };
    const times = await timesOf(input, track, structure.family);
    stated.seconds = structure.family === "MP4" ? times.duration : structure.seconds;
    const decoded = await decodeTrack(new AudioSampleSink(track), { ...times, delay }, progress);
    const { writer } = decoded;
    if (!writer?.frames) throw new FileError(damaged ? LOST : "holds no samples.");
    const { sampleRate: rate, channels, frames } = writer;
    const announced = delay.frames ?? (await flacFrames(blob));
    const missing = announced
      ? above(MISSING_SECONDS, (announced - frames) / rate)
      : await missingSeconds(input, structure, times, decoded);
    return { blob: writer.finish(), sampleRate: rate, channels, frames, tracks, missing, damaged };
  } catch (error) {
    if (error instanceof FileError) throw error;
    return stated; // the browser's other decoder is asked
  } finally {
    input.dispose();
  }
}
