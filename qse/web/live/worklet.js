/**
 * The audio thread: hands the microphone's samples to the worker and plays what comes back.
 *
 * Options: `limit`, samples that may be under way before input is dropped; `target`, samples that are gathered before
 * playback; `capacity`, samples of a ring; `batch`, samples per message; `rings`, the memory of two shared rings, or null for messages; `channel`,
 * the only one to take, counted from 1, or null; `tap`, keep what comes in and goes out, for tests. What is missing is
 * replaced by silence, never by the noisy signal.
 */

const QUANTUM = 128;
const FADE = Float32Array.from({ length: QUANTUM }, (_, i) => (i + 1) / QUANTUM);
const REPORT_SECONDS = 0.1;

class LiveProcessor extends AudioWorkletProcessor {
  constructor({ processorOptions }) {
    super();
    Object.assign(this, processorOptions); // limit, capacity, target, batch, rings, channel, tap
    this.input = this.rings ? new Ring(this.rings.input) : null;
    this.output = new Ring(this.rings ? this.rings.output : Ring.memory(this.capacity, false));
    this.pending = new Float32Array(this.batch);
    this.filled = 0;
    this.sent = this.played = 0; // samples handed to the worker; of those that came back, played or skipped
    this.underruns = this.dropped = this.skipped = 0;
    this.playing = false;
    this.last = 0; // the sample played last
    this.lowest = Infinity; // samples in the output ring, the minimum of about a second
    this.quanta = 0;
    this.ended = false;
    this.taps = { input: [], output: [], events: [] }; // events: [output sample, `played` from there on or null]
    this.mono = new Float32Array(QUANTUM);
    this.downmix = new Downmix(sampleRate, this.channel);
    this.other = new Float32Array(QUANTUM);
    this.port.onmessage = ({ data }) => this.control(data);
  }

  control({ port, stop }) {
    if (port) {
      this.worker = port;
      port.onmessage = ({ data }) => this.output.write(data) || this.dropped++;
    }
    if (stop) {
      this.ended = true;
      this.port.postMessage({ stopped: this.tap ? this.taps : true });
    }
  }

  process([microphone], [speaker]) {
    if (this.ended) return false;
    this.downmix.process(microphone, this.mono);
    this.send(this.mono);
    const output = speaker[0];
    this.pull(output);
    for (const channel of speaker.slice(1)) channel.set(output);
    if (this.tap) this.taps.output.push(output.slice());
    if (++this.quanta % Math.round((REPORT_SECONDS * sampleRate) / QUANTUM) === 0) this.report();
    return true;
  }

  send(samples) {
    if (this.sent - this.played > this.limit) {
      this.dropped++;
      return;
    }
    if (this.input) {
      if (!this.input.write(samples)) {
        this.dropped++;
        return;
      }
    } else if (this.worker) this.post(samples);
    else return;
    this.sent += samples.length;
    if (this.tap) this.taps.input.push(samples.slice());
  }

  /** Note, for tests, that from output sample `quanta * QUANTUM` on the sample `played` follows, or silence (null). */
  note(played) {
    if (this.tap) this.taps.events.push([this.quanta * QUANTUM, played]);
  }

  post(samples) {
    for (let start = 0; start < samples.length; ) {
      const part = samples.subarray(start, start + this.batch - this.filled);
      this.pending.set(part, this.filled);
      this.filled += part.length;
      start += part.length;
      if (this.filled < this.batch) return;
      this.worker.postMessage(this.pending, [this.pending.buffer]);
      this.pending = new Float32Array(this.batch);
      this.filled = 0;
    }
  }

  /** Fill `output` with enhanced samples, or with silence that begins and ends with a fade. */
  pull(output) {
    let available = this.output.available;
    const starts = !this.playing && available >= this.target + QUANTUM;
    if (starts) {
      this.playing = true;
      this.skip(available - this.target - QUANTUM); // nothing plays yet: this only lowers the latency
      this.note(this.played);
      available = this.output.available;
    }
    if (!this.playing || available < QUANTUM) {
      if (this.playing) {
        this.underruns++;
        this.note(null);
      }
      this.playing = false;
      this.lowest = Infinity;
      for (let i = 0; i < QUANTUM; i++) output[i] = this.last * (1 - FADE[i]);
      this.last = 0;
      return;
    }
    this.output.read(output);
    this.played += QUANTUM;
    if (starts) for (let i = 0; i < QUANTUM; i++) output[i] *= FADE[i];
    this.catchUp(output, available - QUANTUM);
    this.last = output[QUANTUM - 1];
  }

  /** Where more than the target has waited for a second, skip the surplus, with a cross-fade: less latency. */
  catchUp(output, waiting) {
    this.lowest = Math.min(this.lowest, waiting);
    if (this.quanta % Math.round(sampleRate / QUANTUM)) return;
    const surplus = this.lowest - this.target;
    this.lowest = Infinity;
    if (surplus < this.batch) return;
    this.output.peek(this.other, surplus - QUANTUM); // the samples before those that follow
    for (let i = 0; i < QUANTUM; i++) output[i] += FADE[i] * (this.other[i] - output[i]);
    this.skip(surplus);
    this.skipped++;
    this.note(this.played - QUANTUM);
  }

  skip(count) {
    this.output.skip(count);
    this.played += count;
  }

  report() {
    const { underruns, dropped, skipped, playing, sent, played } = this;
    const delay = (sent - played) / sampleRate;
    const { given, reason } = this.downmix;
    this.port.postMessage({ underruns, dropped, skipped, playing, delay, channels: { given, reason } });
  }
}

registerProcessor("qse-live", LiveProcessor);
