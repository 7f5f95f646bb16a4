import assert from "node:assert/strict";
import test from "node:test";
import { encoderDelay } from "../../../qse/web/audio/mp3.js";

/** A first frame with the tag `name` at `at`, which says `delay`, `padding` and 10 frames; `flags` as in the tag. */
function frame(name, at, flags, delay, padding) {
  const bytes = new Uint8Array(600);
  bytes.set([0xff, 0xfb, 0x90, 0]);
  bytes.set(new TextEncoder().encode(name), at);
  bytes[at + 7] = flags;
  if (flags & 1) bytes[at + 11] = 10;
  const optional = [4, 4, 100, 4].reduce((sum, size, bit) => sum + (flags & (1 << bit) ? size : 0), 0);
  const value = (delay << 12) | padding;
  bytes.set([value >> 16, (value >> 8) & 255, value & 255], at + 8 + optional + 21);
  return bytes;
}

test("encoderDelay reads the tags of each layout", async () => {
  for (const [name, at, flags] of [["Info", 36, 15], ["Xing", 21, 15], ["Xing", 13, 3], ["Info", 36, 0]]) {
    const frames = flags & 1 ? 11520 - 1332 : null;
    assert.deepEqual(await encoderDelay(new Blob([frame(name, at, flags, 576, 756)])), { start: 1105, total: 1332, frames });
  }
});

test("encoderDelay passes over an ID3 tag of any size", async () => {
  const size = 300000;
  const tag = new Uint8Array(10 + size);
  tag.set([0x49, 0x44, 0x33, 4, 0, 0, 0, (size >> 14) & 127, (size >> 7) & 127, size & 127]);
  assert.equal((await encoderDelay(new Blob([tag, frame("Info", 36, 15, 1105, 0)]))).start, 1634);
});

test("encoderDelay is zero without a tag", async () => {
  for (const content of [frame("Info", 36, 15, 0, 0), frame("none", 36, 15, 9, 9), new Uint8Array(3), new Uint8Array()]) {
    assert.deepEqual(await encoderDelay(new Blob([content])), { start: 0, total: 0, frames: null });
  }
});
