/**
 * Mix the channels of a microphone to one, without losing the sound where they cancel or where one of them carries
 * none; the rules and the numbers are those of `qse/live/downmix.py`.
 *
 * Added to the worklet by itself, as `ring.js` is; there the class is found under `globalThis.Downmix`.
 */

const SHORT = 0.1; // seconds over which the powers are averaged that are compared
const LONG = 5; // seconds in which the largest power of a channel decays to 1 / e
const DEAD = 1e-3; // share of the power of the loudest channel, below which a channel counts as dead
// power of the mean, relative to the loudest channel, where independent channels have 1 to 2
const CANCELS = 0.8; // below which one channel is heard alone
const HOLDS = 2.5; // up to which it stays so
const LOUDER = 4; // by how much more power another channel takes over

class Downmix {
  /** `channel`: the only one to take, counted from 1; null mixes. */
  constructor(rate, channel = null) {
    this.rate = rate;
    this.channel = channel;
    this.given = 0; // channels of the last block
    this.count = 0; // channels that are measured
  }

  /** Why not all channels are mixed; empty where they are. */
  get reason() {
    if (this.channel !== null) return `only ${this.channel} of ${this.given}, as chosen`;
    if (this.given < 2) return "";
    if (this.solo >= 0) return `only ${this.solo + 1}: mixed, they would cancel`;
    const dead = [...this.alive.keys()].filter((c) => !this.alive[c]).map((c) => c + 1);
    return dead.length ? `without ${dead.join(" and ")}, where nothing is heard` : "";
  }

  /** Fill `mono` with the mix of `channels`, each of its length; with silence where there are none. */
  process(channels, mono) {
    this.given = channels.length;
    if (this.channel !== null || channels.length < 2) {
      const chosen = channels[(this.channel ?? 1) - 1];
      if (chosen) mono.set(chosen);
      else mono.fill(0); // the clock goes on
      return;
    }
    if (this.count !== channels.length) this.begin(channels.length);
    this.measure(channels, mono.length);
    this.choose();
    this.mix(channels, mono);
  }

  begin(count) {
    this.count = count;
    this.short = new Float64Array(count); // power per channel: mean over SHORT
    this.peak = new Float64Array(count); // power per channel: largest over LONG
    this.meanPower = 0; // of the mean of the channels that carry sound, over SHORT
    this.alive = new Uint8Array(count);
    this.weights = new Float64Array(count).fill(1 / count);
    this.before = new Float64Array(count);
    this.solo = -1; // index of the channel that is heard alone
  }

  measure(channels, length) {
    const share = Math.min(1, length / (SHORT * this.rate));
    const decay = Math.exp(-length / (LONG * this.rate));
    for (let c = 0; c < this.count; c++) {
      let power = 0;
      for (const sample of channels[c]) power += (sample * sample) / length;
      this.peak[c] = Math.max(power, this.peak[c] * decay);
      this.short[c] += share * (power - this.short[c]);
    }
    const loudest = Math.max(...this.short);
    const highest = Math.max(...this.peak);
    this.living = 0;
    for (let c = 0; c < this.count; c++) {
      const near = this.short[c] >= DEAD * loudest || this.peak[c] >= DEAD * highest;
      this.alive[c] = near ? 1 : 0;
      this.living += this.alive[c];
    }
    let power = 0;
    for (let i = 0; i < length; i++) {
      let sum = 0;
      for (let c = 0; c < this.count; c++) sum += this.alive[c] * channels[c][i];
      power += (sum / this.living) ** 2 / length;
    }
    this.meanPower += share * (power - this.meanPower);
  }

  /** Set the weights of the channels. */
  choose() {
    this.chooseSolo();
    this.before.set(this.weights);
    for (let c = 0; c < this.count; c++) {
      this.weights[c] = this.solo < 0 ? this.alive[c] / this.living : Number(c === this.solo);
    }
  }

  chooseSolo() {
    const power = Math.max(...this.short);
    const loudest = this.short.indexOf(power);
    const relative = power ? (this.meanPower * this.living ** 2) / power : HOLDS;
    if (this.living === 1 || relative > HOLDS) {
      this.solo = -1;
      return;
    }
    const starts = this.solo < 0 && relative < CANCELS;
    if (starts || (this.solo >= 0 && power > LOUDER * this.short[this.solo])) this.solo = loudest;
  }

  /** Fill `mono`, with a cross-fade from the weights before. */
  mix(channels, mono) {
    mono.fill(0);
    for (let c = 0; c < this.count; c++) {
      const change = (this.weights[c] - this.before[c]) / mono.length;
      for (let i = 0; i < mono.length; i++) {
        mono[i] += channels[c][i] * (this.before[c] + (i + 1) * change);
      }
    }
  }
}

globalThis.Downmix = Downmix;
