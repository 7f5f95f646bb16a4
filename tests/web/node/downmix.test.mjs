import assert from "node:assert/strict";
import test from "node:test";
import "../../../qse/web/live/downmix.js";

const RATE = 48000;
const QUANTUM = 128;

/** Noise that is equal in every run: a linear congruential generator. */
function noise(length) {
  let state = 1;
  return Float32Array.from({ length }, () => {
    state = (state * 1664525 + 1013904223) % 2 ** 32;
    return state / 2 ** 32 - 0.5;
  });
}

/** Return what is heard of channels. */
function heard(downmix, channels) {
  const mono = new Float32Array(channels[0].length);
  for (let start = 0; start < mono.length; start += QUANTUM) {
    const parts = channels.map((samples) => samples.subarray(start, start + QUANTUM));
    downmix.process(parts, mono.subarray(start, start + QUANTUM));
  }
  return mono;
}

const power = (samples) => samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length;
const decibels = (samples, other) => 10 * Math.log10(power(samples) / power(other));

for (const [gains, reason] of [
  [[1, -1], "only 1: mixed, they would cancel"],
  [[0.5, -1], "only 2: mixed, they would cancel"],
  [[1, 0], "without 2, where nothing is heard"],
  [[0.003, 1], "without 1, where nothing is heard"],
  [[1, -1, 0], "only 1: mixed, they would cancel"],
  [[1, 1], ""],
]) {
  test(`Downmix keeps the level of the loudest channel: ${gains}`, () => {
    const voice = noise(RATE);
    const downmix = new Downmix(RATE);
    const mono = heard(downmix, gains.map((gain) => voice.map((sample) => gain * sample)));
    assert.ok(Math.abs(decibels(mono.subarray(QUANTUM), voice.subarray(QUANTUM))) < 0.1);
    assert.equal(downmix.reason, reason);
  });
}

test("Downmix averages independent channels", () => {
  const [left, right] = [noise(RATE), noise(2 * RATE).subarray(RATE)];
  const downmix = new Downmix(RATE);
  const mono = heard(downmix, [left, right]);
  assert.ok(mono.every((sample, i) => Math.abs(sample - (left[i] + right[i]) / 2) < 1e-6));
  assert.equal(downmix.reason, "");
});

test("Downmix takes the channel that is named", () => {
  const [left, right] = [noise(RATE), noise(2 * RATE).subarray(RATE)];
  const downmix = new Downmix(RATE, 2);
  assert.deepEqual(heard(downmix, [left, right]), right);
  assert.equal(downmix.reason, "only 2 of 2, as chosen");
  assert.deepEqual(heard(downmix, [left]), new Float32Array(RATE));
});
