/** Find the frames of MP3 files (ISO/IEC 11172-3, 2.4.2.3): decoders pass over what lies between them, and what is missing. */

import { BlobBytes, numberOf, textOf } from "./blob_bytes.js";
import { tagSize } from "./id3.js";
import { statedLength } from "./mp3.js";

const RATES = [44100, 48000, 32000]; // Hz, of MPEG 1
const HALVINGS = { 3: 0, 2: 1, 0: 2 }; // of them, by the version
const KBITS = [ // by the index in the header: MPEG 1, and MPEG 2 and 2.5
  [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
];
const HEADER = 4; // bytes
const BEFORE = 4096; // bytes in front of the first frame of a file that is MP3
const MOST_ZEROS = 4096; // bytes that a file may end with
const MOST_STUFFING = 16; // zeros between two frames; more are a hole, or the rest of a frame
const MOST_FALSE = 1 << 19; // places that look like a frame and are none
const ZEROS = 1 << 14; // bytes that are looked at at a time
const ENDS = [["TAG+", 227], ["3DI", 10]]; // further tags at the end of a file, and their bytes
const APE = 32; // bytes of its header
const LYRICS = /^LYRICSBEGIN[^]*?LYRICS(200|END)/;
const MOST_LYRICS = (1 << 16) + 32; // bytes

/** Return `size` in bytes, `samples` and `form` (what does not change within a file) of the frame with this header, or null. */
export function frameOf(header) {
  const [first, second, third, fourth] = header;
  if (header.length < HEADER || first !== 0xff || (second & 0xe6) !== 0xe2 || (second & 0x18) === 0x08) return null;
  const version = (second >> 3) & 3; // 3: MPEG 1, 2: MPEG 2, 0: MPEG 2.5
  const kbits = KBITS[version === 3 ? 0 : 1][third >> 4];
  if (!kbits || (third & 0x0c) === 0x0c) return null;
  const rate = RATES[(third >> 2) & 3] >> HALVINGS[version];
  const samples = version === 3 ? 1152 : 576;
  const size = Math.floor((samples * 125 * kbits) / rate) + ((third >> 1) & 1);
  return { size, samples, form: `${version} ${rate} ${(fourth & 0xc0) === 0xc0}` };
}

/** Return where tags and zeros that begin at `at` end. */
async function behindTags(bytes, at) {
  while (at < bytes.size) {
    const before = at;
    at = await behindZeros(bytes, at);
    const head = await bytes.at(at, APE);
    const text = textOf(head);
    const end = ENDS.find(([name]) => text.startsWith(name));
    at += end ? end[1] : tagSize(head.subarray(0, 10));
    if (text.startsWith("APETAGEX") && head.length === APE) {
      at += APE + (head[23] & 0x20 ? numberOf(head.slice(12, 16).reverse()) : 0);
    }
    if (text.startsWith("LYRICSBEGIN")) at += await lyricsSize(bytes, at);
    if (at === before) return at;
  }
  return bytes.size;
}

async function lyricsSize(bytes, at) {
  const text = Array.from(await bytes.at(at, MOST_LYRICS), (code) => String.fromCharCode(code)).join("");
  return LYRICS.exec(text)?.[0].length ?? 0;
}

async function behindZeros(bytes, at) {
  for (; at < bytes.size; at += ZEROS) {
    const found = (await bytes.at(at, ZEROS)).findIndex(Boolean);
    if (found >= 0) return at + found;
  }
  return bytes.size;
}

/** Return the place of the next frame from `at` on, behind which another one follows, and before `stop`; -1 without one. */
async function nextFrame(bytes, at, stop = bytes.size) {
  for (let place = at, count = 0; count < MOST_FALSE; place++, count++) {
    place = await bytes.find("\xff", place);
    if (place < 0 || place >= stop) return -1;
    const frame = frameOf(await bytes.at(place, HEADER));
    if (frame && frameOf(await bytes.at(place + frame.size, HEADER))) return place;
  }
  return -1;
}

/**
 * Return whether an MP3 file is `damaged`: bytes between its frames are no frames, the last one is cut, one has another
 * sample rate or other channels, or there are fewer than its Info or Xing frame states. Return null for another file.
 */
export async function checkMp3(blob) {
  const bytes = new BlobBytes(blob);
  const begin = await behindTags(bytes, 0);
  const first = await nextFrame(bytes, begin, begin + BEFORE);
  if (first < 0) return null;
  const found = { count: 0, size: 0, between: false, changes: false };
  let form = null;
  let end = first;
  for (let at = first; at >= 0; ) {
    const frame = frameOf(await bytes.at(at, HEADER));
    if (!frame) {
      at = await nextFrame(bytes, at);
      const stuffed = at - end > MOST_STUFFING && (await behindZeros(bytes, end)) === at;
      found.between ||= at >= 0 && (stuffed || (await behindTags(bytes, end)) < at);
      continue;
    }
    found.changes ||= form !== null && form !== frame.form;
    form = frame.form;
    found.count++;
    found.size += frame.size;
    end = at += frame.size;
  }
  const isCut = end > bytes.size;
  if (found.between || found.changes || isCut) return { damaged: true };
  const stated = await statedLength(blob, first);
  if (stated.frames === null) {
    const zeros = (await behindZeros(bytes, end)) - end; // perhaps in place of the end
    return { damaged: first > begin || zeros > MOST_ZEROS || (await behindTags(bytes, end)) < bytes.size };
  }
  // some programs count the frame that states the length
  return { damaged: found.count - 1 < stated.frames && stated.bytes !== null && found.size < stated.bytes };
}
