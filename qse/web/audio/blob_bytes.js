/** Read a Blob in pieces, at any place: for what walks through the structure of a file. */

const PIECE = 1 << 20; // bytes that are read at least
const WINDOW = 1 << 14; // bytes that are searched at a time

export class BlobBytes {
  constructor(blob) {
    this.blob = blob;
    this.size = blob.size;
    this.start = 0; // place of the piece that is held
    this.piece = new Uint8Array(0);
  }

  /** Return `length` bytes from `at` on, fewer at the end of the Blob. */
  async at(at, length) {
    const end = Math.min(this.size, at + length);
    if (at >= end) return new Uint8Array(0);
    if (at < this.start || end > this.start + this.piece.length) {
      this.start = at;
      this.piece = new Uint8Array(await this.blob.slice(at, Math.max(end, at + PIECE)).arrayBuffer());
    }
    return this.piece.subarray(at - this.start, end - this.start);
  }

  /** Return the place of the next `text` (ASCII) from `at` on, -1 if there is none. */
  async find(text, at) {
    const codes = Array.from(text, (sign) => sign.charCodeAt(0));
    for (let place = at; place < this.size; place += WINDOW) {
      const bytes = await this.at(place, WINDOW + codes.length - 1);
      for (let found = bytes.indexOf(codes[0]); found >= 0; found = bytes.indexOf(codes[0], found + 1)) {
        if (codes.every((code, index) => bytes[found + index] === code)) return place + found;
      }
    }
    return -1;
  }
}

/** Return the text (ASCII) of some bytes. */
export function textOf(bytes) {
  return String.fromCharCode(...bytes);
}

/** Return the number that some bytes say, the highest first; above 2^53 it is rounded. */
export function numberOf(bytes) {
  return bytes.reduce((value, byte) => value * 256 + byte, 0);
}
