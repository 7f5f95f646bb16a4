/** Checksums of containers: CRC-32 of Matroska, as in zlib, and of Ogg, the highest bit first. */

const MATROSKA = new Uint32Array(256);
const OGG = new Uint32Array(256);
for (let byte = 0; byte < 256; byte++) {
  let low = byte;
  let high = byte << 24;
  for (let bit = 0; bit < 8; bit++) {
    low = low & 1 ? (low >>> 1) ^ 0xedb88320 : low >>> 1;
    high = high < 0 ? (high << 1) ^ 0x04c11db7 : high << 1;
  }
  MATROSKA[byte] = low;
  OGG[byte] = high;
}

/** Return the checksum of Matroska of bytes behind others with the checksum `before`. */
export function matroskaChecksum(bytes, before = 0) {
  let value = ~before;
  for (let at = 0; at < bytes.length; at++) value = MATROSKA[(value ^ bytes[at]) & 255] ^ (value >>> 8);
  return ~value >>> 0;
}

/** Return the checksum of a page of Ogg, of which the four bytes that hold it count as zeros. */
export function oggChecksum(page) {
  let value = 0;
  for (let at = 0; at < page.length; at++) {
    const byte = at >= 22 && at < 26 ? 0 : page[at];
    value = OGG[(value >>> 24) ^ byte] ^ (value << 8);
  }
  return value >>> 0;
}
