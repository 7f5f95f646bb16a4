import assert from "node:assert/strict";
import test from "node:test";
import { FORMATS, FileError, WavReader, encode, wavHeader } from "../../../qse/web/audio/wav.js";

const ramp = (length, scale = 1) => Float32Array.from({ length }, (_, i) => (scale * (i - length / 2)) / length);

function file(channels, format, sampleRate = 16000) {
  const header = wavHeader({ sampleRate, channels: channels.length, frames: channels[0].length, format });
  return new Blob([header, encode(channels, format)]);
}

for (const format of Object.keys(FORMATS)) {
  test(`WavReader reads what encode writes as ${format}`, async () => {
    const channels = [ramp(1000), ramp(1000, -0.5), new Float32Array(1000)];
    const reader = await WavReader.open(file(channels, format, 44100));
    assert.deepEqual([reader.sampleRate, reader.channels, reader.frames, reader.format], [44100, 3, 1000, format]);
    const read = await reader.read(100, 5000);
    const step = format.startsWith("float") ? 0 : 2 ** (1 - 8 * FORMATS[format].bytes);
    read.forEach((samples, c) => {
      assert.equal(samples.length, 900);
      samples.forEach((sample, i) => assert.ok(Math.abs(sample - channels[c][100 + i]) <= 0.5 * step + 1e-7));
    });
  });
}

test("encode clips what is beyond full scale", async () => {
  const reader = await WavReader.open(file([Float32Array.of(2, -2, 1, -1)], "pcm16"));
  assert.deepEqual([...(await reader.read(0, 4))[0]], [32767 / 32768, -1, 32767 / 32768, -1]);
});

test("encode writes 16-bit samples back as they were read", async () => {
  const integers = Int16Array.from({ length: 65536 }, (_, i) => i - 32768);
  const blob = new Blob([wavHeader({ sampleRate: 8000, channels: 1, frames: 65536, format: "pcm16" }), integers]);
  const reader = await WavReader.open(blob);
  const again = encode(await reader.read(0, 65536), "pcm16");
  assert.deepEqual(new Int16Array(again.buffer), integers);
});

test("WavReader passes over other chunks, of odd length too", async () => {
  const content = new Uint8Array(await file([ramp(10)], "pcm16").arrayBuffer());
  const list = Uint8Array.of(76, 73, 83, 84, 3, 0, 0, 0, 1, 2, 3, 0);
  const reader = await WavReader.open(new Blob([content.slice(0, 12), list, content.slice(12)]));
  assert.equal(reader.frames, 10);
});

test("WavReader reads an open-ended file to its end", async () => {
  const content = new Uint8Array(await file([ramp(10)], "pcm16").arrayBuffer());
  content.fill(0xff, 40, 44);
  assert.equal((await WavReader.open(new Blob([content]))).frames, 10);
});

test("WavReader reads WAVE_FORMAT_EXTENSIBLE", async () => {
  const header = wavHeader({ sampleRate: 48000, channels: 2, frames: 5, format: "pcm24" });
  const format = new Uint8Array(8 + 40);
  format.set(header.slice(12, 36));
  new DataView(format.buffer).setUint32(4, 40, true);
  new DataView(format.buffer).setUint16(8, 0xfffe, true);
  new DataView(format.buffer).setUint16(32, 1, true);
  const reader = await WavReader.open(new Blob([header.slice(0, 12), format, header.slice(36), new Uint8Array(30)]));
  assert.deepEqual([reader.format, reader.frames], ["pcm24", 5]);
});

test("WavReader returns null for other files", async () => {
  assert.equal(await WavReader.open(new Blob(["fLaC, say, and more"])), null);
  assert.equal(await WavReader.open(new Blob([])), null);
  const codec = new Uint8Array(await file([ramp(10)], "pcm8").arrayBuffer());
  codec[20] = 7; // mu-law
  assert.equal(await WavReader.open(new Blob([codec])), null);
});

test("WavReader refuses a file that is cut short", async () => {
  const blob = file([ramp(1000)], "pcm16");
  await assert.rejects(WavReader.open(blob.slice(0, blob.size - 10)), FileError);
});

test("WavReader reads a long file in pieces", async () => {
  const frames = 5e8; // 2 GB of 16-bit stereo, of which no piece is ever held by more than one read
  const header = wavHeader({ sampleRate: 48000, channels: 2, frames, format: "pcm16" });
  let largest = 0;
  const blob = {
    size: header.length + 4 * frames,
    slice(start, end) {
      largest = Math.max(largest, end - start);
      const bytes = new Uint8Array(end - start);
      bytes.set(header.subarray(start, end));
      return new Blob([bytes]);
    },
  };
  const reader = await WavReader.open(blob);
  assert.equal(reader.frames, frames);
  assert.equal((await reader.read(frames - 100, 1 << 15))[0].length, 100);
  assert.ok(largest <= 4 << 15);
});

test("wavHeader writes RF64 where the length needs more than 32 bits", async () => {
  const layout = { sampleRate: 48000, channels: 2, frames: 2 ** 30, format: "float32" };
  const header = wavHeader(layout);
  assert.equal(String.fromCharCode(...header.slice(0, 4)), "RF64");
  const blob = {
    size: header.length + 2 ** 33,
    slice: (start, end) => new Blob([header.slice(start, end)]),
  };
  const reader = await WavReader.open(blob);
  assert.deepEqual([reader.frames, reader.start, reader.format], [2 ** 30, header.length, "float32"]);
});

async function joined(...parts) {
  return WavReader.open(new Blob(parts));
}

test("WavReader tells how much lies behind the samples that the header counts", async () => {
  const first = file([ramp(16000)], "pcm16");
  const second = encode([ramp(32000)], "pcm16");
  assert.equal((await joined(first)).missing, 0);
  assert.equal((await joined(first, second)).missing, 2);
  const header = Uint8Array.of(100, 97, 116, 97, 0, 250, 0, 0); // data, 64000 bytes
  assert.ok((await joined(first, header, second)).missing >= 2);
  const list = Uint8Array.of(76, 73, 83, 84, 4, 0, 0, 0, 1, 2, 3, 4);
  assert.equal((await joined(first, list, new Uint8Array(50000))).missing, 0);
  assert.equal((await joined(first, list, second)).missing, 2);
});

/** A mono file of a coding without its own writer: `tag`, `bits` and `block` as in its header. */
function plain(tag, bits, block) {
  const header = wavHeader({ sampleRate: 8000, channels: 1, frames: 300, format: "pcm8" });
  const view = new DataView(header.buffer);
  [[20, tag], [32, block], [34, bits]].forEach(([at, value]) => view.setUint16(at, value, true));
  return new Blob([header, new Uint8Array(300)]);
}

test("WavReader refuses a header whose bytes per sample contradict each other", async () => {
  for (const format of Object.keys(FORMATS)) {
    const content = new Uint8Array(await file([ramp(600)], format).arrayBuffer());
    content[22] ^= 2; // channels: 1 -> 3
    await assert.rejects(WavReader.open(new Blob([content])), /states \d and \d+ bytes for a sample of all channels/);
  }
  for (const [tag, bits] of [[1, 16], [6, 8], [7, 16]]) {
    await assert.rejects(WavReader.open(plain(tag, bits, 3)), /states 3 and [12] bytes/);
    assert.equal(await WavReader.open(plain(6, bits, 1)), null);
  }
  assert.equal(await WavReader.open(plain(0x31, 0, 65)), null); // GSM
  assert.equal(await WavReader.open(plain(1, 20, 3)), null);
});

for (const [what, values, said] of [
  ["a rate", { sampleRate: 99999989, channels: 1, frames: 100 }, /claims 99999989/],
  ["channels", { sampleRate: 16000, channels: 2000, frames: 100 }, /has 2000 channels/],
]) {
  test(`WavReader refuses ${what} that would fill the memory`, async () => {
    const bytes = new Uint8Array(values.channels * values.frames * 2);
    await assert.rejects(joined(wavHeader({ ...values, format: "pcm16" }), bytes), said);
  });
}

test("WavReader gives up a file of empty chunks soon", async () => {
  const content = new Uint8Array(200_000);
  content.set(wavHeader({ sampleRate: 16000, channels: 1, frames: 0, format: "pcm16" }).subarray(0, 12));
  let reads = 0;
  const blob = new Blob([content]);
  const counted = { size: blob.size, slice: (...place) => (reads++, blob.slice(...place)) };
  await assert.rejects(WavReader.open(counted), /holds no sound/);
  assert.ok(reads < 5000);
});
