import assert from "node:assert/strict";
import test from "node:test";
import { Overload } from "../../../qse/web/npm/overload.js";

test("Overload says once that a device is too slow, after three seconds in a row", () => {
  const overload = new Overload();
  const said = [...Array(11).fill(1.2), 0.5, ...Array(20).fill(0.95)].map((load) => overload.add(load));
  assert.deepEqual(said.flatMap((slow, i) => (slow ? [i] : [])), [23]);
});

test("Overload keeps a model that takes three quarters of the time", () => {
  const overload = new Overload();
  assert.ok(!Array.from({ length: 100 }, () => overload.add(0.75)).some(Boolean));
});
