"""The microphone in the browser: what is played equals Python on what was received, over both
transports."""

import base64

import numpy as np
import pytest
from browser import PAGE_FUNCTIONS, from_wav, played, wait

import qse

TRANSPORTS = ("shared", "messages")
STATUS = "document.getElementById('live-status').textContent"
RUN = f"""async ({{ name, seconds, strength = null, ...options }}) => {{
  {PAGE_FUNCTIONS}
  const {{ LiveSession }} = await import("/live/session.js");
  let recording = null;
  let reports = 0; // of the audio thread, ten a second, while it played
  const updates = {{}};
  const settings = {{ strength, bypass: false }};
  const wanted = {{ model: await modelOf(name), settings, tap: true, ...options }};
  const session = new LiveSession(wanted, (update) => {{
    recording = update.recording ?? recording;
    reports += update.playing ? 1 : 0;
    Object.assign(updates, update);
  }});
  await session.start();
  session.record();
  const pause = () => new Promise((resolve) => setTimeout(resolve, 50));
  const most = 1200; // pauses, on a busy machine
  for (let i = 0; i < most && reports < 10 * seconds; i++) await pause();
  const taps = await session.stop();
  const text = async (blocks) => toBase64(new Blob(blocks));
  return {{
    input: await text(taps.input), output: await text(taps.output), events: taps.events,
    recording: await toBase64(recording.blob), bandwidth: session.model.bandwidth,
    figures: updates.figures, latency: updates.latency, dropouts: updates.dropouts,
  }};
}}"""


def run(page, name: str, seconds: float = 3, **options) -> dict:
    """Play for some seconds; return what the audio thread received and played, the recording."""
    result = page.evaluate(RUN, {"name": name, "seconds": seconds, **options})
    for side in ("input", "output"):
        result[side] = np.frombuffer(base64.b64decode(result[side]), np.float32)
    result["recording"] = from_wav(base64.b64decode(result["recording"]))
    return result


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize(
    "name, rate, strength",
    [
        ("live-tiny", 16000, None),
        ("live-base", 16000, None),
        ("live-tiny", 16000, 6),
        ("live-tiny", 48000, None),
    ],
)
def test_live_output_equals_python(shared_page, transport, name, rate, strength):
    """At the model's own rate nothing is resampled: the samples are those of a Stream."""
    result = run(
        shared_page, name, sampleRate=rate, transport=transport, strength=strength, buffer=0.16
    )
    assert result["bandwidth"] == rate / 2
    engine = qse.load(name, sample_rate=rate)
    noisy = result["input"][: len(result["input"]) // engine.hop_length * engine.hop_length]
    assert np.abs(noisy).max() > 0.01
    wanted = qse.Stream(engine, blocksize=engine.hop_length, strength=strength).process(noisy)
    stretches = list(played(result, wanted))
    assert sum(len(found) for found, _ in stretches) > rate / 2
    for found, expected in (pair for pair in stretches if len(pair[0])):
        # of rounding; its peak depends on where in the voice the microphone began
        difference = found - expected
        assert np.abs(difference).max() < 5e-6 and np.sqrt(np.mean(difference**2)) < 1e-7


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("rate", [44100, 48000])
def test_live_recording_is_aligned(shared_page, transport, rate):
    """Noisy left, enhanced right, of the same moments, at the rate of the sound card."""
    result = run(shared_page, "live-tiny", sampleRate=rate, transport=transport)
    (recorded, found_rate) = result["recording"]
    received = result["input"]
    assert found_rate == rate and recorded.shape[1] == 2
    noisy, enhanced = recorded[rate // 2 :].T
    energy = np.convolve(received**2, np.ones(4000), "valid")
    # least squared difference
    start = int(np.argmin(energy - 2 * np.correlate(received, noisy[:4000], "valid")))
    np.testing.assert_allclose(
        noisy[: len(received) - start], received[start : start + len(noisy)], atol=1e-4
    )
    wanted = qse.denoise(noisy, rate, "live-tiny")[rate // 2 :]
    found = enhanced[rate // 2 :]
    lags = range(-40, 41)
    products = [np.dot(found[50:-50], np.roll(wanted, lag)[50:-50]) for lag in lags]
    assert abs(lags[int(np.argmax(products))]) <= 1


def test_live_figures(shared_page):
    result = run(shared_page, "live-tiny", seconds=2)
    assert result["figures"]["hop"]["p50"] > 0 and result["figures"]["period"] == 12.5
    assert -60 < result["figures"]["enhanced"] <= result["figures"]["noisy"] + 1 < 1
    latency = result["latency"]
    assert latency["total"] == pytest.approx(
        sum(latency[part] for part in ("input", "pipeline", "model", "output"))
    )
    assert set(result["dropouts"]) == {"underruns", "dropped", "skipped"}


def test_page_runs_the_microphone(page):
    """Start, figures, limit, bypass, recording, another model while running, stop."""
    page.click("#tab-live")
    page.select_option("#model", "live-tiny")
    page.click("#live-start")
    # the latter on a busy machine
    wait(page, f"/(Cleaning with live-tiny|live-tiny is too slow)/.test({STATUS})")
    wait(page, "document.getElementById('figure-latency').textContent.endsWith(' ms')")
    page.click("#record")
    page.locator("[name=bypass][value=on] + span").click()
    wait(page, f"{STATUS}.includes('Bypass')")
    assert page.locator("#bypass-note").is_visible()
    page.locator("[name=bypass][value=off] + span").click()
    page.locator("#strength").fill("0")
    wait(page, f"{STATUS}.includes('0 dB')")
    page.locator("#strength").fill("41")
    page.select_option("#model", "live-base")
    wait(page, f"/(Cleaning with live-base|live-base is too slow)/.test({STATUS})")
    assert "microphone-1.wav" in page.locator("#recordings").inner_text()
    assert page.locator("#record").inner_text() == "Stop recording"  # in another file
    wait(page, "document.getElementById('figure-latency').textContent.endsWith(' ms')")
    page.click("#live-start")
    wait(page, f"{STATUS} === 'Off.'")
    assert "microphone-2.wav" in page.locator("#recordings").inner_text()
    assert page.locator("#figure-load").inner_text() == "–"


def test_page_shows_silence_while_the_output_is_muted(page):
    page.click("#tab-live")
    page.select_option("#model", "live-tiny")
    page.click("#live-start")
    level = "Number(document.getElementById('meter-enhanced').getAttribute('aria-valuenow'))"
    wait(page, f"{level} > -70")
    page.click("#mute")
    wait(page, f"{STATUS}.includes('Muted') && {level} === -80")
    assert page.locator("#level-enhanced").inner_text() == "silence"
    assert page.locator("#figure-removed").inner_text() == "–"
    page.click("#mute")
    wait(page, f"{level} > -70")


def test_page_says_that_the_microphone_is_refused(page):
    page.evaluate("""() => {
      navigator.mediaDevices.getUserMedia = async () => {
        throw new DOMException("", "NotAllowedError");
      };
    }""")
    page.click("#tab-live")
    page.click("#live-start")
    wait(page, f"{STATUS}.includes('does not allow the microphone')")
    assert page.locator("#live-start").inner_text() == "Start microphone"


def test_page_says_that_the_microphone_is_silent(page):
    page.evaluate("""() => {
      const silent = new AudioContext().createMediaStreamDestination().stream;
      navigator.mediaDevices.getUserMedia = async () => silent;
    }""")
    page.select_option("#model", "live-tiny")
    page.click("#tab-live")
    page.click("#live-start")
    wait(page, f"{STATUS}.includes('silence')")


# a voice in two channels of opposite sign, as from a cable in antiphase
ANTIPHASE = """() => {
  const context = new AudioContext();
  const tone = new OscillatorNode(context, { frequency: 300 });
  const merger = new ChannelMergerNode(context, { numberOfInputs: 2 });
  tone.connect(new GainNode(context, { gain: 0.3 })).connect(merger, 0, 0);
  tone.connect(new GainNode(context, { gain: -0.3 })).connect(merger, 0, 1);
  const target = new MediaStreamAudioDestinationNode(context, { channelCount: 2 });
  merger.connect(target);
  tone.start();
  navigator.mediaDevices.getUserMedia = async () => target.stream;
}"""


def test_page_hears_channels_that_cancel_and_says_so(page):
    page.evaluate(ANTIPHASE)
    page.select_option("#model", "live-tiny")
    page.click("#tab-live")
    page.click("#live-start")
    wait(page, f"{STATUS}.includes('channels: only 1: mixed, they would cancel')")
    level = "Number(document.getElementById('meter-noisy').getAttribute('aria-valuenow'))"
    wait(page, f"Math.abs({level} + 13.5) < 2")  # of a sine with a peak of 0.3
    page.select_option("#channel", "2")
    wait(page, f"{STATUS}.includes('channels: only 2 of 2, as chosen')")


def test_live_failure_ends_with_silence_and_a_sentence(shared_page):
    """Check that the audio thread plays silence without its worker, and never the noisy signal."""
    found = shared_page.evaluate(f"""async () => {{
      {PAGE_FUNCTIONS}
      const {{ LiveSession }} = await import("/live/session.js");
      const settings = {{ strength: null, bypass: false }};
      const options = {{ model: await modelOf("live-tiny"), settings, tap: true }};
      const session = new LiveSession(options, () => {{}});
      await session.start();
      await new Promise((resolve) => setTimeout(resolve, 1500));
      session.node.worker.close();
      await new Promise((resolve) => setTimeout(resolve, 1500));
      const stopping = session.stop();
      session.node.worker.onStopped(); // which the worker would call
      const taps = await stopping;
      const peaks = taps.output.slice(-200).map((block) => Math.max(...block.map(Math.abs)));
      return Math.max(...peaks);
    }}""")
    assert found == 0


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_recording_is_kept_when_the_microphone_goes(shared_page, transport):
    found = shared_page.evaluate(
        f"""async (transport) => {{
      {PAGE_FUNCTIONS}
      const {{ LiveSession }} = await import("/live/session.js");
      const updates = [];
      const settings = {{ strength: null, bypass: false }};
      let playing = 0;
      const options = {{ model: await modelOf("live-tiny"), settings, transport }};
      const session = new LiveSession(options, (update) => {{
        playing += update.playing ? 1 : 0;
        if (update.recording) updates.push(["recording", update.recording.seconds]);
        if (update.error) updates.push(["error", update.error]);
      }});
      await session.start();
      session.record();
      const pause = () => new Promise((resolve) => setTimeout(resolve, 50));
      for (let i = 0; i < 1200 && playing < 10; i++) await pause();
      session.stream.getAudioTracks()[0].dispatchEvent(new Event("ended"));
      for (let i = 0; i < 1200 && !session.closed; i++) await pause();
      return updates;
    }}""",
        transport,
    )
    (kind, seconds), (end, sentence) = found
    assert kind == "recording" and seconds > 0.3
    assert end == "error" and "The microphone is gone" in sentence


@pytest.mark.parametrize("rate", [16000, 48000, 192000])
def test_rings_hold_all_that_may_be_under_way(shared_page, rate):
    limit, capacity = shared_page.evaluate(
        f"""async (sampleRate) => {{
      {PAGE_FUNCTIONS}
      const {{ LiveSession }} = await import("/live/session.js");
      const settings = {{ strength: null, bypass: false }};
      const options = {{ model: await modelOf("live-tiny"), settings, sampleRate }};
      const session = new LiveSession(options, () => {{}});
      await session.start();
      const {{ limit, rings }} = session.node.options;
      await session.stop();
      return [limit, rings.output.samples.byteLength / 4];
    }}""",
        rate,
    )
    assert limit > 0.5 * rate and 2 * limit <= capacity < 4 * limit
    assert capacity & (capacity - 1) == 0


def test_live_failure_is_noticed(shared_page):
    said = shared_page.evaluate(f"""async () => {{
      {PAGE_FUNCTIONS}
      const {{ LiveSession }} = await import("/live/session.js");
      const settings = {{ strength: null, bypass: false }};
      const options = {{ model: await modelOf("live-tiny"), settings }};
      const said = new Promise((resolve) => {{
        const session = new LiveSession(options, (update) => {{
          if (update.error) resolve([update.error, session.closed]);
        }});
        session.start().then(() => session.node.worker.close());
      }});
      return said;
    }}""")
    assert "no longer answers" in said[0] and said[1]


def test_page_says_that_the_sound_is_suspended(page):
    """As without an output device, or where the browser waits for a click."""
    page.evaluate("""() => {
      AudioContext.prototype.resume = function () { this.suspend(); return new Promise(() => {}); };
    }""")
    page.select_option("#model", "live-tiny")
    page.click("#tab-live")
    page.click("#live-start")
    wait(page, f"{STATUS}.includes('The sound is suspended')")
