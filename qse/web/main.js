/** Start the page: check the browser, list the models, connect the settings with the two modes. */

import { FilesView } from "./files/view.js";
import { LiveView } from "./live/view.js";
import { modelsOf } from "./model/bands.js";
import { VoiceSetting } from "./voice_setting.js";

const LARGEST_LIMIT = 41; // of the slider: its last step means no limit
const BEST = "studio-large";
const DEFAULT_MODELS = { files: "studio-base", live: "live-base" }; // recordings may look ahead
const $ = (id) => document.getElementById(id);

/** Return a sentence for a browser that lacks something, or null. */
function missing() {
  if (!isSecureContext) return "This page must be opened over HTTPS or from this computer: browsers allow no sound otherwise.";
  if (!globalThis.WebAssembly || !globalThis.AudioWorkletNode || !globalThis.DecompressionStream) {
    return "This browser is too old: it lacks WebAssembly, AudioWorklet or DecompressionStream. Update it.";
  }
  return null;
}

function show(problem) {
  $("problem").textContent = problem;
  $("problem").hidden = false;
}

/** The settings that both modes share; dispatches `change` with the name of what changed. */
class Settings extends EventTarget {
  constructor(models) {
    super();
    this.models = models;
    const fastest = models[0];
    const note = ({ name }) => ({ [BEST]: ", best for recordings", [fastest.name]: ", fastest" })[name] ?? "";
    const kept = ({ talker }) => (talker ? ", keeps one voice" : "");
    const text = (model) => `${model.name} · delay ${Math.round(1000 * model.latency)} ms${note(model)}${kept(model)}`;
    $("model").replaceChildren(...this.models.map((model) => new Option(text(model), model.name)));
    this.chosen = null; // by the user, for both modes
    this.voice = new VoiceSetting(() => this.announce("voice"));
    this.showModel("files");
    $("model").disabled = false;
    $("model").addEventListener("change", () => {
      this.chosen = $("model").value;
      this.showModel();
      this.announce("model");
    });
    $("band").addEventListener("change", () => this.announce("band"));
    $("strength").addEventListener("input", () => this.announce("strength"));
    this.showStrength();
  }

  /** The model that the user chose, or the default of `mode`, "files" or "live", with the `voice` that it keeps. */
  modelFor(mode) {
    const wanted = this.chosen ?? DEFAULT_MODELS[mode];
    const model = this.models.find(({ name }) => name === wanted) ?? this.models[0];
    return { ...model, voice: this.voice.of(model) };
  }

  showModel(mode) {
    const model = this.modelFor(mode);
    $("model").value = model.name;
    this.voice.show(model);
  }

  /** "wide", or null: by the sample rate of the sound. */
  get band() {
    return $("band").value || null;
  }

  /** Attenuation limit in dB; null: none. */
  get strength() {
    const value = Number($("strength").value);
    return value >= LARGEST_LIMIT ? null : value;
  }

  announce(name) {
    this.showStrength();
    this.dispatchEvent(new CustomEvent("change", { detail: name }));
  }

  showStrength() {
    const text = this.strength === null ? "no limit" : this.strength === 0 ? "0 dB: off" : `${this.strength} dB`;
    $("strength-text").textContent = text;
    $("strength").setAttribute("aria-valuetext", text);
  }
}

/** Show a panel at a time; `onSelect(mode)` is called with "files" or "live". */
function connectTabs(onSelect) {
  const tabs = [$("tab-files"), $("tab-live")];
  const select = (chosen) => {
    for (const tab of tabs) {
      tab.setAttribute("aria-selected", String(tab === chosen));
      tab.tabIndex = tab === chosen ? 0 : -1;
      $(tab.getAttribute("aria-controls")).hidden = tab !== chosen;
    }
    onSelect(chosen.id.replace("tab-", ""));
  };
  tabs.forEach((tab, i) => {
    tab.addEventListener("click", () => select(tab));
    tab.addEventListener("keydown", ({ key }) => {
      if (key !== "ArrowLeft" && key !== "ArrowRight") return;
      select(tabs[1 - i]);
      tabs[1 - i].focus();
    });
  });
  select(location.hash === "#microphone" ? tabs[1] : tabs[0]);
}

async function readManifest() {
  const response = await fetch("manifest.json");
  const manifest = await response.json();
  if (!manifest.models.length) throw new Error("no model");
  return manifest;
}

async function start() {
  let settings = null;
  let mode = "files";
  connectTabs((selected) => {
    mode = selected;
    settings?.showModel(mode);
  });
  const lacking = missing();
  if (lacking) return show(lacking);
  let manifest;
  try {
    manifest = await readManifest();
  } catch {
    return show("The list of models cannot be read: start the page with `qse web`, or export it again.");
  }
  settings = new Settings(modelsOf(manifest, document.baseURI));
  settings.showModel(mode);
  const views = [new FilesView(settings), new LiveView(settings)];
  addEventListener("beforeunload", (event) => {
    if (views.some((view) => view.busy)) event.preventDefault(); // the browser asks first
  });
  $("about").textContent = `qse ${manifest.version}, Apache-2.0. It contains ONNX Runtime (MIT) and Mediabunny (MPL-2.0).`;
  if (manifest.offline) navigator.serviceWorker?.register("sw.js").catch(() => {});
  document.documentElement.dataset.ready = "true";
}

start();
