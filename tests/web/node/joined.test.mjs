import assert from "node:assert/strict";
import test from "node:test";
import { isJoined } from "../../../qse/web/audio/joined.js";

const bytes = (text) => Uint8Array.from(text, (sign) => sign.charCodeAt(0));
const page = (flags) => bytes(`OggS\0${String.fromCharCode(flags)}${"\0".repeat(60)}`);
const sound = new Uint8Array((1 << 20) - 67); // so that what follows crosses pieces

test("isJoined finds a second file", async () => {
  const flac = [bytes("fLaC\0\0\0\x22"), sound, sound, new Uint8Array(120)];
  const mp4 = [bytes("\0\0\0\x1cftypM4A "), sound];
  const ogg = [page(2), page(2), page(0), sound, page(0), page(4)];
  for (const file of [flac, mp4, ogg]) {
    assert.equal(await isJoined(new Blob(file)), false);
    assert.equal(await isJoined(new Blob([...file, ...file])), true);
  }
});

test("isJoined leaves out kinds that are read to their end", async () => {
  const mp3 = [bytes("\xff\xfb\x90\0"), new Uint8Array(500)];
  assert.equal(await isJoined(new Blob([...mp3, ...mp3])), false);
  assert.equal(await isJoined(new Blob([])), false);
});
