import assert from "node:assert/strict";
import test from "node:test";
import { findDamage } from "../../../qse/web/audio/damage.js";

const bytes = (text) => Uint8Array.from(text, (sign) => sign.charCodeAt(0));
const joined = (...parts) => new Uint8Array(parts.flatMap((part) => [...part]));
const hex = (text) => Uint8Array.from(text.match(/../g), (byte) => parseInt(byte, 16));
const damaged = async (...parts) => (await findDamage(new Blob(parts))).damaged;

/** A box of MP4, or, by 1 in its first four bytes, with a size of eight bytes. */
function box(kind, count, large = false) {
  const content = new Uint8Array(count);
  if (!large) return joined([0, 0, (count + 8) >> 8, (count + 8) & 255], bytes(kind), content);
  return joined([0, 0, 0, 1], bytes(kind), [0, 0, 0, 0, 0, 0, (count + 16) >> 8, (count + 16) & 255], content);
}

test("findDamage sees whether MP4 ends within a box", async () => {
  for (const large of [false, true]) {
    const file = joined(box("ftyp", 20), box("moov", 100), box("mdat", 600, large));
    assert.equal(await damaged(file), false);
    assert.equal(await damaged(file, bytes("TAGbehind its end")), false);
    assert.equal(await damaged(file.subarray(0, 300)), true);
    assert.equal(await damaged(file.subarray(0, 200), file.subarray(210)), true);
  }
  const open = joined(box("ftyp", 20), box("moov", 100), [0, 0, 0, 0], bytes("mdat"), new Uint8Array(90));
  assert.equal(await damaged(open), false);
});

test("findDamage sees bytes that are missing between the fragments of MP4", async () => {
  const file = joined(box("ftyp", 20), box("moov", 100), ...Array(3).fill([...box("moof", 50).fill(7, 8), ...box("mdat", 300).fill(7, 8)]));
  assert.equal(await damaged(file), false);
  assert.equal(await damaged(file.subarray(0, 400), file.subarray(420)), true);
});

test("findDamage sees samples of MP4 that lie before its fragments", async () => {
  const fragment = joined(box("moof", 50), box("mdat", 300));
  const mixed = async (...parts) => (await findDamage(new Blob([joined(box("ftyp", 20), box("moov", 100), ...parts)]))).mixed;
  assert.equal(await mixed(box("mdat", 300)), false);
  assert.equal(await mixed(fragment, fragment), false);
  assert.equal(await mixed(box("mdat", 300), fragment), true);
});

/** An element of Matroska whose size has four bytes, or is unknown. */
function element(number, content, known = true) {
  const size = content.length;
  return joined(hex(number), known ? [0x10, size >> 16, (size >> 8) & 255, size & 255] : [0xff], content);
}

const block = element("a3", joined([0x81, 0, 0, 0x80], new Uint8Array(40)));
const tracks = element("1654ae6b", element("ae", element("d7", [1])));
const header = element("1a45dfa3", element("4282", bytes("webm")));
const cluster = (known, ...children) => element("1f43b675", joined(element("e7", [0]), ...children), known);

test("findDamage sees what is no element of Matroska", async () => {
  for (const known of [true, false]) {
    const file = joined(header, element("18538067", joined(tracks, ...Array(3).fill(cluster(known, block, block))), known));
    assert.equal(await damaged(file), false);
    assert.equal(await damaged(file.subarray(0, -20)), true);
    assert.equal(await damaged(file.subarray(0, 150), file.subarray(154)), true);
    const other = file.slice();
    other[file.length - 44] = 0x85; // the track of the last block
    assert.equal(await damaged(other), true);
  }
});

// by zlib
test("findDamage compares the checksums of Matroska", async () => {
  const content = joined(element("e7", [0]), block);
  const sum = (value) => element("1f43b675", joined(hex(`bf84${value}`), content));
  assert.equal(await damaged(header, element("18538067", joined(tracks, sum("c5310258")))), false);
  assert.equal(await damaged(header, element("18538067", joined(tracks, sum("00000000")))), true);
});

// a page of ffmpeg
const first = hex("4f676753000200000000000000005eec465800000000d911bd0801134f707573486561640101380180bb0000000000");

test("findDamage checks the pages of Ogg", async () => {
  assert.deepEqual(await findDamage(new Blob([first])), { family: "Ogg", damaged: false, seconds: 0 });
  const other = first.slice();
  other[40] ^= 1;
  assert.equal(await damaged(first, other), true);
  assert.equal(await damaged(first, first.subarray(0, 40)), true);
  assert.equal(await damaged(first, bytes("no page")), true);
  assert.equal(await damaged(first, new Uint8Array(100)), false);
});

const frame = joined(hex("fff15c40053ffc"), new Uint8Array(34).fill(255)); // 41 bytes of AAC
const tag = joined(bytes("ID3\x04\0\0\0\0\x01\x02"), new Uint8Array(130).fill(255));

test("findDamage takes the frames of AAC alone", async () => {
  const frames = joined(frame, frame, frame);
  const found = async (...parts) => {
    const { damaged, sound } = await findDamage(new Blob(parts));
    return [damaged, sound.size / frame.length];
  };
  assert.deepEqual(await found(frames), [false, 3]);
  assert.deepEqual(await found(tag, frames, tag, frames, new Uint8Array(99)), [false, 6]);
  assert.deepEqual(await found(frames, bytes("APETAGEX, and more")), [false, 3]);
  assert.deepEqual(await found(frames, frame.subarray(0, 20)), [true, 3]);
  assert.deepEqual(await found(frames, new Uint8Array(99), frames), [true, 6]);
  assert.deepEqual(await found(frames, frame.subarray(0, 20), frames), [true, 6]);
});

test("findDamage leaves out other kinds", async () => {
  for (const content of ["", "fLaC", "ID3\x04", "RIFF\0\0\0\0WAVE"]) {
    assert.deepEqual(await findDamage(new Blob([bytes(content)])), { family: null, damaged: false, seconds: null });
  }
});

/** Frames of MP3 at 44.1 kHz and 128 kbit/s, stereo. */
const mp3 = (count) => joined(...Array(count).fill(joined([0xff, 0xfb, 0x90, 0], new Uint8Array(413).fill(5))));

/** The first frame of a file that states `frames` behind it, and the bytes of them and this one. */
function infoFrame(frames) {
  const frame = mp3(1);
  const size = 417 * (frames + 1);
  frame.set(joined(bytes("Info"), [0, 0, 0, 3, 0, 0, 0, frames, 0, 0, size >> 8, size & 255]), 36);
  return frame;
}

test("findDamage sees what is no frame of MP3, where no length is stated", async () => {
  const file = mp3(10);
  const tags = [bytes("ID3\x04\0\0\0\0\0\x05title"), joined(bytes("TAG"), new Uint8Array(125))];
  assert.deepEqual(await findDamage(new Blob([file])), { family: "MP3", damaged: false, seconds: null });
  const lyrics = bytes("LYRICSBEGININDword LYRICS200");
  const ape = joined(bytes("APETAGEX"), new Uint8Array(24));
  for (const intact of [[tags[0], file, tags[1]], [file, new Uint8Array(4000)], [file, tags[0], file], [file, lyrics, ape]]) {
    assert.equal(await damaged(...intact), false);
  }
  for (const [begin, end] of [[1000, 1300], [0, 9], [4000, 4170]]) {
    assert.equal(await damaged(file.subarray(0, begin), file.subarray(end)), true);
  }
  assert.equal(await damaged(file.subarray(0, 1000), new Uint8Array(1000), file.subarray(2000)), true);
  assert.equal(await damaged(file, bytes("no tag")), true);
  assert.equal(await damaged(file.subarray(0, 2000), new Uint8Array(9999)), true);
  assert.equal(await damaged(file, new Uint8Array(9999)), true);
  const other = file.slice();
  other[417 * 4 + 3] = 0xc0; // mono
  assert.equal(await damaged(other), true);
  assert.equal((await findDamage(new Blob([new Uint8Array(999).fill(0xff)]))).family, null);
});

test("findDamage counts the frames of MP3 where their number is stated", async () => {
  for (const there of [10, 11]) {
    assert.equal(await damaged(infoFrame(10), mp3(there)), false);
    assert.equal(await damaged(infoFrame(10), mp3(there), bytes("no tag")), false);
  }
  assert.equal(await damaged(infoFrame(10), mp3(9)), true);
  const flipped = mp3(11);
  flipped[417 * 5] ^= 1;
  assert.equal(await damaged(infoFrame(10), flipped), true);
  assert.equal(await damaged(infoFrame(10), mp3(11).subarray(0, -9)), true);
  const again = infoFrame(10); // of a file whose download was begun again; the rest of this frame is zeros, as LAME's is
  again.fill(0, 60);
  assert.equal(await damaged(infoFrame(10), mp3(10), again, mp3(10)), false);
  assert.equal(await damaged(infoFrame(10), mp3(9), mp3(1).subarray(0, 200), again, mp3(10)), true);
});
