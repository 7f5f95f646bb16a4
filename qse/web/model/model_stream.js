/** Enhance one channel as a stream: any number of samples in, the hops that are complete out. */

/** Return the share of the noisy signal that stays with the attenuation limit `strength` in dB; null: none. */
export function keptShare(strength) {
  return strength === null ? 0 : Math.fround(10 ** (-strength / 20));
}

/** Return (1 - kept) * enhanced + kept * noisy; both are of the same moments. */
export function mix(enhanced, noisy, kept) {
  if (!kept) return enhanced;
  const rest = Math.fround(1 - kept);
  return enhanced.map((sample, i) => rest * sample + kept * noisy[i]);
}

/**
 * A signal and the state of the model after it. `latency`: samples by which the output lags the input; `resets`: how
 * often the model's output was not finite, which was replaced by silence and a fresh state.
 */
export class ModelStream {
  /** `onStep(milliseconds)` is called after each hop; `beginning` as in `Engine.session`. */
  constructor(engine, { onStep = () => {}, beginning = {} } = {}) {
    this.engine = engine;
    this.onStep = onStep;
    this.latency = engine.latency;
    this.resets = 0;
    this.session = engine.session(beginning);
    this.hop = new Float32Array(engine.hopLength);
    this.filled = 0;
    this.past = new Float32Array(engine.latency + engine.hopLength); // the last noisy samples
  }

  /**
   * Return the enhanced samples of all hops that `samples` complete. `kept(hop)`, if given, is asked before each hop
   * for the share of the noisy signal, which is delayed by `latency`.
   */
  async process(samples, kept = null) {
    const { hopLength } = this.engine;
    const output = new Float32Array(Math.floor((this.filled + samples.length) / hopLength) * hopLength);
    for (let start = 0, written = 0; start < samples.length; ) {
      const part = samples.subarray(start, start + hopLength - this.filled);
      this.hop.set(part, this.filled);
      this.filled += part.length;
      start += part.length;
      if (this.filled < hopLength) break;
      const enhanced = await this.step();
      output.set(kept ? mix(enhanced, this.past, kept()) : enhanced, written);
      written += hopLength;
    }
    return output;
  }

  async step() {
    const { hop, past } = this;
    for (let i = 0; i < hop.length; i++) if (!Number.isFinite(hop[i])) hop[i] = 0;
    past.copyWithin(0, hop.length);
    past.set(hop, past.length - hop.length);
    this.filled = 0;
    const began = performance.now();
    const enhanced = await this.session.step(hop);
    this.onStep(performance.now() - began);
    if (enhanced.every(Number.isFinite)) return enhanced;
    this.session.reset();
    this.resets++;
    return new Float32Array(hop.length);
  }

  /** Free the memory of the state. */
  close() {
    this.session.close();
  }
}
