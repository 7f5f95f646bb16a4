/** Decode compressed recordings and videos piece by piece: containers by Mediabunny, codecs by the browser. */

import { flacFrames } from "../audio/flac.js";
import { encoderDelay } from "../audio/mp3.js";
import { FileError } from "../audio/wav.js";
import { WavWriter } from "../audio/wav_writer.js";

const SILENCE = 1 << 16; // samples of silence that are written at once
const GAP_SECONDS = 0.01; // containers round times to milliseconds
const MISSING_SECONDS = 0.02; // below it, a file counts as complete

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
 * Decode a track of `duration` seconds into a WavWriter (32-bit float); `delay` is that of an MP3 encoder, `origin` the
 * time at which the first track of the file begins. Where the times of the samples leave a gap, it is filled with silence.
 */
async function decodeTrack(sink, { duration, delay, origin }, progress) {
  let writer = null;
  let unwanted = delay.start;
  let percent = 0;
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
    if (gap > GAP_SECONDS * sampleRate) addSilence(writer, gap);
    next = (gap > GAP_SECONDS * sampleRate ? at : Math.min(next, at)) + frames;
    const early = Math.max(0, -at); // before the time 0: for the decoder only
    const cut = Math.min(frames, early + unwanted);
    unwanted -= Math.max(0, cut - early);
    const left = Math.max(0, Math.round(duration * sampleRate) - delay.total - writer.frames);
    const block = samplesOf(sample).map((samples) => samples.subarray(cut, cut + left));
    sample.close();
    if (block[0].length) writer.add(block);
    if (timestamp / duration < (percent + 1) / 100) continue;
    percent = Math.floor((100 * timestamp) / duration);
    progress({ done: percent / 100 });
  }
  return writer;
}

function load() {
  return import("../vendor/mediabunny.min.js").catch(() => {
    throw new Error("A part of this page could not be loaded: is its server still running?");
  });
}

/**
 * Return a recording `{blob, sampleRate, channels, frames, missing}`, `blob` a WAV (32-bit float), `missing` the seconds
 * that the file announces beyond what could be decoded, `tracks` how many sound tracks it has, of which one is read. Where
 * this browser has no decoder that works in pieces, return only the `sampleRate` that the file states and `tracks`, or an
 * empty object; `damaged` is true where decoding began, and failed.
 *
 * FileError with the rest of a sentence for a video without sound.
 */
export async function decodeMedia(blob, progress) {
  const { ALL_FORMATS, AudioSampleSink, BlobSource, Input } = await load();
  const input = new Input({ formats: ALL_FORMATS, source: new BlobSource(blob) });
  let stated = {};
  try {
    if (!(await input.canRead())) return {};
    const track = await input.getPrimaryAudioTrack();
    if (!track) throw new FileError("holds no sound.");
    const sampleRate = await track.getSampleRate();
    const tracks = (await input.getAudioTracks()).length;
    if (!(await track.canDecode())) return { sampleRate, tracks };
    stated = { sampleRate, tracks, damaged: true };
    const delay = (await track.getCodec()) === "mp3" ? await encoderDelay(blob) : { start: 0, total: 0, frames: null };
    const origin = Math.max(0, await input.getFirstTimestamp());
    const times = { duration: (await track.computeDuration()) - origin, delay, origin };
    const writer = await decodeTrack(new AudioSampleSink(track), times, progress);
    if (!writer?.frames) throw new FileError("holds no samples.");
    const announced = delay.frames ?? (await flacFrames(blob)) ?? writer.frames;
    const missing = (announced - writer.frames) / writer.sampleRate;
    const { sampleRate: rate, channels, frames } = writer;
    const lost = missing > MISSING_SECONDS ? missing : 0;
    return { blob: writer.finish(), sampleRate: rate, channels, frames, tracks, missing: lost };
  } catch (error) {
    if (error instanceof FileError) throw error;
    return stated; // the browser's other decoder is asked
  } finally {
    input.dispose();
  }
}
