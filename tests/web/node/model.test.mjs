import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { enhance } from "../../../qse/web/model/enhance.js";
import { readMetadata } from "../../../qse/web/model/metadata.js";
import { ModelStream, keptShare, mix } from "../../../qse/web/model/model_stream.js";
import { AlternatingSession, TwoGridSession } from "../../../qse/web/model/two_grids.js";

const HOP = 200;
const LATENCY = 120;

class DelaySession {
  state = new Float32Array(LATENCY);
  step(hop) {
    const both = Float32Array.of(...this.state, ...hop);
    this.state = both.slice(HOP);
    return both.slice(0, HOP);
  }
  reset() {
    this.state.fill(0);
  }
  close() {}
}

/** An engine that only delays. */
const delay = {
  sampleRate: 16000,
  hopLength: HOP,
  latency: LATENCY,
  session: () => new DelaySession(),
};

const noise = (length) => Float32Array.from({ length }, (_, i) => ((i * 7919 + ((i * i) % 104729)) % 1000) / 1000 - 0.5);

function reader(channels, sampleRate) {
  const read = async (start, count) => channels.map((samples) => samples.slice(start, start + count));
  return { sampleRate, channels: channels.length, frames: channels[0].length, read };
}

async function enhanced(channels, sampleRate) {
  const parts = channels.map(() => []);
  for await (const block of enhance(reader(channels, sampleRate), delay)) {
    block.forEach((samples, channel) => parts[channel].push(...samples));
  }
  return parts.map((part) => Float32Array.from(part));
}

test("readMetadata reads what the exporter wrote", () => {
  for (const [name, hop, lag] of [["live-tiny", "200", "120"], ["live-base", "200", "120"], ["live-large", "200", "120"]]) {
    const bytes = new Uint8Array(readFileSync(new URL(`../../../models/${name}/model.onnx`, import.meta.url)));
    const { sample_rate, hop_length, latency, ...rest } = readMetadata(bytes);
    assert.deepEqual([rest.name, sample_rate, hop_length, latency], [name, "16000", hop, lag]);
    assert.throws(() => readMetadata(bytes.subarray(0, bytes.length - 3)), /ends early/);
  }
});

test("two grids give the mean of a run on the signal and of one on the signal that comes later", async () => {
  const shift = 75;
  const squares = { step: (hop) => hop.map((sample, i) => sample * i), reset: () => {}, close: () => {} };
  const session = new TwoGridSession(squares, squares, shift, HOP);
  const signal = noise(3 * HOP);
  const late = (samples) => Float32Array.of(...new Float32Array(shift), ...samples).subarray(0, samples.length);
  const alone = (samples) => samples.map((sample, i) => sample * (i % HOP));
  const [first, second] = [late(alone(signal)), alone(late(signal))];
  const found = [];
  for (let at = 0; at < signal.length; at += HOP) found.push(...(await session.step(signal.subarray(at, at + HOP))));
  assert.deepEqual(found, Array.from(first, (sample, i) => Math.fround(sample + second[i]) / 2));
  session.reset();
  assert.deepEqual([...(await session.step(signal.subarray(0, HOP)))], found.slice(0, HOP));
});

test("grids half a hop apart take turns", async () => {
  const half = HOP / 2;
  const squares = { step: (hop) => hop.map((sample, i) => sample * i), reset: () => {}, close: () => {} };
  const session = new AlternatingSession(squares, squares, HOP);
  const signal = noise(4 * HOP);
  const late = Float32Array.of(...new Float32Array(half), ...signal, ...new Float32Array(half));
  const alone = (samples) => samples.map((sample, i) => sample * (i % HOP));
  const [first, second] = [alone(late), Float32Array.of(...new Float32Array(half), ...alone(signal))];
  const found = [];
  for (let at = 0; at < signal.length; at += half) found.push(...(await session.step(signal.subarray(at, at + half))));
  assert.deepEqual(found, Array.from(signal, (_, i) => Math.fround(first[i] + second[i]) / 2));
  session.reset();
  assert.deepEqual([...(await session.step(signal.subarray(0, half)))], found.slice(0, half));
});

test("readMetadata refuses what is no protobuf", () => {
  assert.throws(() => readMetadata(Uint8Array.of(0x0f, 1, 2, 3)), /no ONNX file/);
});

test("enhance returns the length and the moments of the recording", async () => {
  for (const length of [1, 119, 200, 32768, 40001]) {
    const channels = [noise(length), noise(length).reverse()];
    assert.deepEqual(await enhanced(channels, 16000), channels);
  }
});

test("enhance is aligned at other rates", async () => {
  for (const rate of [8000, 44100, 48000]) {
    const tone = Float32Array.from({ length: rate }, (_, i) => Math.sin((2 * Math.PI * 1000 * i) / rate) * Math.sin((Math.PI * i) / rate));
    const [found] = await enhanced([tone], rate);
    assert.equal(found.length, tone.length);
    found.forEach((sample, i) => assert.ok(Math.abs(sample - tone[i]) < 2e-4, `${rate}: ${i}`));
  }
});

test("ModelStream replaces what is not finite by silence", async () => {
  let resets = 0;
  const session = { step: (hop) => (hop[0] === 1 ? hop.map(() => NaN) : hop.slice()), reset: () => resets++ };
  const stream = new ModelStream({ ...delay, session: () => session });
  const hops = [0.5, 1, 0.25, NaN].map((value) => new Float32Array(HOP).fill(value));
  const output = [];
  for (const hop of hops) output.push((await stream.process(hop))[0]);
  assert.deepEqual(output, [0.5, 0, 0.25, 0]);
  assert.deepEqual([stream.resets, resets], [1, 1]);
});

test("ModelStream mixes the noisy signal of the same moment", async () => {
  const noisy = noise(2000);
  const stream = new ModelStream({ ...delay, session: () => ({ step: () => new Float32Array(HOP) }) });
  const output = await stream.process(noisy, () => 1);
  assert.deepEqual(output.slice(LATENCY), noisy.slice(0, 2000 - LATENCY));
});

test("mix and keptShare follow the attenuation limit", () => {
  assert.equal(keptShare(null), 0);
  assert.equal(keptShare(0), 1);
  assert.equal(keptShare(20), Math.fround(0.1));
  assert.deepEqual(mix(Float32Array.of(1), Float32Array.of(0), 0.25), Float32Array.of(0.75));
});
