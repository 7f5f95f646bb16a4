import assert from "node:assert/strict";
import test from "node:test";
import { graphFor, modelsOf } from "../../../qse/web/model/bands.js";

const manifest = {
  models: [
    { name: "a", wide: { url: "models/a.onnx.gz", sha256: "1" }, full: { url: "models/a-48k.onnx.gz", sha256: "2" } },
    { name: "b", wide: { url: "models/b.onnx.gz", sha256: "3" }, full: null },
  ],
};

test("graphFor follows the sample rate unless the band is given", () => {
  const [both, one] = modelsOf(manifest, "https://host.example/page/");
  const wide = { name: "a", fast: false, voice: null, url: "https://host.example/page/models/a.onnx.gz", sha256: "1" };
  const full = { name: "a", fast: false, voice: null, url: "https://host.example/page/models/a-48k.onnx.gz", sha256: "2" };
  assert.deepEqual([8000, 16000].map((rate) => graphFor(both, rate)), [wide, wide]);
  assert.deepEqual([16001, 44100].map((rate) => graphFor(both, rate)), [full, full]);
  assert.deepEqual(graphFor(both, 48000, "wide"), wide);
  assert.equal(graphFor(one, 48000).sha256, "3");
  assert.equal(graphFor({ ...one, fast: true }, 48000).fast, true);
});
