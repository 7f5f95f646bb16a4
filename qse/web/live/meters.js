/** Levels of the last half second and processing times of the last hops. */

const SPAN = 0.5; // seconds
const BLOCKS = 20; // into which the span is divided
const SILENCE = 1e-7;

/** RMS level over the last half second. */
export class LevelMeter {
  constructor(sampleRate) {
    this.sampleRate = sampleRate;
    this.size = Math.round((SPAN * sampleRate) / BLOCKS);
    this.energies = new Float64Array(BLOCKS);
    this.next = this.count = this.sum = 0;
    this.silentSamples = 0;
  }

  add(samples) {
    for (const sample of samples) {
      this.sum += sample * sample;
      this.silentSamples = Math.abs(sample) > SILENCE ? 0 : this.silentSamples + 1;
      if (++this.count < this.size) continue;
      this.energies[this.next] = this.sum;
      this.next = (this.next + 1) % BLOCKS;
      this.sum = this.count = 0;
    }
  }

  /** Level in dB re full scale, -120 at least. */
  get decibels() {
    const energy = this.energies.reduce((sum, value) => sum + value, 0);
    return Math.max(-120, 10 * Math.log10(energy / (BLOCKS * this.size) + 1e-12));
  }

  /** Seconds for which there was nothing but digital silence. */
  get silentSeconds() {
    return this.silentSamples / this.sampleRate;
  }
}

/** Processing times of the last hops; `period`: length of a hop in ms. */
export class TimeMeter {
  constructor(period) {
    this.period = period;
    this.times = new Float64Array(800);
    this.count = 0;
  }

  add(milliseconds) {
    this.times[this.count++ % this.times.length] = milliseconds;
  }

  /** Return minimum, median and 99th percentile in ms. */
  quantiles() {
    const sorted = this.times.slice(0, Math.min(this.count, this.times.length)).sort();
    const at = (q) => sorted[Math.floor(q * (sorted.length - 1))] ?? 0;
    return { min: at(0), p50: at(0.5), p99: at(0.99) };
  }
}
