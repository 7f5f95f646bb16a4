/** Read the sizes of the tags that stand before, behind and between the frames of MP3 and AAC files. */

import { textOf } from "./blob_bytes.js";

export const HEAD = 10; // bytes of an ID3v2 tag that state its size
const ID3V1 = 128; // bytes

/** Return the bytes of the ID3 tag that begins with `head` (HEAD bytes), 0 if none does. */
export function tagSize(head) {
  const name = textOf(head.subarray(0, 3));
  if (name === "TAG") return ID3V1;
  if (head.length < HEAD || name !== "ID3" || head.subarray(6, 10).some((byte) => byte > 127)) return 0;
  const footer = head[3] === 4 && head[5] & 0x10 ? HEAD : 0;
  return head.subarray(6, 10).reduce((sum, byte) => (sum << 7) | byte, 0) + HEAD + footer;
}
