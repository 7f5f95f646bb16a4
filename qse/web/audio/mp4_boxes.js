/** Check the boxes of MP4 and QuickTime files: whether the last one is complete, and where fragments begin. */

import { BlobBytes, numberOf, textOf } from "./blob_bytes.js";

const KINDS = "ftyp styp moov moof mdat free skip wide uuid sidx ssix mfra meta pnot udta emsg prft".split(" ");
const HEAD = 8; // bytes of size and name

/**
 * Return whether the file is `damaged`, because it ends within one of its outer boxes or has bytes between fragments that
 * are none, and whether it is `mixed`: samples lie before the first fragment, beside which Mediabunny reads no fragments.
 */
export async function checkMp4(blob) {
  const bytes = new BlobBytes(blob);
  const kinds = new Set();
  let mixed = false;
  for (let at = 0; at + HEAD <= bytes.size; ) {
    const head = await bytes.at(at, 16);
    const kind = textOf(head.subarray(4, 8));
    const stated = numberOf(head.subarray(0, 4));
    const size = stated === 1 ? numberOf(head.subarray(8, 16)) : stated || bytes.size - at; // 0: up to the end
    if (!KINDS.includes(kind) || size < HEAD) return { damaged: kinds.has("moof") && head.some(Boolean), mixed };
    if (at + size > bytes.size) return { damaged: true, mixed };
    mixed ||= kind === "moof" && kinds.has("mdat") && !kinds.has("moof");
    kinds.add(kind);
    at += size;
  }
  return { damaged: false, mixed };
}
