/** Read the files that a person drops: WAV as it is, everything else through a decoder. */

import { FileError } from "../audio/wav.js";
import { WavWriter } from "../audio/wav_writer.js";

const LARGEST = 400e6; // bytes of a file that is decoded in memory at once
const DEFAULT_RATE = 48000;
const BLOCK = 1 << 16;
const MISSING_SECONDS = 0.1; // of a file in which decoding in pieces has failed

/**
 * Decode a file at once, as browsers without WebCodecs need it; the decoder converts to `sampleRate`. `damaged`: whether
 * that is known of the file.
 */
async function decodeAtOnce(file, sampleRate, damaged) {
  if (file.size > LARGEST) throw new FileError("is too large to be decoded at once. Convert it to WAV first.");
  let audio;
  try {
    audio = await new OfflineAudioContext(1, 1, sampleRate).decodeAudioData(await file.arrayBuffer());
  } catch {
    if (damaged) throw new FileError("is damaged: its sound cannot be read. Copy it again, or convert it to WAV.");
    throw new FileError("is no sound file that this browser can decode. Convert it to WAV first.");
  }
  if (!audio.length) throw new FileError("holds no samples.");
  const channels = Array.from({ length: audio.numberOfChannels }, (_, channel) => audio.getChannelData(channel));
  const writer = new WavWriter({ sampleRate, channels: channels.length, format: "float32" });
  for (let start = 0; start < audio.length; start += BLOCK) {
    writer.add(channels.map((samples) => samples.subarray(start, start + BLOCK)));
  }
  return { blob: writer.finish(), sampleRate, channels: channels.length, frames: audio.length };
}

/**
 * Return a recording: `blob` (a WAV), `sampleRate`, `channels`, `frames`, `format`, that of the file to download, and
 * `damaged`, whether the file could not be read as a whole, and `missing`, seconds if they are known; `joined`, whether it
 * consists of several files, and `tracks`, how many sound tracks it has: one of them is read.
 *
 * `worker` is a RemoteWorker of worker.js; `progress({done})` gets the decoded share. FileError with the rest of a
 * sentence for a file that is no sound.
 */
export async function openRecording(file, worker, progress = () => {}) {
  const layout = await worker.call("describe", { blob: file });
  if (layout) return { blob: file, ...layout, damaged: layout.missing > 0 };
  const decoded = await worker.call("decode", { blob: file }, progress);
  const rate = decoded.sampleRate >= 8000 && decoded.sampleRate <= 192000 ? decoded.sampleRate : DEFAULT_RATE;
  const recording = decoded.blob ? decoded : { ...decoded, ...(await decodeAtOnce(file, rate, decoded.damaged)) };
  const lost = decoded.seconds - recording.frames / recording.sampleRate;
  const missing = decoded.missing ?? (lost > MISSING_SECONDS ? lost : 0);
  return { ...recording, missing, damaged: Boolean(decoded.damaged || missing), format: "pcm16" };
}
