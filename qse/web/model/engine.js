/**
 * An exported model: one hop of samples in, one hop of samples out, state tensors beside it.
 *
 * Inputs are `audio` (1, hop_length) and `state.<path>`, outputs `enhanced` (1, hop_length) and `next.<path>`. STFT and
 * inverse STFT are inside the graph. An all-zero state is the beginning, but for the entries of a voice that is kept.
 */

import { DirectSession } from "./direct_session.js";
import { readMetadata } from "./metadata.js";
import { AlternatingSession, TwoGridSession } from "./two_grids.js";

const OPTIONS = {
  executionProviders: ["wasm"],
  intraOpNumThreads: 1,
  interOpNumThreads: 1,
  executionMode: "sequential",
  enableMemPattern: true,
};
const TRIAL_HOPS = 3; // on which both kinds of session must agree

/**
 * A loaded model; it holds no state, so that one engine serves any number of signals.
 *
 * `name`, `version`, `sampleRate` in Hz, `hopLength` in samples, `latency` in samples: by how much the output lags the
 * input when fed hop by hop; `secondGrid` in samples: the distance of two grids of frames, 0 for one.
 */
export class Engine {
  /**
   * Load an .onnx file (Uint8Array) with ONNX Runtime Web. `findModule` returns its WebAssembly module once a session
   * exists; null: use the public interface alone. `fast`: run a model of two grids on one of them. Error where the file
   * is no streaming model.
   */
  static async create(ort, bytes, { findModule = () => null, fast = false } = {}) {
    const metadata = readMetadata(bytes);
    const engine = new Engine(ort, await ort.InferenceSession.create(bytes, OPTIONS), metadata, fast);
    const module = findModule();
    if (module && (await engine.agrees(module))) engine.module = module;
    return engine;
  }

  constructor(ort, runtime, metadata, fast) {
    this.Tensor = ort.Tensor;
    this.runtime = runtime; // the InferenceSession
    this.module = null;
    this.name = metadata.name;
    this.version = metadata.version;
    this.sampleRate = Number(metadata.sample_rate);
    this.graphHopLength = Number(metadata.hop_length);
    this.secondGrid = fast ? 0 : Number(metadata.second_grid ?? 0);
    this.alternating = 2 * this.secondGrid === this.graphHopLength;
    this.hopLength = this.alternating ? this.secondGrid : this.graphHopLength;
    this.latency = Number(metadata.latency) + this.secondGrid;
    this.states = runtime.inputMetadata.slice(1).map(({ name, shape }) => ({ name, next: nextOf(name), shape }));
    this.check();
  }

  check() {
    const outputs = ["enhanced", ...this.states.map(({ next }) => next)];
    const numbers = [this.sampleRate, this.hopLength, this.latency, this.secondGrid];
    const fits = this.runtime.inputNames[0] === "audio" && outputs.join() === this.runtime.outputNames.join();
    if (!fits || !numbers.every(Number.isInteger)) throw new Error("The file is no streaming model of qse.");
  }

  /**
   * Return a session for one signal, which keeps the state; `close` it afterwards. `beginning`: states that are not zero
   * at first, see `beginningOf`.
   */
  session(beginning = {}) {
    const first = this.oneGrid(this.module, beginning);
    if (!this.secondGrid) return first;
    const second = this.oneGrid(this.module, beginning);
    if (this.alternating) return new AlternatingSession(first, second, this.graphHopLength);
    return new TwoGridSession(first, second, this.secondGrid, this.hopLength);
  }

  oneGrid(module = this.module, beginning = {}) {
    if (!module) return new PublicSession(this, beginning);
    const { inputNames, outputNames, handler } = this.runtime;
    const shapes = [[1, this.graphHopLength], ...this.states.map(({ shape }) => shape)];
    const first = this.states.map(({ name }) => beginning[name]);
    return new DirectSession(module, handler.sessionId, { inputs: inputNames, outputs: outputNames, shapes, first });
  }

  /** Return whether sessions by C functions work here and give the same samples as the public interface. */
  async agrees(module) {
    try {
      const [direct, slow] = [this.oneGrid(module), this.oneGrid(null)];
      let same = true;
      for (let i = 0; i < TRIAL_HOPS; i++) {
        const hop = Float32Array.from({ length: this.graphHopLength }, (_, n) => 0.1 * Math.sin(n * n + i));
        const [found, wanted] = [direct.step(hop), await slow.step(hop)];
        same &&= wanted.every((sample, n) => sample === found[n]);
      }
      direct.close();
      return same;
    } catch {
      return false;
    }
  }
}

/** A model along one signal, by ONNX Runtime's public interface, which makes new tensors in each step. */
class PublicSession {
  constructor(engine, beginning) {
    this.engine = engine;
    this.beginning = beginning;
    this.reset();
  }

  /** Set the state to that of the beginning. */
  reset() {
    const zeros = (shape) => new Float32Array(shape.reduce((product, size) => product * size, 1));
    const first = (name, shape) => this.beginning[name]?.slice() ?? zeros(shape);
    const tensor = ({ name, shape }) => [name, new this.engine.Tensor("float32", first(name, shape), shape)];
    this.state = Object.fromEntries(this.engine.states.map(tensor));
  }

  /** Enhance `hop` (graphHopLength samples): return a promise of as many. */
  async step(hop) {
    const { Tensor, graphHopLength, runtime, states } = this.engine;
    const outputs = await runtime.run({ audio: new Tensor("float32", hop, [1, graphHopLength]), ...this.state });
    this.state = Object.fromEntries(states.map(({ name, next }) => [name, outputs[next]]));
    return outputs.enhanced.data;
  }

  close() {}
}

function nextOf(name) {
  return name.replace("state.", "next.");
}
