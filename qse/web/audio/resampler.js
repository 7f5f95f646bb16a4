/**
 * Convert a stream of samples to another sample rate with a windowed sinc (Kaiser window).
 *
 * Output sample k is the input at the time k * from / to: the filter is symmetric and its delay compensated, so that
 * nothing has to be cut off. A sample is computed as soon as `half` input samples after its time are there.
 */

const ROWS = 1024; // rows of the table where the ratio has more phases; between them it is interpolated

/** Length (zero crossings on each side) and stop-band attenuation in dB. */
export const QUALITY = {
  file: { zeros: 80, attenuation: 110 }, // 5 ms at 16 kHz, and a transition as steep as that of soxr's HQ
  live: { zeros: 24, attenuation: 80 }, // 1.5 ms at 16 kHz
};

function gcd(a, b) {
  return b ? gcd(b, a % b) : a;
}

/** Modified Bessel function of the first kind, order 0. */
function bessel(x) {
  let sum = 1;
  for (let term = 1, k = 1; term > 1e-12 * sum; k++) {
    term *= (x / (2 * k)) ** 2;
    sum += term;
  }
  return sum;
}

function sinc(x) {
  return x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
}

export class Resampler {
  /** `from` and `to` in Hz, integers; `quality` is one of QUALITY; `like` one with the same three, whose table serves both. */
  constructor(from, to, quality = QUALITY.file, like = null) {
    const divisor = gcd(from, to);
    this.up = to / divisor;
    this.down = from / divisor;
    const ratio = Math.min(1, to / from);
    this.half = from === to ? 0 : Math.ceil(quality.zeros / ratio);
    this.rows = Math.min(this.up, ROWS);
    if (this.half) this.table = like ? like.table : this.makeTable(ratio, quality);
    this.history = new Float32Array(Math.max(0, this.half - 1)); // the input from sample `first` on
    this.first = -this.history.length;
    this.index = 0; // the next output lies at the time index + phase / up
    this.phase = 0;
  }

  makeTable(ratio, { zeros, attenuation }) {
    const width = (attenuation - 8) / (2.285 * Math.PI * 2 * zeros); // of the transition, as a share of the Nyquist frequency
    const cutoff = ratio * (1 - width / 4); // aliases reach only the upper quarter of the transition
    const beta = 0.1102 * (attenuation - 8.7);
    const taps = 2 * this.half;
    const table = new Float64Array((this.rows + 1) * taps);
    for (let row = 0; row <= this.rows; row++) {
      let sum = 0;
      for (let tap = 0; tap < taps; tap++) {
        const distance = row / this.rows + this.half - 1 - tap;
        const window = bessel(beta * Math.sqrt(Math.max(0, 1 - (distance / this.half) ** 2)));
        sum += table[row * taps + tap] = sinc(cutoff * distance) * window;
      }
      for (let tap = 0; tap < taps; tap++) table[row * taps + tap] /= sum; // the same gain at every phase
    }
    return table;
  }

  /** Return the output samples that are ready after the next input samples. */
  process(samples) {
    if (!this.half) return samples.slice();
    const history = new Float32Array(this.history.length + samples.length);
    history.set(this.history);
    history.set(samples, this.history.length);
    const end = this.first + history.length - this.half;
    const count = Math.max(0, Math.ceil(((end - this.index) * this.up - this.phase) / this.down));
    const output = new Float32Array(count);
    for (let i = 0; i < count; i++) {
      output[i] = this.sampleAt(history, this.index - this.half + 1 - this.first);
      this.phase += this.down;
      this.index += Math.floor(this.phase / this.up);
      this.phase %= this.up;
    }
    const unused = Math.min(history.length, Math.max(0, this.index - this.half + 1 - this.first));
    this.history = history.slice(unused);
    this.first += unused;
    return output;
  }

  /** Return the last output samples, when no more input follows. */
  finish() {
    return this.process(new Float32Array(this.half));
  }

  sampleAt(history, start) {
    const taps = 2 * this.half;
    const place = (this.phase * this.rows) / this.up;
    const row = Math.floor(place);
    const share = place - row;
    let sum = 0;
    for (let tap = 0, at = row * taps; tap < taps; tap++, at++) sum += this.table[at] * history[start + tap];
    if (!share) return sum;
    let next = 0;
    for (let tap = 0, at = (row + 1) * taps; tap < taps; tap++, at++) next += this.table[at] * history[start + tap];
    return sum + share * (next - sum);
  }
}
