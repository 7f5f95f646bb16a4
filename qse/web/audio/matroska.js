/** Check the elements of Matroska and WebM files: sizes, places, checksums (RFC 8794, RFC 9559). */

import { BlobBytes, numberOf } from "./blob_bytes.js";
import { matroskaChecksum } from "./checksum.js";

const HEADER = 0x1a45dfa3;
const SEGMENT = 0x18538067;
const CLUSTER = 0x1f43b675;
const TRACKS = 0x1654ae6b;
const TRACK = 0xae;
const NUMBER = 0xd7; // of a track
const CHECKSUM = 0xbf;
const EVERYWHERE = [0xec, CHECKSUM]; // Void is the other
const IN_FILE = [HEADER, SEGMENT, ...EVERYWHERE];
// information, seek head, cues, attachments, chapters, tags
const IN_SEGMENT = [0x1549a966, TRACKS, CLUSTER, 0x114d9b74, 0x1c53bb6b, 0x1941a469, 0x1043a770, 0x1254c367, ...EVERYWHERE];
const BLOCKS = [0xa3, 0xa1]; // simple, and in a group
const GROUP = 0xa0;
const IN_CLUSTER = [0xe7, 0x5854, 0xa7, 0xab, BLOCKS[0], GROUP, 0xaf, ...EVERYWHERE];
const IN_GROUP = [BLOCKS[1], 0xa2, 0x75a1, 0x9b, 0xfa, 0xfb, 0xfd, 0xa4, 0x75a2, 0x8e, 0xc8, ...EVERYWHERE];
const STEP = 1 << 20; // bytes of which a checksum is computed at a time

/** Damage was found: it need not be searched further. */
class Damage extends Error {}

function check(holds) {
  if (!holds) throw new Damage();
}

/** Return a number of one to eight bytes, `value`, and its `length`; `unknown` where all its bits are set. */
function sizeOf(bytes) {
  const length = bytes.length ? Math.clz32(bytes[0]) - 23 : 9;
  if (length > 8 || length > bytes.length) return null;
  const first = bytes[0] & ((1 << (8 - length)) - 1);
  const rest = bytes.subarray(1, length);
  const unknown = first === (1 << (8 - length)) - 1 && rest.every((byte) => byte === 255);
  return { value: first * 256 ** rest.length + numberOf(rest), length, unknown };
}

class Elements {
  constructor(blob) {
    this.bytes = new BlobBytes(blob);
    this.tracks = new Set(); // their numbers
  }

  /** Return the element at `at`: its number, where its content begins, and where it ends, null if that is not stated. */
  async element(at) {
    const head = await this.bytes.at(at, 12);
    const length = head.length ? Math.clz32(head[0]) - 23 : 5; // 1 to 4
    const size = length <= 4 ? sizeOf(head.subarray(length)) : null;
    if (!size) return null;
    const body = at + length + size.length;
    return { id: numberOf(head.subarray(0, length)), body, end: size.unknown ? null : body + size.value };
  }

  /** Return the element at `at`, which must be one of `known` and end at `end` at last. */
  async next(at, end, known) {
    const found = await this.element(at);
    check(found && known.includes(found.id) && (found.end ?? end) <= end);
    return found;
  }

  async file() {
    for (let at = 0; at < this.bytes.size; ) {
      const found = await this.element(at);
      if (!found || !IN_FILE.includes(found.id)) return; // bytes behind the end
      const end = found.end ?? this.bytes.size;
      if (found.id === SEGMENT) await this.segment(found.body, Math.min(end, this.bytes.size));
      check(end <= this.bytes.size);
      at = end;
    }
  }

  async segment(start, end) {
    for (let at = start; at < end; ) {
      const found = await this.next(at, end, IN_SEGMENT);
      at = found.end ?? end;
      if (found.id === CLUSTER) at = await this.cluster(found, end);
      else await this.checksum(found.body, at);
      if (found.id === TRACKS) await this.readTracks(found.body, at);
    }
  }

  /** Check a cluster and its blocks; return where it ends. */
  async cluster({ body, end: stated }, limit) {
    const end = stated ?? limit;
    const known = stated === null ? [...IN_CLUSTER, ...IN_SEGMENT] : IN_CLUSTER;
    for (let at = body; at < end; ) {
      const found = await this.next(at, end, known);
      if (!IN_CLUSTER.includes(found.id)) return at;
      at = found.end ?? end;
      if (found.id === GROUP) await this.group(found.body, at);
      if (found.id === BLOCKS[0]) await this.block(found.body);
    }
    if (stated !== null) await this.checksum(body, end);
    return end;
  }

  async group(start, end) {
    for (let at = start; at < end; ) {
      const found = await this.next(at, end, IN_GROUP);
      if (found.id === BLOCKS[1]) await this.block(found.body);
      at = found.end ?? end;
    }
  }

  async block(at) {
    const track = sizeOf(await this.bytes.at(at, 8));
    check(track && (!this.tracks.size || this.tracks.has(track.value)));
  }

  async readTracks(start, end) {
    for await (const entry of this.among(start, end)) {
      if (entry.id !== TRACK) continue;
      for await (const { id, body, end: last } of this.among(entry.body, entry.end)) {
        if (id === NUMBER) this.tracks.add(numberOf(await this.bytes.at(body, last - body)));
      }
    }
  }

  async *among(start, end) {
    for (let at = start; at < end; ) {
      const found = await this.element(at);
      if (!found || found.end === null || found.end > end) return;
      yield found;
      at = found.end;
    }
  }

  /** Compare the checksum with which the content of an element begins, if it does. */
  async checksum(start, end) {
    const found = await this.element(start);
    if (found?.id !== CHECKSUM || found.end !== found.body + 4) return;
    const stated = numberOf((await this.bytes.at(found.body, 4)).slice().reverse());
    let value = 0;
    for (let at = found.end; at < end; at += STEP) {
      value = matroskaChecksum(await this.bytes.at(at, Math.min(STEP, end - at)), value);
    }
    check(value === stated);
  }
}

/** Return whether a Matroska or WebM file is damaged or cut. */
export async function isMatroskaDamaged(blob) {
  try {
    await new Elements(blob).file();
    return false;
  } catch (error) {
    if (error instanceof Damage) return true;
    throw error;
  }
}
