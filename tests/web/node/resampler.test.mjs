import assert from "node:assert/strict";
import test from "node:test";
import { QUALITY, Resampler } from "../../../qse/web/audio/resampler.js";

const sine = (rate, hertz, count) => Float32Array.from({ length: count }, (_, i) => Math.sin((2 * Math.PI * hertz * i) / rate));

function convert(samples, from, to, quality, block = samples.length) {
  const resampler = new Resampler(from, to, quality);
  const parts = [];
  for (let start = 0; start < samples.length; start += block) {
    parts.push(...resampler.process(samples.subarray(start, start + block)));
  }
  parts.push(...resampler.finish());
  return Float32Array.from(parts);
}

/** RMS of the difference in dB re RMS of a full-scale sine, without the ends. */
function difference(found, wanted) {
  let sum = 0;
  const edge = Math.floor(found.length / 8);
  for (let i = edge; i < found.length - edge; i++) sum += (found[i] - wanted[i]) ** 2;
  return 10 * Math.log10((2 * sum) / (found.length - 2 * edge) + 1e-20);
}

for (const [name, quality, least, pass] of [["file", QUALITY.file, -95, 0.9], ["live", QUALITY.live, -70, 0.75]]) {
  for (const [from, to] of [[44100, 16000], [48000, 16000], [16000, 48000], [16000, 44100], [8000, 16000], [44101, 16000], [96000, 16000]]) {
    const nyquist = Math.min(from, to) / 2;
    test(`Resampler keeps the band and the time, ${name}, ${from} to ${to}`, () => {
      for (const share of [0.05, 0.4, pass]) {
        const hertz = share * nyquist;
        const found = convert(sine(from, hertz, from / 4), from, to, quality);
        assert.equal(found.length, Math.ceil((Math.floor(from / 4) * to) / from));
        assert.ok(difference(found, sine(to, hertz, found.length)) < least, `${share}`);
      }
    });
    if (to < from) {
      test(`Resampler removes what would alias, ${name}, ${from} to ${to}`, () => {
        const found = convert(sine(from, nyquist * (1 + 1.2 * (1 - pass)), from / 4), from, to, quality);
        assert.ok(difference(found, new Float32Array(found.length)) < least + 5);
      });
    }
  }
}

test("Resampler output does not depend on the blocks", () => {
  const samples = sine(44100, 1000, 5000);
  const atOnce = convert(samples, 44100, 16000, QUALITY.file);
  for (const block of [1, 7, 128, 441]) assert.deepEqual(convert(samples, 44100, 16000, QUALITY.file, block), atOnce);
});

test("Resampler passes samples on where the rates are equal", () => {
  const samples = sine(16000, 440, 1000);
  assert.deepEqual(convert(samples, 16000, 16000, QUALITY.file, 300), samples);
});

test("Resamplers of one kind share a table, and nothing else", () => {
  const first = new Resampler(44100, 16000);
  const second = new Resampler(44100, 16000, QUALITY.file, first);
  assert.equal(second.table, first.table);
  const samples = sine(44100, 440, 4410);
  first.process(samples);
  assert.deepEqual(second.process(samples), new Resampler(44100, 16000).process(samples));
});
