/**
 * An exported model: one hop of samples in, one hop of samples out, state tensors beside it.
 *
 * Inputs are `audio` (1, hop_length) and `state.<path>`, outputs `enhanced` (1, hop_length) and `next.<path>`. STFT and
 * inverse STFT are inside the graph. An all-zero state is the beginning.
 */

import { DirectSession } from "./direct_session.js";
import { readMetadata } from "./metadata.js";

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
 * `name`, `version`, `sampleRate` in Hz, `hopLength` in samples, `latency` in samples: by how much `enhanced` lags
 * `audio` when fed hop by hop.
 */
export class Engine {
  /**
   * Load an .onnx file (Uint8Array) with ONNX Runtime Web. `findModule` returns its WebAssembly module once a session
   * exists; null: use the public interface alone. Error where the file is no streaming model.
   */
  static async create(ort, bytes, findModule = () => null) {
    const metadata = readMetadata(bytes);
    const engine = new Engine(ort, await ort.InferenceSession.create(bytes, OPTIONS), metadata);
    const module = findModule();
    if (module && (await engine.agrees(module))) engine.module = module;
    return engine;
  }

  constructor(ort, runtime, metadata) {
    this.Tensor = ort.Tensor;
    this.runtime = runtime; // the InferenceSession
    this.module = null;
    this.name = metadata.name;
    this.version = metadata.version;
    this.sampleRate = Number(metadata.sample_rate);
    this.hopLength = Number(metadata.hop_length);
    this.latency = Number(metadata.latency);
    this.states = runtime.inputMetadata.slice(1).map(({ name, shape }) => ({ name, next: nextOf(name), shape }));
    this.check();
  }

  check() {
    const outputs = ["enhanced", ...this.states.map(({ next }) => next)];
    const numbers = [this.sampleRate, this.hopLength, this.latency];
    const fits = this.runtime.inputNames[0] === "audio" && outputs.join() === this.runtime.outputNames.join();
    if (!fits || !numbers.every(Number.isInteger)) throw new Error("The file is no streaming model of qse.");
  }

  /** Return a session for one signal, which keeps the state; `close` it afterwards. */
  session(module = this.module) {
    if (!module) return new PublicSession(this);
    const { inputNames, outputNames, handler } = this.runtime;
    const shapes = [[1, this.hopLength], ...this.states.map(({ shape }) => shape)];
    return new DirectSession(module, handler.sessionId, { inputs: inputNames, outputs: outputNames, shapes });
  }

  /** Return whether sessions by C functions work here and give the same samples as the public interface. */
  async agrees(module) {
    try {
      const [direct, slow] = [this.session(module), this.session(null)];
      let same = true;
      for (let i = 0; i < TRIAL_HOPS; i++) {
        const hop = Float32Array.from({ length: this.hopLength }, (_, n) => 0.1 * Math.sin(n * n + i));
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
  constructor(engine) {
    this.engine = engine;
    this.reset();
  }

  /** Set the state to zero. */
  reset() {
    const zeros = (shape) => new Float32Array(shape.reduce((product, size) => product * size, 1));
    const tensor = ({ name, shape }) => [name, new this.engine.Tensor("float32", zeros(shape), shape)];
    this.state = Object.fromEntries(this.engine.states.map(tensor));
  }

  /** Enhance `hop` (hopLength samples): return a promise of as many. */
  async step(hop) {
    const { Tensor, hopLength, runtime, states } = this.engine;
    const outputs = await runtime.run({ audio: new Tensor("float32", hop, [1, hopLength]), ...this.state });
    this.state = Object.fromEntries(states.map(({ name, next }) => [name, outputs[next]]));
    return outputs.enhanced.data;
  }

  close() {}
}

function nextOf(name) {
  return name.replace("state.", "next.");
}
