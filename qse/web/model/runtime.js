/** Load ONNX Runtime Web (WebAssembly, SIMD, one thread) and the exported models, checked against their checksums. */

import * as ort from "../vendor/ort.wasm.min.js";
import { Engine } from "./engine.js";
import { wasmModule } from "./wasm_module.js";

export const VERSION = "1.30.0";
const WASM = new URL("../vendor/ort-wasm-simd-threaded.wasm.gz", import.meta.url);
const WASM_SHA256 = "3398c10d07d229bd91b364548e130e0e51a8e5704b88c7c083ebbeb78842dee2";
const RELOAD = "Reload the page; if that does not help, it is installed incompletely.";

let ready = null;

/** Return an error with a sentence for users of the page and the address of the file that it is about. */
function fileError(sentence, file) {
  return Object.assign(new Error(sentence), { file: String(file) });
}

/** Return the bytes at `url`. Error with a sentence for the user, and `file`, where they cannot be fetched. */
export async function fetchBytes(url) {
  let response;
  try {
    response = await fetch(url);
  } catch {
    throw fileError("A file of this page cannot be fetched: is its server still running?", url);
  }
  if (!response.ok) throw fileError(`A file of this page is missing (${response.status}). ${RELOAD}`, url);
  return new Uint8Array(await response.arrayBuffer());
}

/** Return gzip data uncompressed; other bytes as they are (some servers decompress .gz files themselves). */
export async function gunzip(bytes) {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Return the SHA-256 of bytes as hexadecimal digits. */
export async function sha256(bytes) {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function start() {
  if (ort.env.versions.web !== VERSION) {
    throw new Error(`The page needs ONNX Runtime ${VERSION} and found ${ort.env.versions.web}. ${RELOAD}`);
  }
  const binary = await gunzip(await fetchBytes(WASM));
  if ((await sha256(binary)) !== WASM_SHA256) {
    throw fileError(`ONNX Runtime is damaged or of another version than this page. ${RELOAD}`, WASM);
  }
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.proxy = false;
  ort.env.wasm.wasmBinary = binary;
  ort.env.wasm.wasmPaths = { mjs: new URL("wasm_module.js", import.meta.url) };
  ort.env.logLevel = "error";
}

/** Return the content of a graph `{name, url, sha256}`, with ONNX Runtime loaded. Error with a sentence for the user. */
async function contentOf(graph) {
  ready ??= start();
  ready.catch(() => (ready = null)); // the next model tries again
  const [compressed] = await Promise.all([fetchBytes(graph.url), ready]);
  const bytes = await gunzip(compressed);
  if (graph.sha256 && (await sha256(bytes)) !== graph.sha256) {
    throw fileError(`The model ${graph.name} is damaged or of another version than this page. ${RELOAD}`, graph.url);
  }
  return bytes;
}

/** Return the Engine of a graph `{name, url, sha256, fast}`. Error with a sentence for the user. */
export async function loadEngine(graph) {
  return Engine.create(ort, await contentOf(graph), { findModule: () => wasmModule, fast: graph.fast });
}

/** Return an InferenceSession of a graph `{name, url, sha256}` that is no streaming model. Error as `loadEngine`. */
export async function loadGraph(graph) {
  return ort.InferenceSession.create(await contentOf(graph), { executionProviders: ["wasm"] });
}
