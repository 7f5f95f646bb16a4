/** The part of the page that plays and shows one recording, original and cleaned. */

import { keptShare } from "../model/model_stream.js";
import { Player } from "./player.js";
import { SpectrogramView } from "./spectrogram_view.js";

const COLUMNS = 480;
const STEP_SECONDS = 5;
const REDRAW_MS = 250;
const $ = (id) => document.getElementById(id);

/** Return seconds as "m:ss". */
export function clock(seconds) {
  const total = Math.floor(seconds);
  return `${Math.floor(total / 60)}:${String(total % 60).padStart(2, "0")}`;
}

export class ListenView {
  /** `worker` is a RemoteWorker of worker.js that draws spectrograms. */
  constructor(worker, settings) {
    this.worker = worker;
    this.settings = settings;
    this.player = new Player(() => this.showState());
    this.views = ["noisy", "enhanced"].map((side) => new SpectrogramView($(`picture-${side}`).querySelector("canvas")));
    this.recording = null;
    this.drawing = [0, 0]; // number of the last picture begun, per side
    this.shown = [null, null];
    this.connect();
  }

  connect() {
    $("play").addEventListener("click", () => this.toggle());
    $("seek").addEventListener("input", () => this.seek(Number($("seek").value)));
    for (const input of this.sides) input.addEventListener("change", () => this.applySide());
    for (const canvas of document.querySelectorAll("#listen .canvas")) {
      canvas.addEventListener("click", (event) => {
        const { left, width } = canvas.getBoundingClientRect();
        this.seek(((event.clientX - left) / width) * this.player.duration);
      });
    }
    document.addEventListener("keydown", (event) => this.key(event));
    this.settings.addEventListener("change", ({ detail }) => {
      if (detail !== "strength" || !this.recording) return;
      this.applySide();
      clearTimeout(this.redraw);
      this.redraw = setTimeout(() => this.draw(1), REDRAW_MS);
    });
  }

  get sides() {
    return document.getElementsByName("side");
  }

  /** Show a recording with `name`, `noisy` and `enhanced` (Blobs). */
  async open(recording) {
    this.recording = recording;
    await this.player.load(recording.noisy, recording.enhanced);
    $("listen").hidden = false;
    $("listen-name").textContent = recording.name;
    $("seek").max = this.player.duration;
    $("duration").textContent = clock(this.player.duration);
    for (const span of document.querySelectorAll("#listen .span")) span.textContent = `0 – ${this.player.sampleRate / 2000} kHz`;
    this.applySide();
    this.showState();
    this.draw(0);
    this.draw(1);
  }

  close() {
    this.player.pause();
    this.recording = null;
    $("listen").hidden = true;
  }

  async draw(side) {
    const { noisy, enhanced } = this.recording;
    const run = ++this.drawing[side];
    const figure = $(side ? "picture-enhanced" : "picture-noisy");
    figure.setAttribute("aria-busy", "true");
    const view = this.views[side];
    if (this.shown[side] !== this.recording) view.clear(COLUMNS); // else the new picture replaces the old from the left
    this.shown[side] = this.recording;
    const values = { noisy, enhanced: side ? enhanced : null, strength: this.settings.strength, columns: COLUMNS };
    try {
      await this.worker.call("drawSpectrogram", values, ({ first, levels }) => {
        if (run === this.drawing[side]) view.draw(first, levels);
      });
    } catch {
      // the original is gone: the picture stays as it is
    }
    if (run === this.drawing[side]) figure.setAttribute("aria-busy", "false");
  }

  /** Play what the switch says: the original, or the mixture for the attenuation limit. */
  applySide() {
    const original = [...this.sides].find((input) => input.checked).value === "noisy";
    const kept = original ? 1 : keptShare(this.settings.strength);
    this.player.setShares(kept, 1 - kept);
    $("picture-noisy").classList.toggle("playing", original);
    $("picture-enhanced").classList.toggle("playing", !original);
  }

  toggle() {
    if (this.player.playing) this.player.pause();
    else this.player.play();
  }

  async seek(seconds) {
    await this.player.seek(seconds);
    this.showState();
  }

  key(event) {
    const busy = event.target.closest?.("input[type=range], select, button, [role=tab]");
    if (!this.recording || $("panel-files").hidden || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "b" || event.key === "B") {
      const next = [...this.sides].find((input) => !input.checked);
      next.checked = true;
      this.applySide();
    } else if (event.key === " " && !busy) this.toggle();
    else if (event.key === "ArrowLeft" && !event.target.closest?.("input, select, [role=tab]")) this.seek(this.player.position - STEP_SECONDS);
    else if (event.key === "ArrowRight" && !event.target.closest?.("input, select, [role=tab]")) this.seek(this.player.position + STEP_SECONDS);
    else return;
    event.preventDefault();
  }

  showState() {
    const { position, duration, playing } = this.player;
    $("play").classList.toggle("playing", playing);
    $("play").setAttribute("aria-label", playing ? "Pause" : "Play");
    $("seek").value = position;
    $("seek").setAttribute("aria-valuetext", `${clock(position)} of ${clock(duration)}`);
    $("position").textContent = clock(position);
    for (const playhead of document.querySelectorAll(".playhead")) playhead.style.left = `${(100 * position) / duration}%`;
    if (playing) requestAnimationFrame(() => this.showState());
  }
}
