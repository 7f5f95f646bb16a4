import assert from "node:assert/strict";
import test from "node:test";
import { assetsAt, checkedStrength, defaultModel, failure, translated } from "../../../qse/web/npm/models.js";

test("the package can be imported where there is no browser", async () => {
  const names = Object.keys(await import("../../../qse/web/npm/index.js"));
  assert.deepEqual(names.sort(), ["DenoiseProcessor", "DenoiserNode", "denoise", "denoiseTrack"]);
});

test("defaultModel takes the smallest model on a phone", () => {
  assert.equal(defaultModel({ userAgentData: { mobile: true } }), "live-tiny");
  assert.equal(defaultModel({ userAgent: "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X)" }), "live-tiny");
  assert.equal(defaultModel({ userAgent: "Mozilla/5.0 (X11; Linux x86_64; rv:153.0)" }), "live-base");
});

test("assetsAt takes a folder with and without the slash", () => {
  for (const folder of ["https://example.org/qse", "https://example.org/qse/"]) {
    assert.equal(assetsAt(folder), "https://example.org/qse/");
  }
});

test("checkedStrength refuses what is no attenuation", () => {
  assert.equal(checkedStrength(undefined), null);
  assert.equal(checkedStrength(12), 12);
  for (const wrong of [-3, NaN, "12", Infinity]) assert.throws(() => checkedStrength(wrong), /strength is .*: give decibels/);
});

test("translated names the file and the cure, or passes the sentence on", () => {
  const missing = Object.assign(new Error("A part of this page is missing."), { file: "https://a.org/live/worker.js" });
  assert.match(translated(missing).message, /^qse-web: https:\/\/a.org\/live\/worker.js .*assets/);
  assert.equal(translated(new Error("The memory is full.")).message, failure("The memory is full.").message);
});
