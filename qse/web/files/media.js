/** Decode compressed recordings and videos piece by piece: containers by Mediabunny, codecs by the browser. */

import { encoderDelay } from "../audio/mp3.js";
import { FileError } from "../audio/wav.js";
import { WavWriter } from "../audio/wav_writer.js";

/** Return the samples of an AudioSample, one Float32Array per channel. */
function samplesOf(sample) {
  return Array.from({ length: sample.numberOfChannels }, (_, planeIndex) => {
    const samples = new Float32Array(sample.numberOfFrames);
    sample.copyTo(samples, { planeIndex, format: "f32-planar" });
    return samples;
  });
}

/** Decode a track of `duration` seconds into a WavWriter (32-bit float); `delay` is that of an MP3 encoder. */
async function decodeTrack(sink, duration, delay, progress) {
  let writer = null;
  let unwanted = delay.start;
  let percent = 0;
  for await (const sample of sink.samples()) {
    const { sampleRate, numberOfChannels: channels, timestamp } = sample;
    writer ??= new WavWriter({ sampleRate, channels, format: "float32" });
    if (writer.sampleRate !== sampleRate || writer.channels !== channels) {
      throw new FileError("changes its sample rate or its channels on the way. Convert it to WAV first.");
    }
    const early = Math.max(0, Math.round(-timestamp * sampleRate)); // before the time 0: for the decoder only
    const cut = Math.min(sample.numberOfFrames, early + unwanted);
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
  return import("../vendor/mediabunny.min.mjs").catch(() => {
    throw new Error("A part of this page could not be loaded: is its server still running?");
  });
}

/**
 * Return a recording `{blob, sampleRate, channels, frames}`, `blob` a WAV (32-bit float). Where this browser has no
 * decoder that works in pieces, return only the `sampleRate` that the file states, or an empty object.
 *
 * FileError with the rest of a sentence for a video without sound.
 */
export async function decodeMedia(blob, progress) {
  const { ALL_FORMATS, AudioSampleSink, BlobSource, Input } = await load();
  const input = new Input({ formats: ALL_FORMATS, source: new BlobSource(blob) });
  try {
    if (!(await input.canRead())) return {};
    const track = await input.getPrimaryAudioTrack();
    if (!track) throw new FileError("holds no sound.");
    const sampleRate = await track.getSampleRate();
    if (!(await track.canDecode())) return { sampleRate };
    const delay = (await track.getCodec()) === "mp3" ? await encoderDelay(blob) : { start: 0, total: 0 };
    const writer = await decodeTrack(new AudioSampleSink(track), await track.computeDuration(), delay, progress);
    if (!writer?.frames) throw new FileError("holds no samples.");
    return { blob: writer.finish(), sampleRate: writer.sampleRate, channels: writer.channels, frames: writer.frames };
  } catch (error) {
    if (error instanceof FileError) throw error;
    return {}; // damaged: the browser's other decoder is asked
  } finally {
    input.dispose();
  }
}
