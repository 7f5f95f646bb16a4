"""Live sound in the npm package: tracks, nodes, LiveKit's processor; equal to Python, and what
happens where something is missing or fails."""

import base64

import numpy as np
import pytest
from browser import PAGE_FUNCTIONS, played, serve
from npm_package import site_of

import qse

# Functions for scripts in the page: a track of hiss, the RMS level of a track, waiting.
FUNCTIONS = """
const package_ = await import("/dist/npm/index.js");
const { denoiseTrack, DenoiserNode, DenoiseProcessor } = package_;
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const until = async (ready, seconds = 60) => {
  for (let i = 0; i < 20 * seconds; i++) {
    if (await ready()) return true;
    await pause(50);
  }
  return false;
};
const hissTrack = (level = 0.1) => {
  const context = new AudioContext();
  const buffer = new AudioBuffer({ length: context.sampleRate, sampleRate: context.sampleRate });
  const samples = buffer.getChannelData(0);
  for (let i = 0; i < samples.length; i++) samples[i] = level * (2 * Math.random() - 1);
  const source = new AudioBufferSourceNode(context, { buffer, loop: true });
  const target = new MediaStreamAudioDestinationNode(context, { channelCount: 1 });
  source.connect(target);
  source.start();
  return target.stream.getAudioTracks()[0];
};
const meters = new AudioContext();
const meterOf = (track) => {
  const stream = new MediaStream([track]);
  const analyser = new AnalyserNode(meters, { fftSize: 8192 });
  new MediaStreamAudioSourceNode(meters, { mediaStream: stream }).connect(analyser);
  const samples = new Float32Array(8192);
  return () => {
    analyser.getFloatTimeDomainData(samples);
    return Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length);
  };
};
const microphone = async () => {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: { echoCancellation: false,
    noiseSuppression: false, autoGainControl: false } });
  return stream.getAudioTracks()[0];
};
"""


def call(page, script: str, values=None):
    """Return what a script of the page returns, which has the functions above."""
    code = f"async (values) => {{ {PAGE_FUNCTIONS} {FUNCTIONS} {script} }}"
    return page.evaluate(code, values)


@pytest.mark.parametrize("transport", ["shared", "messages"])
@pytest.mark.parametrize("rate", [16000, 48000])
def test_track_equals_python(npm_page, transport, rate):
    found = call(
        npm_page,
        """
      const context = new AudioContext({ sampleRate: values.rate });
      const track = await microphone();
      const options = { context, model: "live-tiny", buffer: 0.16, tap: true };
      const denoised = await denoiseTrack(track, { ...options, transport: values.transport });
      let reports = 0; // ten a second, while it plays
      const { node } = denoised;
      const { onUpdate } = node;
      node.onUpdate = (changes) => {
        reports += changes.playing ? 1 : 0;
        onUpdate(changes);
      };
      await until(() => reports > 25);
      const taps = await node.endAudio();
      const { latency } = denoised;
      denoised.close();
      const text = (blocks) => toBase64(new Blob(blocks));
      const [input, output] = [await text(taps.input), await text(taps.output)];
      const states = [denoised.track.readyState, track.readyState, context.state];
      return { input, output, events: taps.events, latency, states };
    """,
        {"rate": rate, "transport": transport},
    )
    for side in ("input", "output"):
        found[side] = np.frombuffer(base64.b64decode(found[side]), np.float32)
    engine = qse.load("live-tiny", sample_rate=rate)
    noisy = found["input"][: len(found["input"]) // engine.hop_length * engine.hop_length]
    assert np.abs(noisy).max() > 0.01
    wanted = qse.Stream(engine, blocksize=engine.hop_length).process(noisy)
    stretches = list(played(found, wanted))
    assert sum(len(one) for one, _ in stretches) > rate / 2
    for one, expected in stretches:
        np.testing.assert_allclose(one, expected, atol=1e-4, rtol=0)
    assert 0.02 < found["latency"] < 1.5
    assert found["states"] == ["ended", "live", "running"]  # nothing of the user's is stopped


def test_call_is_clean_at_the_other_end(npm_page):
    """Through a loop-back of two RTCPeerConnections; at a context of 44.1 kHz."""
    levels = call(
        npm_page,
        """
      const context = new AudioContext({ sampleRate: 44100 });
      const denoised = await denoiseTrack(hissTrack(), { context, model: "live-tiny" });
      const [near, far] = [new RTCPeerConnection(), new RTCPeerConnection()];
      near.onicecandidate = ({ candidate }) => far.addIceCandidate(candidate);
      far.onicecandidate = ({ candidate }) => near.addIceCandidate(candidate);
      const arrived = new Promise((resolve) => (far.ontrack = ({ track }) => resolve(track)));
      near.addTrack(denoised.track, new MediaStream([denoised.track]));
      await near.setLocalDescription();
      await far.setRemoteDescription(near.localDescription);
      await far.setLocalDescription();
      await near.setRemoteDescription(far.localDescription);
      const track = await arrived;
      const player = new Audio();
      player.muted = true;
      player.srcObject = new MediaStream([track]); // without it Chromium decodes nothing
      await player.play();
      const level = meterOf(track);
      denoised.bypass();
      await until(() => level() > 0.02);
      const noisy = level();
      denoised.bypass(false);
      await until(() => level() < 0.1 * noisy);
      await pause(300);
      const clean = level();
      denoised.setStrength(0);
      await until(() => level() > 0.5 * noisy);
      const unlimited = level();
      near.close();
      far.close();
      denoised.close();
      return [noisy, clean, unlimited];
    """,
    )
    noisy, clean, without_reduction = levels
    assert noisy > 0.02
    assert clean < 0.1 * noisy
    assert without_reduction > 0.5 * noisy


def test_another_device_is_cleaned_from_then_on(npm_page):
    """The cleaned track stays the same, and the end of the former device does not matter."""
    found = call(
        npm_page,
        """
      const [first, second] = [hissTrack(0.02), hissTrack(0.2)];
      const changes = [];
      const options = { model: "live-tiny", bypass: true, onChange: (one) => changes.push(one) };
      const denoised = await denoiseTrack(first, options);
      const { track } = denoised;
      const level = meterOf(track);
      await until(() => level() > 0.005);
      denoised.replace(second);
      first.dispatchEvent(new Event("ended"));
      const louder = await until(() => level() > 0.06);
      const still = track.readyState;
      second.dispatchEvent(new Event("ended"));
      return { louder, still, then: track.readyState, kinds: changes.map(({ kind }) => kind) };
    """,
    )
    assert found == {"louder": True, "still": "live", "then": "ended", "kinds": ["ended"]}


def test_thirty_starts_and_stops_leave_nothing(npm_page):
    found = call(
        npm_page,
        """
      const track = await microphone();
      const states = [];
      for (let i = 0; i < 30; i++) {
        const denoised = await denoiseTrack(track, { model: "live-tiny" });
        denoised.close();
        denoised.close();
        await until(() => denoised.context.state === "closed");
        states.push(`${denoised.track.readyState} ${denoised.context.state}`);
      }
      return { states: [...new Set(states)], track: track.readyState };
    """,
    )
    assert found == {"states": ["ended closed"], "track": "live"}
    for _ in range(50):
        if not npm_page.workers:
            break
        npm_page.wait_for_timeout(100)
    assert npm_page.workers == []


def test_livekit_processor(npm_page):
    """As LocalAudioTrack of livekit-client calls it: set, another device, taken off."""
    found = call(
        npm_page,
        """
      const audioContext = new AudioContext();
      const processor = new DenoiseProcessor({ model: "live-tiny", bypass: true });
      const [first, second] = [hissTrack(0.02), hissTrack(0.2)];
      await processor.init({ kind: "audio", track: first, audioContext });
      const before = processor.processedTrack;
      await processor.restart({ kind: "audio", track: second, audioContext });
      const level = meterOf(processor.processedTrack);
      const louder = await until(() => level() > 0.06);
      const after = processor.processedTrack;
      const other = new AudioContext();
      await processor.restart({ kind: "audio", track: second, audioContext: other });
      const last = processor.processedTrack;
      const live = last.readyState;
      await processor.destroy();
      const states = [before, last, first, second].map(({ readyState }) => readyState);
      return { name: processor.name, louder, states, context: audioContext.state,
        left: processor.processedTrack ?? null, tracks: [after === before, last === before, live] };
    """,
    )
    assert found == {
        "name": "qse-web",
        "louder": True,
        "states": ["ended", "ended", "live", "live"],
        "context": "running",
        "left": None,
        "tracks": [True, False, "live"],
    }


def test_node_cleans_in_an_audio_graph(npm_page):
    found = call(
        npm_page,
        """
      const context = new AudioContext();
      const node = await DenoiserNode.create(context, { model: "live-tiny", strength: 12 });
      const source = new MediaStreamAudioSourceNode(context, {
        mediaStream: new MediaStream([hissTrack()]) });
      const target = new MediaStreamAudioDestinationNode(context);
      source.connect(node).connect(target);
      const level = meterOf(target.stream.getAudioTracks()[0]);
      const heard = await until(() => level() > 0.005);
      await pause(2000);
      const result = { heard, level: level(), node: node instanceof AudioWorkletNode,
        model: node.model.name, dropouts: Object.keys(node.dropouts) };
      node.close();
      return result;
    """,
    )
    assert found["heard"] and found["node"] and found["model"] == "live-tiny"
    # hiss of 0.058 RMS, lowered by 12 dB at most
    assert 0.058 / 10 ** (14 / 20) < found["level"] < 0.058 / 2
    assert found["dropouts"] == ["gaps", "dropped", "skipped"]


ENDED = "const track = hissTrack(); track.stop(); return denoiseTrack(track)"
CLOSED = "const context = new AudioContext(); await context.close();"


@pytest.mark.parametrize(
    "code, cure",
    [
        (ENDED, "the track has ended: pass one that runs"),
        ("return denoiseTrack(null)", "pass one of stream.getAudioTracks()"),
        (CLOSED + "return denoiseTrack(input, { context })", "pass one that is open, or none"),
        (CLOSED + "return DenoiserNode.create(context)", "pass one that is open, or none"),
        ("delete globalThis.AudioWorkletNode; return denoiseTrack(input)", "open the page over"),
        ("return denoiseTrack(input, { assets: '/nowhere/' })", "/nowhere/models.json cannot"),
        ("return denoiseTrack(input, { model: 'best' })", "choose one of live-tiny, live-base"),
        ("return denoiseTrack(input, { strength: 'much' })", "give decibels from 0 up, or null"),
    ],
)
def test_what_cannot_work_is_said_and_the_track_goes_on(npm_page, code, cure):
    said, state, audible = call(
        npm_page,
        f"""
      const input = hissTrack();
      const level = meterOf(input);
      const attempt = async () => {{ {code} }};
      const said = await attempt().then(() => "", (error) => error.message);
      return [said, input.readyState, await until(() => level() > 0.02)];
    """,
    )
    assert said.startswith("qse-web: ") and cure in said and len(said.splitlines()) == 1
    assert state == "live" and audible


@pytest.mark.parametrize(
    "missing",
    [
        "live/worklet.js",
        "live/worker.js",
        "model/engine.js",
        "vendor/ort-wasm-simd-threaded.wasm.gz",
        "models/live-tiny/model-48k.onnx.gz",
    ],
)
def test_missing_asset_is_named(chromium, npm_package, missing):
    site = site_of(npm_package)
    del site[f"dist/{missing}"]
    server = serve(site)
    page = chromium.new_page()
    page.goto(f"http://127.0.0.1:{server.server_port}/")
    said, state = call(
        page,
        """
      const input = hissTrack();
      const options = { model: "live-tiny" };
      const said = await denoiseTrack(input, options).then(() => "", (error) => error.message);
      return [said, input.readyState];
    """,
    )
    page.close()
    server.shutdown()
    server.server_close()
    named = "live/worker.js" if missing == "model/engine.js" else missing  # what imports it
    assert said.startswith("qse-web: ") and f"/dist/{named} cannot be loaded" in said
    assert "the option assets" in said and state == "live"


def test_slow_device_falls_back_and_says_so(npm_page):
    """First to live-tiny, then to the untouched sound."""
    found = call(
        npm_page,
        """
      const said = [];
      const onChange = (change) => said.push(change);
      const input = hissTrack();
      const denoised = await denoiseTrack(input, { model: "live-base", onChange });
      const level = meterOf(denoised.track);
      const slow = { hop: { p50: 7 }, period: 6.25 };
      const report = () => {
        for (let i = 0; i < 12; i++) denoised.node.update({ figures: slow });
      };
      report();
      await until(() => said.length === 1);
      await pause(1500);
      const [model, clean] = [denoised.model, level()];
      report();
      const through = await until(() => level() > 0.04);
      const state = denoised.track.readyState;
      denoised.close();
      return { said, model, clean, through, state, load: denoised.load };
    """,
    )
    assert [change["kind"] for change in found["said"]] == ["model", "bypass"]
    assert "too slow for live-base: live-tiny runs now" in found["said"][0]["message"]
    assert "too slow for live-tiny. The untouched sound" in found["said"][1]["message"]
    assert found["model"] == "live-tiny" and found["clean"] < 0.03
    assert found["through"] and found["state"] == "live" and found["load"] == 0


def test_untouched_sound_goes_on_when_the_worker_dies(npm_page):
    found = call(
        npm_page,
        """
      const said = [];
      const onChange = ({ kind, message }) => said.push([kind, message]);
      const denoised = await denoiseTrack(hissTrack(), { model: "live-tiny", onChange });
      const level = meterOf(denoised.track);
      denoised.node.worker.close();
      const through = await until(() => level() > 0.04);
      denoised.close();
      return { said, through };
    """,
    )
    ((kind, message),) = found["said"]
    assert found["through"] and kind == "bypass" and "no longer answers" in message


def test_closed_context_ends_the_track_and_says_so(npm_page):
    kinds, state = call(
        npm_page,
        """
      const kinds = [];
      const context = new AudioContext();
      const onChange = ({ kind }) => kinds.push(kind);
      const options = { model: "live-tiny", context, onChange };
      const denoised = await denoiseTrack(hissTrack(), options);
      await context.close();
      await until(() => kinds.length);
      return [kinds, denoised.track.readyState];
    """,
    )
    assert kinds == ["ended"] and state == "ended"
