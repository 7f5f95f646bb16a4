/** Read the files that a person drops: WAV as it is, everything else through the browser's decoder. */

import { sampleRateOf } from "../audio/sample_rate.js";
import { FileError, encode, wavHeader } from "../audio/wav.js";

const LARGEST = 400e6; // bytes of a compressed file, which is decoded in memory at once
const BLOCK = 1 << 16;

async function decoded(file) {
  const sampleRate = await sampleRateOf(file);
  try {
    const context = new OfflineAudioContext(1, 1, sampleRate);
    return await context.decodeAudioData(await file.arrayBuffer());
  } catch {
    throw new FileError("is no sound file that this browser can decode. Convert it to WAV first.");
  }
}

/** Return a WAV (32-bit float) of an AudioBuffer, in parts. */
function toWav(audio) {
  const { sampleRate, numberOfChannels, length } = audio;
  const layout = { sampleRate, channels: numberOfChannels, frames: length, format: "float32" };
  const parts = [wavHeader(layout)];
  for (let start = 0; start < length; start += BLOCK) {
    const count = Math.min(BLOCK, length - start);
    const block = Array.from({ length: numberOfChannels }, (_, channel) => {
      const samples = new Float32Array(count);
      audio.copyFromChannel(samples, channel, start);
      return samples;
    });
    parts.push(new Blob([encode(block, "float32")]));
  }
  return { blob: new Blob(parts, { type: "audio/wav" }), layout };
}

/**
 * Return a recording: `blob` (a WAV), `sampleRate`, `channels`, `frames`, and `format`, that of the file to download.
 *
 * `worker` is a RemoteWorker of worker.js. FileError with the rest of a sentence for a file that is no sound.
 */
export async function openRecording(file, worker) {
  const layout = await worker.call("describe", { blob: file });
  if (layout) return { blob: file, ...layout };
  if (file.size > LARGEST) throw new FileError("is too large to be decoded at once. Convert it to WAV first.");
  const audio = await decoded(file);
  if (!audio.length) throw new FileError("holds no samples.");
  const wav = toWav(audio);
  return { blob: wav.blob, ...wav.layout, format: "pcm16" };
}
