/**
 * Assemble `dist` of the npm package: its files, the files of the page that they import, ONNX Runtime Web, and the models.
 *
 * `npm pack` and `npm publish` call it. `dist` mirrors the folder `qse/web`; nothing is compiled or bundled.
 */

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const HERE = dirname(fileURLToPath(import.meta.url));
const WEB = dirname(HERE);
const ROOT = join(WEB, "../..");
const DIST = join(HERE, "dist");
const MODELS = ["live-tiny", "live-base", "studio-base"];
const STARTS = ["npm/index.js", "npm/recording_worker.js", "live/worker.js", "live/worklet.js", "live/downmix.js"];
const OTHERS = ["npm/index.d.ts", "vendor/ort-wasm-simd-threaded.wasm.gz", "vendor/LICENSE.onnxruntime"];
const IMPORT = /^(?:import(?:[^"';]*\sfrom)?|export[^"';]*\sfrom)\s*"(\.[^"]+)"/gm;

/** Return the files that `starts` import, and those that these import; `starts` too. Paths below `WEB`. */
function imported(starts) {
  const found = new Set();
  const waiting = [...starts];
  while (waiting.length) {
    const file = waiting.pop();
    if (found.has(file)) continue;
    found.add(file);
    if (file.startsWith("vendor/")) continue;
    const code = readFileSync(join(WEB, file), "utf8");
    for (const [, address] of code.matchAll(IMPORT)) waiting.push(normalize(join(dirname(file), address)));
  }
  return found;
}

function write(path, content) {
  const target = join(DIST, path);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, content);
}

/** Write a graph, compressed, and return what `models.json` says of it. */
function writeGraph(model, file) {
  const graph = readFileSync(join(ROOT, "models", model, file));
  const url = `models/${model}/${file}.gz`;
  write(url, gzipSync(graph, { level: 9 }));
  return { url, sha256: createHash("sha256").update(graph).digest("hex") };
}

rmSync(DIST, { recursive: true, force: true });
for (const file of [...imported(STARTS), ...OTHERS]) write(file, readFileSync(join(WEB, file)));
const models = MODELS.map((name) => ({
  name,
  wide: writeGraph(name, "model.onnx"),
  full: writeGraph(name, "model-48k.onnx"),
}));
write("models.json", `${JSON.stringify({ models }, null, 1)}\n`);
write("LICENSE", readFileSync(join(ROOT, "LICENSE")));
