/** Read how many samples an MP3 encoder put around the sound: Mediabunny leaves them in. */

import { HEAD, tagSize } from "./id3.js";

const FIRST = 4096; // bytes that hold the first frame
const DECODER_DELAY = 529; // samples, of every MP3 decoder
const INFO = 0x496e666f; // "Info", of a constant bit rate
const XING = 0x58696e67; // "Xing", of a variable bit rate

async function viewOf(blob, start, length) {
  return new DataView(await blob.slice(start, start + length).arrayBuffer());
}

/** Return the flags of the Info or Xing tag in the first frame, which begins at `start`, and a view of it; null without one. */
async function tagOf(blob, start) {
  const view = await viewOf(blob, start, FIRST);
  const places = [13, 21, 36]; // of the tag, by version and channels
  const at = places.find((at) => at + 144 < view.byteLength && [INFO, XING].includes(view.getUint32(at)));
  return at === undefined ? null : { view, at, flags: view.getUint32(at + 4) };
}

/**
 * Return how many `frames` the Info or Xing tag of an MP3 file states, without the one at `start` that holds it, and how many
 * `bytes` with it; null where it does not.
 */
export async function statedLength(blob, start) {
  const tag = await tagOf(blob, start);
  if (!tag || !(tag.flags & 1)) return { frames: null, bytes: null };
  return { frames: tag.view.getUint32(tag.at + 8), bytes: tag.flags & 2 ? tag.view.getUint32(tag.at + 12) : null };
}

/**
 * Return what the tag of its encoder (LAME and others) says of an MP3 file: how many decoded samples to leave out at the
 * beginning (`start`) and in all (`total`), and how many remain (`frames`, null if it is unknown). Zeros without a tag.
 */
export async function encoderDelay(blob) {
  const none = { start: 0, total: 0, frames: null };
  const tag = await tagOf(blob, tagSize(new Uint8Array(await blob.slice(0, HEAD).arrayBuffer())));
  if (!tag) return none;
  const { view, at, flags } = tag;
  const optional = [4, 4, 100, 4].reduce((sum, bytes, bit) => sum + (flags & (1 << bit) ? bytes : 0), 0);
  const both = view.getUint32(at + 8 + optional + 20) & 0xffffff; // 12 bits each: delay, padding
  const delay = both >> 12;
  if (!delay) return none;
  const total = delay + (both & 0xfff);
  const perFrame = (view.getUint8(1) >> 3) & 1 ? 1152 : 576; // of MPEG 1, and of 2 and 2.5
  return { start: delay + DECODER_DELAY, total, frames: flags & 1 ? view.getUint32(at + 8) * perFrame - total : null };
}
