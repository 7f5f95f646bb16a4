/** The microphone mode: devices, start and stop, meters, figures, bypass, recording. */

import { download } from "../files/view.js";
import { LiveSession } from "./session.js";

const SILENT_SECONDS = 3; // of digital silence, after which the page asks whether the microphone is muted
const SLOW_RTF = 0.9;
const $ = (id) => document.getElementById(id);

function decibels(value) {
  return value <= -100 ? "silence" : `${value.toFixed(0).replace("-", "−")} dB`;
}

export class LiveView {
  constructor(settings) {
    this.settings = settings;
    this.session = null;
    this.outdated = false; // whether a setting has changed that needs a restart
    this.recordings = 0;
    this.unsaved = 0; // recordings that were not downloaded
    this.muted = false;
    this.bypassInputs = [...document.getElementsByName("bypass")];
    $("live-start").addEventListener("click", () => (this.session ? this.stop() : this.start()));
    $("record").addEventListener("click", () => this.toggleRecording());
    $("mute").addEventListener("click", () => this.mute(!this.muted));
    for (const input of this.bypassInputs) input.addEventListener("change", () => this.apply());
    for (const id of ["input-device", "channel", "output-device", "buffer"]) {
      $(id).addEventListener("change", () => this.restart());
    }
    settings.addEventListener("change", ({ detail }) => (detail === "strength" ? this.apply() : this.restart()));
    addEventListener("click", () => this.paused && this.session?.context.resume());
    navigator.mediaDevices?.addEventListener?.("devicechange", () => this.listDevices());
    this.listDevices();
    if (!("setSinkId" in AudioContext.prototype)) $("output-device").title = "This browser plays on the system's output only.";
  }

  /** Whether closing the page would lose a recording. */
  get busy() {
    return this.unsaved > 0 || this.recording;
  }

  get recording() {
    return $("record").getAttribute("aria-pressed") === "true";
  }

  get bypass() {
    return this.bypassInputs.find((input) => input.checked).value === "on";
  }

  /** Fill the device lists; their names are known once the microphone has been allowed. */
  async listDevices() {
    const devices = (await navigator.mediaDevices?.enumerateDevices?.().catch(() => [])) ?? [];
    const fill = (id, kind, fixed) => {
      const found = devices.filter((device) => device.kind === kind && device.deviceId && device.deviceId !== "default");
      const chosen = $(id).value;
      const options = found.map(({ label, deviceId }) => new Option(label || "Unnamed device", deviceId));
      $(id).replaceChildren(...fixed.map(([text, value]) => new Option(text, value)), ...options);
      if ([...$(id).options].some(({ value }) => value === chosen)) $(id).value = chosen;
    };
    const sinks = "setSinkId" in AudioContext.prototype;
    fill("input-device", "audioinput", [["Default", ""]]);
    fill("output-device", sinks ? "audiooutput" : "none", [["Default", ""], ["None (record only)", "none"]]);
  }

  options() {
    const sink = $("output-device").value;
    return {
      model: this.settings.modelFor("live"),
      band: this.settings.band,
      settings: { strength: this.settings.strength, bypass: this.bypass, muted: this.muted },
      deviceId: $("input-device").value,
      channel: Number($("channel").value) || null,
      sinkId: sink === "none" ? "" : sink,
      play: sink !== "none",
      buffer: Number($("buffer").value),
      transport: new URLSearchParams(location.search).get("transport") ?? undefined,
    };
  }

  async start() {
    this.status(`Starting ${this.settings.modelFor("live").name}: allow the microphone if the browser asks.`);
    $("live-start").disabled = true;
    const session = new LiveSession(this.options(), (changes) => session === this.session && this.update(changes));
    this.session = session;
    this.outdated = false;
    this.rtf = 0;
    this.channels = { given: 0, reason: "" }; // those of the microphone, and why not all are mixed
    this.paused = null;
    try {
      await session.start();
      this.listDevices();
      this.show(true);
    } catch (error) {
      this.session = null;
      this.show(false);
      this.status(error.message, true);
    }
    $("live-start").disabled = false;
    if (this.outdated) await this.restart();
  }

  async stop() {
    const { session } = this;
    $("live-start").disabled = true;
    this.status("Stopping.");
    await session.stop(); // which hands over a running recording
    if (this.session === session) this.session = null;
    this.show(false);
    this.status("Off.");
    $("live-start").disabled = false;
  }

  /** Start again with the present settings, if the microphone runs, recording as before; while it starts, afterwards. */
  async restart() {
    this.outdated = true;
    if (!this.session || $("live-start").disabled) return;
    const { recording } = this;
    await this.stop();
    await this.start();
    if (recording && this.session && !this.recording) this.toggleRecording();
  }

  apply() {
    $("bypass-note").hidden = !(this.session && this.bypass);
    this.session?.set({ strength: this.settings.strength, bypass: this.bypass, muted: this.muted });
  }

  mute(muted) {
    this.muted = muted;
    $("mute").setAttribute("aria-pressed", String(muted));
    $("mute").textContent = muted ? "Unmute" : "Mute";
    this.apply();
  }

  show(running) {
    $("live-start").textContent = running ? "Stop" : "Start microphone";
    $("live-start").classList.toggle("primary", !running);
    $("live-panel").classList.toggle("off", !running);
    for (const input of this.bypassInputs) input.disabled = !running;
    $("record").disabled = !running;
    $("mute").disabled = !running;
    $("bypass-note").hidden = !(running && this.bypass);
    if (running) return;
    this.setRecording(false);
    for (const side of ["noisy", "enhanced"]) this.level(side, -120, "–");
    for (const name of ["removed", "latency", "load", "dropouts"]) $(`figure-${name}`).textContent = "–";
  }

  status(text, bad = false) {
    if ($("live-status").textContent !== text) $("live-status").textContent = text;
    $("live-status").classList.toggle("bad", bad);
    $("live-status").classList.toggle("on", !bad && Boolean(this.session?.node));
  }

  update({ figures, dropouts, latency, channels, recording, error, paused }) {
    if (error) {
      this.session = null;
      this.show(false);
      this.status(error, true);
      return;
    }
    if (recording) this.addRecording(recording);
    if (paused !== undefined) this.paused = paused;
    if (channels !== undefined) this.channels = channels;
    if (figures && !this.session.stopping) this.showFigures(figures);
    if (dropouts) this.showTransport(dropouts, latency);
  }

  showFigures({ noisy, enhanced, silent, hop, period, resets }) {
    this.level("noisy", noisy, decibels(noisy));
    const played = this.muted ? -120 : enhanced; // the worker measures before the mute
    this.level("enhanced", played, decibels(played));
    const audible = noisy > -100 && enhanced > -119 && !this.muted;
    $("figure-removed").textContent = audible ? `${Math.max(0, noisy - enhanced).toFixed(1)} dB` : "–";
    this.rtf = hop.p50 / period;
    $("figure-load").textContent = `${Math.round(100 * this.rtf)} %`;
    $("figure-load").title = `${hop.p50.toFixed(2)} ms per hop of ${period} ms (median), ${hop.p99.toFixed(2)} ms (99th percentile)`;
    const { name, bandwidth } = this.session.model;
    const { channel } = this.session.options;
    const { given } = this.channels;
    if (this.paused) this.status(`The sound is ${this.paused}: click the page, or check the output device.`, true);
    else if (channel > given && given) this.status(`The microphone has no channel ${channel}: choose another.`, true);
    else if (silent > SILENT_SECONDS) this.status("The microphone delivers silence: is it muted, or the wrong one?", true);
    else if (this.muted) this.status("Muted: output and recording are silent.", true);
    else if (this.bypass) this.status("Bypass: the microphone is played as it is.", true);
    else if (this.settings.strength === 0) this.status("Noise reduction is 0 dB: the microphone is played as it is.", true);
    else if (this.rtf > SLOW_RTF) this.status(`${name} is too slow on this device: choose a faster model.`, true);
    else this.status(`Cleaning with ${name} up to ${bandwidth / 1000} kHz${this.remarks(resets)}.`);
  }

  /** Return what else the status line says while all is well. */
  remarks(resets) {
    const { reason } = this.channels;
    const channels = reason && `; channels: ${reason}`;
    return channels + (resets ? `; the model was reset ${resets} times` : "");
  }

  showTransport({ underruns, dropped, skipped }, { input, pipeline, model, output, total }) {
    const milliseconds = (seconds) => `${Math.round(1000 * seconds)} ms`;
    $("figure-latency").textContent = milliseconds(total);
    $("figure-latency").title = `microphone ${milliseconds(input)}, buffers ${milliseconds(pipeline)}, model ${milliseconds(model)}, output ${milliseconds(output)}`;
    $("figure-dropouts").textContent = underruns + Math.ceil(dropped / 10) + skipped;
    $("figure-dropouts").title = `${underruns} gaps, ${dropped} blocks dropped, ${skipped} times caught up`;
  }

  level(side, value, text) {
    const meter = $(`meter-${side}`);
    const clipped = Math.max(-80, Math.min(0, value));
    meter.style.setProperty("--level", `${(100 * (clipped + 80)) / 80}%`);
    meter.setAttribute("aria-valuenow", Math.round(clipped));
    $(`level-${side}`).textContent = text;
  }

  toggleRecording() {
    const recording = !this.recording;
    if (recording) this.session.record();
    else this.session.endRecording();
    this.setRecording(recording);
  }

  setRecording(recording) {
    $("record").setAttribute("aria-pressed", String(recording));
    $("record").textContent = recording ? "Stop recording" : "Record both";
  }

  addRecording({ blob, seconds }) {
    if (!seconds) return;
    const name = `microphone-${++this.recordings}.wav`;
    const row = document.createElement("li");
    row.className = "file";
    const title = Object.assign(document.createElement("span"), { className: "file-name", textContent: name });
    const text = `${seconds.toFixed(1)} s · microphone left, cleaned right`;
    const state = Object.assign(document.createElement("span"), { className: "file-state", textContent: text });
    const actions = Object.assign(document.createElement("span"), { className: "file-actions" });
    const button = Object.assign(document.createElement("button"), { type: "button", className: "soft", textContent: "Download" });
    button.setAttribute("aria-label", `Download ${name}`);
    let saved = false;
    this.unsaved++;
    button.addEventListener("click", () => {
      download(blob, name);
      if (!saved) this.unsaved--;
      saved = true;
    });
    actions.append(button);
    row.append(title, actions, state);
    $("recordings").append(row);
  }
}
