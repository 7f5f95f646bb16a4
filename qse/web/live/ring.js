/**
 * A ring of samples between one writer and one reader, in shared or in ordinary memory.
 *
 * An AudioWorklet in Firefox cannot import modules, so that this file is also added to the worklet by itself; there the
 * class is found under `globalThis.Ring`.
 */

const WRITTEN = 0;
const READ = 1;

class Ring {
  /** Return the memory of a ring of `capacity` samples, to hand to both sides. */
  static memory(capacity, shared) {
    const Memory = shared ? SharedArrayBuffer : ArrayBuffer;
    return { samples: new Memory(4 * capacity), counts: new Memory(8) };
  }

  constructor({ samples, counts }) {
    this.samples = new Float32Array(samples);
    this.counts = new Uint32Array(counts); // samples written and read so far, modulo 2^32
    this.signal = new Int32Array(counts);
    this.capacity = this.samples.length;
  }

  /** Samples that wait for the reader. */
  get available() {
    return (Atomics.load(this.counts, WRITTEN) - Atomics.load(this.counts, READ)) >>> 0;
  }

  /** Write all samples and return true, or nothing where they do not fit. */
  write(samples) {
    if (this.available + samples.length > this.capacity) return false;
    const at = this.position(WRITTEN);
    const first = Math.min(samples.length, this.capacity - at);
    this.samples.set(samples.subarray(0, first), at);
    this.samples.set(samples.subarray(first), 0);
    Atomics.add(this.counts, WRITTEN, samples.length);
    Atomics.notify(this.signal, WRITTEN);
    return true;
  }

  /** Fill `output` with the next samples, which must be available. */
  read(output) {
    this.peek(output);
    this.skip(output.length);
  }

  /** The same, but the samples stay in the ring; `offset` samples are passed over. */
  peek(output, offset = 0) {
    const at = (this.position(READ) + offset) % this.capacity;
    const first = Math.min(output.length, this.capacity - at);
    output.set(this.samples.subarray(at, at + first));
    output.set(this.samples.subarray(0, output.length - first), first);
  }

  /** Drop the next `count` samples, which must be available. */
  skip(count) {
    Atomics.add(this.counts, READ, count);
  }

  /** Block a worker until there is something to read, `milliseconds` at most. Only for shared memory. */
  wait(milliseconds) {
    const written = Atomics.load(this.signal, WRITTEN);
    if (!this.available) Atomics.wait(this.signal, WRITTEN, written, milliseconds);
  }

  /** Place of a counter in `samples`: the capacity is a power of two, so that the counters may overflow. */
  position(counter) {
    return Atomics.load(this.counts, counter) & (this.capacity - 1);
  }
}

globalThis.Ring = Ring;
