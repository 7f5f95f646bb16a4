/**
 * An exported model: one hop of samples in, one hop of samples out, state tensors beside it.
 *
 * Inputs are `audio` (1, hop_length) and `state.<path>`, outputs `enhanced` (1, hop_length) and `next.<path>`. STFT and
 * inverse STFT are inside the graph. An all-zero state is the beginning.
 */

import { readMetadata } from "./metadata.js";

const OPTIONS = {
  executionProviders: ["wasm"],
  intraOpNumThreads: 1,
  interOpNumThreads: 1,
  executionMode: "sequential",
  enableMemPattern: true,
};

/**
 * A loaded model; it holds no state, so that one engine serves any number of signals.
 *
 * `name`, `version`, `sampleRate` in Hz, `hopLength` in samples, `latency` in samples: by how much `enhanced` lags
 * `audio` when fed hop by hop.
 */
export class Engine {
  /** Load an .onnx file (Uint8Array) with ONNX Runtime Web. Error where it is no streaming model. */
  static async create(ort, bytes) {
    const metadata = readMetadata(bytes);
    return new Engine(ort, await ort.InferenceSession.create(bytes, OPTIONS), metadata);
  }

  constructor(ort, session, metadata) {
    this.Tensor = ort.Tensor;
    this.session = session;
    this.name = metadata.name;
    this.version = metadata.version;
    this.sampleRate = Number(metadata.sample_rate);
    this.hopLength = Number(metadata.hop_length);
    this.latency = Number(metadata.latency);
    this.states = session.inputMetadata.slice(1).map(({ name, shape }) => ({ name, next: nextOf(name), shape }));
    this.check();
  }

  check() {
    const outputs = ["enhanced", ...this.states.map(({ next }) => next)];
    const numbers = [this.sampleRate, this.hopLength, this.latency];
    const fits = this.session.inputNames[0] === "audio" && outputs.join() === this.session.outputNames.join();
    if (!fits || !numbers.every(Number.isInteger)) throw new Error("The file is no streaming model of qse.");
  }

  /** Return the state before the first sample: zeros. */
  initialState() {
    const zeros = (shape) => new Float32Array(shape.reduce((product, size) => product * size, 1));
    const tensor = ({ name, shape }) => [name, new this.Tensor("float32", zeros(shape), shape)];
    return Object.fromEntries(this.states.map(tensor));
  }

  /** Return `enhanced` (hopLength samples) and the next `state` for `hop` (hopLength samples) and the state before. */
  async step(hop, state) {
    const audio = new this.Tensor("float32", hop, [1, this.hopLength]);
    const outputs = await this.session.run({ audio, ...state });
    const next = Object.fromEntries(this.states.map(({ name, next }) => [name, outputs[next]]));
    return { enhanced: outputs.enhanced.data, state: next };
  }
}

function nextOf(name) {
  return name.replace("state.", "next.");
}
