/** Find the frames of AAC files (ADTS, ISO/IEC 13818-7, 6.2): Mediabunny ends at the first bytes that are none. */

import { BlobBytes, textOf } from "./blob_bytes.js";
import { HEAD as TAG_HEAD, tagSize } from "./id3.js";

const HEADER = 7; // bytes
const APE = "APETAGEX"; // another tag, at the end

/** Return the bytes of the frame with this header, 0 if it is none. */
function frameSize(header) {
  if (header.length < HEADER || header[0] !== 0xff || (header[1] & 0xf6) !== 0xf0) return 0;
  const size = ((header[3] & 3) << 11) | (header[4] << 3) | (header[5] >> 5);
  return size < HEADER ? 0 : size;
}

const isPadding = (head) => !head.some(Boolean) || textOf(head).startsWith(APE);

/**
 * Return the frames of an AAC file as a Blob, `sound`, without the tags between them, as where segments of a broadcast
 * were joined, and whether the file is `damaged`: other bytes lie between frames, or the last frame is incomplete. Return
 * null for another file.
 */
export async function adtsFrames(blob) {
  const bytes = new BlobBytes(blob);
  const headAt = (at) => bytes.at(at, TAG_HEAD);
  const follows = (head) => !head.length || frameSize(head) || tagSize(head) || isPadding(head);
  const runs = []; // of frames that follow each other: begin, end
  let damaged = false;
  let at = tagSize(await headAt(0));
  if (!frameSize(await headAt(at))) return null;
  let begin = at;
  while (at < bytes.size) {
    const head = await headAt(at);
    const end = at + frameSize(head);
    if (end > at && end <= bytes.size && follows(await headAt(end))) {
      at = end;
      continue;
    }
    if (at > begin) runs.push([begin, at]);
    const tag = tagSize(head);
    begin = tag ? at + tag : await nextPair(bytes, at + 1);
    damaged ||= !tag && (!isPadding(head) || begin < bytes.size);
    at = begin;
  }
  if (at > begin) runs.push([begin, at]);
  return { sound: new Blob(runs.map(([start, end]) => blob.slice(start, end))), damaged };
}

/** Return the place from `at` on where two frames follow each other, or the end of the file. */
async function nextPair(bytes, at) {
  for (let place = at; (place = await bytes.find("\xff", place)) >= 0; place++) {
    const size = frameSize(await bytes.at(place, HEADER));
    if (size && frameSize(await bytes.at(place + size, HEADER))) return place;
  }
  return bytes.size;
}
