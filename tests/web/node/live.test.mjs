import assert from "node:assert/strict";
import test from "node:test";
import { LevelMeter, TimeMeter } from "../../../qse/web/live/meters.js";
import "../../../qse/web/live/downmix.js";
import "../../../qse/web/live/ring.js";

const RATE = 48000;
const QUANTUM = 128;
let Processor = null;

globalThis.sampleRate = RATE;
globalThis.AudioWorkletProcessor = class {
  constructor() {
    this.port = { sent: [], postMessage: (message) => this.port.sent.push(message) };
  }
};
globalThis.registerProcessor = (_, processor) => (Processor = processor);
await import("../../../qse/web/live/worklet.js");

/** An audio thread over shared rings, and the worker's side of the rings. */
function start({ target = 512, limit = 4096, shared = true } = {}) {
  const rings = { input: Ring.memory(1 << 13, shared), output: Ring.memory(1 << 13, shared) };
  const processor = new Processor({ processorOptions: { rings, target, limit, capacity: 1 << 15, batch: 600, channel: null, tap: false } });
  return { processor, toWorker: new Ring(rings.input), fromWorker: new Ring(rings.output) };
}

const LOUD = new Float32Array(QUANTUM).fill(0.9);

function quantum(processor, microphone = [LOUD]) {
  const output = [new Float32Array(QUANTUM), new Float32Array(QUANTUM)];
  processor.process([microphone], [output]);
  assert.deepEqual(output[0], output[1]);
  return output[0];
}

const block = (value) => new Float32Array(QUANTUM).fill(value);
const peak = (samples) => samples.reduce((top, sample) => Math.max(top, Math.abs(sample)), 0);

test("Ring keeps the order over its end", () => {
  const memory = Ring.memory(16, true);
  const [writer, reader] = [new Ring(memory), new Ring(memory)];
  const output = new Float32Array(5);
  for (let i = 0; i < 20; i++) {
    assert.ok(writer.write(Float32Array.of(i, i + 1, i + 2, i + 3, i + 4)));
    reader.peek(output.subarray(0, 2), 3);
    assert.deepEqual([...output.subarray(0, 2)], [i + 3, i + 4]);
    reader.read(output);
    assert.deepEqual([...output], [i, i + 1, i + 2, i + 3, i + 4]);
  }
  assert.equal(reader.available, 0);
  assert.ok(writer.write(new Float32Array(16)) && !writer.write(new Float32Array(1)));
});

test("Ring counters may overflow", () => {
  const ring = new Ring(Ring.memory(16, false));
  ring.counts.fill(2 ** 32 - 3);
  assert.ok(ring.write(Float32Array.of(1, 2, 3, 4, 5)));
  assert.equal(ring.available, 5);
  const output = new Float32Array(5);
  ring.read(output);
  assert.deepEqual([...output], [1, 2, 3, 4, 5]);
});

test("LiveProcessor plays silence, never the microphone, while nothing comes back", () => {
  const { processor } = start();
  for (let i = 0; i < 1000; i++) assert.equal(peak(quantum(processor)), 0);
  assert.ok(processor.dropped > 0); // what is under way is limited
});

test("LiveProcessor gathers the target, then plays all in order", () => {
  const { processor, fromWorker } = start();
  for (let i = 0; i < 4; i++) {
    fromWorker.write(block(0.1 * (i + 1)));
    assert.equal(peak(quantum(processor)), 0);
  }
  fromWorker.write(block(0.5));
  for (let i = 0; i < 5; i++) assert.ok(Math.abs(quantum(processor)[QUANTUM - 1] - 0.1 * (i + 1)) < 1e-6);
});

test("LiveProcessor fades into and out of a gap and counts it", () => {
  const { processor, fromWorker } = start({ target: 640 });
  for (let i = 0; i < 6; i++) fromWorker.write(block(0.5));
  const outputs = Array.from({ length: 8 }, () => quantum(processor));
  assert.ok(outputs[0][0] < 0.01 && outputs[0][QUANTUM - 1] === 0.5);
  assert.ok(outputs[6][0] > 0.49 && outputs[6][QUANTUM - 1] === 0);
  assert.equal(peak(outputs[7]), 0);
  assert.equal(processor.underruns, 1);
});

test("LiveProcessor catches up after a gap", () => {
  const { processor, fromWorker } = start();
  for (let i = 0; i < 5; i++) fromWorker.write(block(0.5));
  quantum(processor);
  for (let i = 0; i < 25; i++) fromWorker.write(block(0.5)); // what piled up while the worker was slow
  for (let i = 0; i < 2 * (RATE / QUANTUM); i++) {
    quantum(processor);
    fromWorker.write(block(0.5));
  }
  assert.equal(processor.skipped, 1);
  assert.ok(fromWorker.available <= 512 + 2 * QUANTUM);
});

test("LiveProcessor begins with no more than the target", () => {
  const { processor, fromWorker } = start();
  for (let i = 0; i < 30; i++) fromWorker.write(block(i));
  assert.equal(quantum(processor)[QUANTUM - 1], 25);
  assert.equal(fromWorker.available, 512);
  assert.deepEqual([processor.played, processor.skipped], [26 * QUANTUM, 0]);
});

test("LiveProcessor mixes the microphone's channels and goes on without one", () => {
  const { processor, toWorker } = start();
  quantum(processor, [block(1), block(0.5)]);
  quantum(processor, []);
  const received = new Float32Array(2 * QUANTUM);
  toWorker.read(received);
  assert.deepEqual([received[0], received[QUANTUM]], [0.75, 0]);
});

test("LiveProcessor posts batches where memory is not shared", () => {
  const processor = new Processor({ processorOptions: { rings: null, target: 512, limit: 9999, capacity: 1 << 15, batch: 600, channel: null, tap: false } });
  const sent = [];
  quantum(processor); // before the worker is connected: nothing is kept for it
  const port = { postMessage: (samples) => sent.push(samples.slice()) };
  processor.port.onmessage({ data: { port } });
  for (let i = 0; i < 10; i++) quantum(processor, [block(i)]);
  assert.deepEqual(sent.map((samples) => samples.length), [600, 600]);
  assert.deepEqual([sent[0][0], sent[0][599], sent[1][0]], [0, 4, 4]);
  for (let i = 0; i < 6; i++) port.onmessage({ data: block(0.5) });
  quantum(processor);
  assert.equal(quantum(processor)[5], 0.5);
});

test("LevelMeter is the RMS of half a second", () => {
  const meter = new LevelMeter(16000);
  assert.equal(meter.decibels, -120);
  meter.add(Float32Array.from({ length: 16000 }, (_, i) => Math.sin(i)));
  assert.ok(Math.abs(meter.decibels + 3.01) < 0.05);
  meter.add(new Float32Array(16000));
  assert.equal(meter.decibels, -120);
  assert.equal(meter.silentSeconds, 1);
});

test("TimeMeter returns quantiles", () => {
  const meter = new TimeMeter(12.5);
  for (let i = 0; i <= 100; i++) meter.add(i);
  assert.deepEqual(meter.quantiles(), { min: 0, p50: 50, p99: 99 });
});
