/** Find damage in the structure of compressed files, which decoders leave out without an error. */

import { adtsFrames } from "./adts.js";
import { textOf } from "./blob_bytes.js";
import { isMatroskaDamaged } from "./matroska.js";
import { checkMp3 } from "./mp3_frames.js";
import { checkMp4 } from "./mp4_boxes.js";
import { checkOgg } from "./ogg_pages.js";

const MATROSKA = "\x1a\x45\xdf\xa3"; // how files begin
const OGG = "OggS";
const OTHERS = ["fLaC", "RIFF", "RF64", "FORM", "caff"]; // that may hold what looks like MP3
const MP4 = ["ftyp", "moov", "mdat", "wide", "pnot"]; // behind the size of the first box

const STEP = 1 << 16; // bytes that are looked at in one go

/** Return the Blob without the zeros at its end, in which a parser would look for the next element byte by byte. */
async function withoutZeros(blob) {
  for (let end = blob.size; end > 0; end -= STEP) {
    const bytes = new Uint8Array(await blob.slice(Math.max(0, end - STEP), end).arrayBuffer());
    const last = bytes.findLastIndex((byte) => byte !== 0);
    if (last >= 0) return blob.slice(0, Math.max(0, end - STEP) + last + 1);
  }
  return blob;
}

async function checkMatroska(blob) {
  const damaged = await isMatroskaDamaged(blob);
  return { damaged, sound: damaged ? await withoutZeros(blob) : blob };
}

/**
 * Return the `family` of a file, "Matroska", "MP4", "Ogg", "AAC", "MP3" or null; whether it is `damaged`; the `seconds` up to its
 * last position, in Ogg, null where they are unknown; of AAC the `sound`, a Blob of its frames alone, and of Matroska one
 * without zeros at its end; and of MP4 whether it
 * is `mixed`: only a part of its samples lies in fragments.
 */
export async function findDamage(blob) {
  const head = textOf(new Uint8Array(await blob.slice(0, 8).arrayBuffer()));
  if (head.startsWith(OGG)) return { family: "Ogg", ...(await checkOgg(blob)) };
  if (head.startsWith(MATROSKA)) return { family: "Matroska", ...(await checkMatroska(blob)), seconds: null };
  if (MP4.includes(head.slice(4))) return { family: "MP4", ...(await checkMp4(blob)), seconds: null };
  const frames = await adtsFrames(blob);
  if (frames) return { family: "AAC", ...frames, seconds: null };
  const mp3 = OTHERS.includes(head.slice(0, 4)) ? null : await checkMp3(blob);
  if (mp3) return { family: "MP3", ...mp3, seconds: null };
  return { family: null, damaged: false, seconds: null };
}
