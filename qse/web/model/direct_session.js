/**
 * A model along one signal, by the C functions of ONNX Runtime's WebAssembly module.
 *
 * They take less time than `InferenceSession.run`: two sets of state buffers alternate as input and output, and nothing
 * but the hop is copied. The functions are no public interface: the version is pinned, and `Engine` uses this class only
 * where it gives the same output as `run`.
 */

const FLOAT32 = 1; // ONNX's number of the type
const CPU = 1; // ONNX Runtime Web's number of the place of a tensor
const POINTER = 4; // bytes

export class DirectSession {
  /**
   * `module`: the WebAssembly module; `handle`: the session in it; `inputs`, `outputs`: names of the graph in its order;
   * `shapes`: of the inputs, and of the outputs: the hop first, then the states; `first`: of each state its values at
   * the beginning (Float32Array), undefined for zeros.
   */
  constructor(module, handle, { inputs, outputs, shapes, first }) {
    Object.assign(this, { module, handle, count: inputs.length, values: [...first, ...first], memory: [], tensors: [] });
    this.sizes = shapes.map((shape) => shape.reduce((product, size) => product * size, 1));
    const [before, after] = [0, 1].map(() => this.sizes.map((size) => this.allocate(4 * size)));
    this.buffers = { audio: before[0], enhanced: after[0], states: [before, after].flatMap((set) => set.slice(1)) };
    const [[audio, ...one], [enhanced, ...other]] = [before, after].map((set) => this.wrap(set, shapes));
    this.names = [inputs, outputs].map((names) => this.pointers(names.map((name) => this.text(name))));
    this.turn = [this.pointers([audio, ...one]), this.pointers([enhanced, ...other])];
    this.other = [this.pointers([audio, ...other]), this.pointers([enhanced, ...one])];
    this.reset();
  }

  /** Return memory that `close` frees. */
  allocate(bytes) {
    const pointer = this.module._malloc(bytes);
    if (!pointer) throw new Error("There is not enough memory for the model.");
    this.memory.push(pointer);
    return pointer;
  }

  pointers(values) {
    const list = this.allocate(POINTER * values.length);
    new Uint32Array(this.module.HEAPU8.buffer, list, values.length).set(values);
    return list;
  }

  /** Return a string in memory, for C. */
  text(value) {
    const bytes = new TextEncoder().encode(`${value}\0`);
    const pointer = this.allocate(bytes.length);
    this.module.HEAPU8.set(bytes, pointer);
    return pointer;
  }

  /** Return tensors on the buffers `pointers`. */
  wrap(pointers, shapes) {
    return pointers.map((pointer, i) => {
      const shape = this.pointers(shapes[i]);
      const tensor = this.module._OrtCreateTensor(FLOAT32, pointer, 4 * this.sizes[i], shape, shapes[i].length, CPU);
      if (!tensor) throw new Error("ONNX Runtime has made no tensor.");
      this.tensors.push(tensor);
      return tensor;
    });
  }

  /** Views of the samples; the memory of the module moves when it grows. */
  refresh() {
    const { HEAPU8 } = this.module;
    const { audio, enhanced } = this.buffers;
    this.audio = new Float32Array(HEAPU8.buffer, audio, this.sizes[0]);
    this.enhanced = new Float32Array(HEAPU8.buffer, enhanced, this.sizes[0]);
  }

  /** Enhance `hop`: return a buffer that the next step overwrites. */
  step(hop) {
    if (this.audio.buffer !== this.module.HEAPU8.buffer) this.refresh();
    this.audio.set(hop);
    const { handle, count, names } = this;
    const [inputs, outputs] = this.turn;
    const code = this.module._OrtRun(handle, names[0], inputs, count, names[1], count, outputs, 0);
    if (code !== 0) throw new Error(`ONNX Runtime has failed (${code}).`);
    if (this.enhanced.buffer !== this.module.HEAPU8.buffer) this.refresh();
    [this.turn, this.other] = [this.other, this.turn];
    return this.enhanced;
  }

  /** Set the state to that of the beginning. */
  reset() {
    this.refresh();
    const sizes = [...this.sizes.slice(1), ...this.sizes.slice(1)];
    this.buffers.states.forEach((pointer, i) => {
      const state = new Float32Array(this.module.HEAPU8.buffer, pointer, sizes[i]);
      if (this.values[i]) state.set(this.values[i]);
      else state.fill(0);
    });
  }

  /** Free the memory; the session is not used again. */
  close() {
    for (const tensor of this.tensors.splice(0)) this.module._OrtReleaseTensor(tensor);
    for (const pointer of this.memory.splice(0)) this.module._free(pointer);
  }
}
