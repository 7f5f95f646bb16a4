/** Check the pages of Ogg files: checksums, numbers, places (RFC 3533). Decoders leave out damaged ones. */

import { BlobBytes, textOf } from "./blob_bytes.js";
import { oggChecksum } from "./checksum.js";

const MARK = "OggS";
const HEADER = 27; // bytes of a page before the lengths of its segments
const BEGINS = 2; // flag of a page
const OPUS_RATE = 48000; // Hz, of all positions
const FAR = 16; // seconds: the longest page; a recorder that joins a broadcast begins behind it
const MOST_CHECKED = 1 << 20; // bytes beside the size of the file

/** Return the bytes of the page that begins at `at`, 0 if none does. */
async function sizeAt(bytes, at) {
  const head = await bytes.at(at, HEADER + 255);
  if (head.length < HEADER || textOf(head.subarray(0, 4)) !== MARK) return 0;
  return head.subarray(HEADER, HEADER + head[26]).reduce((sum, length) => sum + length, HEADER + head[26]);
}

/** Return samples per second of the positions, and how many are left out at the beginning, by the first packet. */
function rateOf(packet) {
  const view = new DataView(packet.buffer, packet.byteOffset, packet.byteLength);
  if (packet.length > 15 && textOf(packet.subarray(0, 7)) === "\x01vorbis") return { rate: view.getUint32(12, true), skipped: 0 };
  if (packet.length > 11 && textOf(packet.subarray(0, 8)) === "OpusHead") return { rate: OPUS_RATE, skipped: view.getUint16(10, true) };
  return { rate: 0, skipped: 0 };
}

/** The pages of a file so far. */
class Pages {
  constructor() {
    this.streams = new Map(); // by their serial number
    this.damaged = false;
    this.losses = 0; // damaged pages: streams and numbers of what they held are unknown
  }

  /** Take the next page, which is intact. */
  follow(page) {
    const view = new DataView(page.buffer, page.byteOffset, page.byteLength);
    const serial = view.getUint32(14, true);
    const number = view.getUint32(18, true);
    const begins = Boolean(page[5] & BEGINS);
    if (!this.streams.has(serial)) this.streams.set(serial, { first: null, position: 0, rate: 0, skipped: 0, losses: this.losses });
    const stream = this.streams.get(serial);
    if (begins) Object.assign(stream, rateOf(page.subarray(HEADER + page[26])));
    else if (stream.losses === this.losses && stream.next !== undefined && stream.next !== number) this.damaged = true;
    stream.next = number + 1;
    stream.losses = this.losses;
    const position = Number(view.getBigInt64(6, true));
    if (position > 0) stream.position = position; // a packet ends on this page
    if (position > 0) stream.first ??= position;
  }

  /** Seconds up to the position on the last page; null where the file has not exactly one stream of sound. */
  get seconds() {
    const [sound, ...others] = [...this.streams.values()].filter(({ rate }) => rate);
    if (!sound || others.length) return null;
    const begin = sound.first > FAR * sound.rate ? sound.first : sound.skipped;
    return Math.max(0, sound.position - begin) / sound.rate;
  }
}

/**
 * Return of an Ogg file whether it is `damaged`, and the `seconds` up to its last position (about a page too few where it
 * does not begin at 0), null if they are unknown.
 */
export async function checkOgg(blob) {
  const bytes = new BlobBytes(blob);
  const pages = new Pages();
  let checked = 0; // bytes of pages that are none
  for (let at = 0; at >= 0 && at < bytes.size; ) {
    const size = await sizeAt(bytes, at);
    const page = await bytes.at(at, size || HEADER);
    const stated = size ? new DataView(page.buffer, page.byteOffset).getUint32(22, true) : 0;
    if (size && page.length === size && oggChecksum(page) === stated) {
      pages.follow(page);
      at += size;
      continue;
    }
    if (size) {
      pages.damaged = true;
      pages.losses++;
      checked += size;
      if (checked > MOST_CHECKED + bytes.size) break; // more than pages that are damaged can have
    } else if (pages.streams.size && page.some(Boolean)) {
      pages.damaged = true; // bytes that belong to no page
    }
    at = await bytes.find(MARK, at + 1);
  }
  return { damaged: pages.damaged, seconds: pages.seconds };
}
