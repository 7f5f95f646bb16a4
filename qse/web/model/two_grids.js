/** Run a graph on two grids of frames, half a hop of its network apart: the output is the mean of both. */

/** Delay a signal that comes in hops by `samples`, at most a hop. */
class Delay {
  constructor(samples, hopLength) {
    this.samples = samples;
    this.buffer = new Float32Array(samples + hopLength); // the past, then the newest hop
  }

  /** Return as many samples as `hop` has, in a buffer that the next step overwrites. */
  step(hop) {
    this.buffer.copyWithin(0, hop.length);
    this.buffer.set(hop, this.samples);
    return this.buffer.subarray(0, hop.length);
  }

  reset() {
    this.buffer.fill(0);
  }
}

/** Two sessions of one graph along one signal, each on every other half of its hop. */
export class AlternatingSession {
  /** `hopLength`: of the graph, even. */
  constructor(first, second, hopLength) {
    this.sessions = [first, second]; // the next one, and the other
    this.half = hopLength / 2;
    this.noisy = new Float32Array(hopLength);
    this.waiting = new Float32Array(this.half); // enhanced by the other one
  }

  /** Enhance half a hop of the graph: return a promise of as many samples. */
  async step(samples) {
    const { half, noisy, waiting, sessions } = this;
    noisy.copyWithin(0, half);
    noisy.set(samples, half);
    const enhanced = await sessions[0].step(noisy);
    const mean = waiting.map((sample, i) => Math.fround(sample + enhanced[i]) / 2);
    waiting.set(enhanced.subarray(half));
    sessions.reverse();
    return mean;
  }

  /** Set all states to those of the beginning. */
  reset() {
    for (const session of this.sessions) session.reset();
    this.noisy.fill(0);
    this.waiting.fill(0);
  }

  close() {
    for (const session of this.sessions) session.close();
  }
}

/** Two sessions of one graph of several hops along one signal; the frames of the second one lie `shift` samples later. */
export class TwoGridSession {
  constructor(first, second, shift, hopLength) {
    Object.assign(this, { first, second });
    this.noisy = new Delay(shift, hopLength);
    this.enhanced = new Delay(shift, hopLength);
  }

  /** Enhance `hop`: return a promise of as many samples. */
  async step(hop) {
    const first = this.enhanced.step(await this.first.step(hop));
    const second = await this.second.step(this.noisy.step(hop));
    return first.map((sample, i) => Math.fround(sample + second[i]) / 2);
  }

  /** Set all states to those of the beginning. */
  reset() {
    for (const part of [this.first, this.second, this.noisy, this.enhanced]) part.reset();
  }

  close() {
    this.first.close();
    this.second.close();
  }
}
