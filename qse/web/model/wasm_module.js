/** The WebAssembly module of ONNX Runtime, kept for `direct_session.js` when the runtime's JavaScript API creates it. */

import create from "../vendor/ort-wasm-simd-threaded.js";

/** The module; null before the first model is loaded. */
export let wasmModule = null;

/** Called by ONNX Runtime (`env.wasm.wasmPaths.mjs` names this file) as the function that it replaces. */
export default async function createModule(config) {
  wasmModule = await create(config);
  return wasmModule;
}
