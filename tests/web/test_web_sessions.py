"""The two kinds of session of an engine give the same samples; where C functions fail, the public
interface is used."""

import pytest
from browser import PAGE_FUNCTIONS

SETUP = f"""
  {PAGE_FUNCTIONS}
  const ort = await import("/vendor/ort.wasm.min.js");
  const {{ Engine }} = await import("/model/engine.js");
  const {{ fetchBytes, gunzip, loadEngine }} = await import("/model/runtime.js");
  const runtime = await import("/model/wasm_module.js");
  const graph = (await modelOf(name))[band];
  const engine = await loadEngine(graph);
  const silence = new Float32Array(engine.graphHopLength);
  const noise = (i) => silence.map((_, n) => 0.3 * Math.sin(n * n * 0.01 + i * i));
"""
COMPARE = f"""async ({{ name, band }}) => {{
  {SETUP}
  const [direct, other, wanted] = [engine.oneGrid(), engine.oneGrid(), engine.oneGrid(null)];
  let [greatest, loudest] = [0, 0];
  for (let i = 0; i < 120; i++) {{
    if (i === 80) for (const session of [direct, wanted]) session.reset();
    other.step(noise(-i)); // another signal between: each session has its own state
    const [found, expected] = [direct.step(noise(i)), await wanted.step(noise(i))];
    expected.forEach((sample, n) => {{
      greatest = Math.max(greatest, Math.abs(sample - found[n]));
      loudest = Math.max(loudest, Math.abs(sample));
    }});
  }}
  return {{ direct: direct.constructor.name, wanted: wanted.constructor.name, greatest, loudest }};
}}"""
OPEN_AND_CLOSE = f"""async ({{ name, band }}) => {{
  {SETUP}
  const bytes = () => runtime.wasmModule.HEAPU8.length;
  const once = () => {{
    const session = engine.oneGrid();
    session.step(noise(1));
    session.close();
  }};
  for (let i = 0; i < 10; i++) once();
  const before = bytes();
  for (let i = 0; i < 2000; i++) once();
  return bytes() - before;
}}"""
CHANGES = {
    "missing": "{ _OrtRun: undefined }",
    "asynchronous": "{ _OrtRun: async () => 0 }",
    "failing": "{ _OrtRun: () => 1 }",
    "silent": "{ _OrtRun: () => 0 }",
    "without memory": "{ _malloc: () => 0 }",
    "none": "{}",
}


@pytest.mark.parametrize(
    "name, band", [("live-tiny", "wide"), ("live-base", "full"), ("live-large", "wide")]
)
def test_sessions_agree(shared_page, name, band):
    found = shared_page.evaluate(COMPARE, {"name": name, "band": band})
    assert (found["direct"], found["wanted"]) == ("DirectSession", "PublicSession")
    assert found["greatest"] == 0 and found["loudest"] > 1e-4


def test_closed_sessions_free_their_memory(shared_page):
    assert shared_page.evaluate(OPEN_AND_CLOSE, {"name": "live-tiny", "band": "wide"}) == 0


@pytest.mark.parametrize("change", CHANGES)
def test_engine_uses_the_public_interface_where_c_functions_fail(shared_page, change):
    found = shared_page.evaluate(
        f"""async ({{ name, band }}) => {{
          {SETUP}
          const module = {{ ...runtime.wasmModule, ...{CHANGES[change]} }};
          const bytes = await gunzip(await fetchBytes(graph.url));
          const options = {{ findModule: () => module }};
          const session = (await Engine.create(ort, bytes, options)).oneGrid();
          const output = await session.step(noise(1));
          return {{ kind: session.constructor.name, length: output.length }};
        }}""",
        {"name": "live-tiny", "band": "wide"},
    )
    assert found == {
        "kind": "DirectSession" if change == "none" else "PublicSession",
        "length": 200,
    }
