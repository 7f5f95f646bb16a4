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
  const codec = new Uint8Array(await file([ramp(10)], "pcm16").arrayBuffer());
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
