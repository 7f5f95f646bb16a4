/** The recordings mode: a list of files, each enhanced in the background, with download and playback. */

import { graphFor } from "../model/bands.js";
import { RemoteWorker } from "../rpc.js";
import { openRecording } from "./decode.js";
import { ListenView, clock } from "./listen.js";

const WORKER = new URL("worker.js", import.meta.url);
const SUFFIX = "-enhanced.wav";
const SAMPLE = "sample.flac"; // comes with the page
const ROOM = "Remove others from the list, or use a window that is not private.";
const $ = (id) => document.getElementById(id);

function element(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

/** Offer a Blob as a download. */
export function download(blob, name) {
  const url = URL.createObjectURL(blob);
  element("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

/** Return `name`, with a number where others have the same: "voice.wav", "voice (2).wav". */
export function distinctName(name, others) {
  const dot = name.lastIndexOf(".") > 0 ? name.lastIndexOf(".") : name.length;
  let distinct = name;
  for (let number = 2; others.includes(distinct); number++) {
    distinct = `${name.slice(0, dot)} (${number})${name.slice(dot)}`;
  }
  return distinct;
}

/** One file of the list; `state` is waiting, working, done or failed; `name` differs from those of other rows. */
class FileRow {
  constructor(file, name, actions) {
    this.file = file;
    this.name = name;
    this.state = "waiting";
    this.text = element("span", { className: "file-state", textContent: "Waiting" });
    this.progress = element("progress", { max: 1, value: 0 });
    this.progress.setAttribute("aria-label", `Progress of ${name}`);
    const button = (text, action, properties = {}) => {
      const node = element("button", { type: "button", textContent: text, ...properties });
      node.addEventListener("click", () => action(this));
      return node;
    };
    this.listen = button("Listen", actions.listen, { hidden: true });
    this.download = button("Download", actions.download, { hidden: true, className: "soft" });
    this.remove = button("×", actions.remove, { className: "icon-button", title: "Remove from the list" });
    this.listen.setAttribute("aria-label", `Listen to ${name}`);
    this.download.setAttribute("aria-label", `Download ${name}`);
    this.remove.setAttribute("aria-label", `Remove ${name} from the list`);
    const buttons = element("span", { className: "file-actions" }, this.listen, this.download, this.remove);
    this.node = element("li", { className: "file" }, element("span", { className: "file-name", textContent: name, title: name }), buttons, this.text, this.progress);
  }

  show(state, text) {
    this.state = state;
    this.text.textContent = text;
    this.progress.hidden = state !== "working";
    this.listen.hidden = this.download.hidden = state !== "done";
    this.node.classList.toggle("failed", state === "failed");
  }

  reading(done) {
    this.progress.value = done;
    this.text.textContent = `Reading ${Math.floor(100 * done)} %`;
  }

  describe() {
    const { sampleRate, channels, frames, damaged, missing, joined, tracks } = this.recording;
    const layout = channels === 1 ? "mono" : channels === 2 ? "stereo" : `${channels} channels`;
    const lost = missing ? `, ${missing.toFixed(1)} s of it are missing` : "";
    const fault = damaged ? ` · the file is damaged${lost}` : "";
    const others = joined ? " · of several files that were joined to this one, only the first" : "";
    const one = tracks > 1 ? ` · one of its ${tracks} sound tracks` : "";
    return `${clock(frames / sampleRate)} · ${sampleRate / 1000} kHz · ${layout}${fault}${others}${one}`;
  }
}

export class FilesView {
  constructor(settings) {
    this.settings = settings;
    this.helper = new RemoteWorker(WORKER); // reads, draws and encodes; never loads a model
    this.idle = [];
    this.workers = Math.max(1, Math.min(4, Math.floor((navigator.hardwareConcurrency || 2) / 2)));
    this.rows = [];
    this.listenView = new ListenView(this.helper, settings);
    this.place = element("li", { className: "player" });
    this.connectDrop();
    this.prepared = false;
    for (const event of ["pointerover", "focusin"]) $("panel-files").addEventListener(event, () => this.prepare());
    $("download-all").addEventListener("click", () => this.downloadAll());
    settings.addEventListener("change", ({ detail }) => {
      if (detail !== "strength") this.enhanceAgain();
    });
  }

  /** Load the runtime and the chosen model, once, while the user chooses the first recording. */
  async prepare() {
    if (this.prepared || this.rows.length) return;
    this.prepared = true;
    const worker = new RemoteWorker(WORKER);
    this.idle.push(worker);
    const { band } = this.settings;
    const model = this.settings.modelFor("files");
    try {
      await worker.call("prepare", { model, band });
    } catch {
      if (!this.idle.includes(worker)) return; // in use: the recording says what is wrong
      this.idle = this.idle.filter((other) => other !== worker);
      worker.close(); // the first recording tries again
    }
  }

  /** Whether closing the page would lose work. */
  get busy() {
    return this.rows.some(({ state }) => state === "waiting" || state === "working");
  }

  connectDrop() {
    const drop = $("drop");
    $("choose").addEventListener("click", () => $("file-input").click());
    $("sample").addEventListener("click", () => this.addSample());
    $("file-input").addEventListener("change", () => {
      this.add([...$("file-input").files]);
      $("file-input").value = "";
    });
    addEventListener("dragover", (event) => {
      event.preventDefault();
      this.prepare();
      drop.classList.add("over");
    });
    addEventListener("dragleave", (event) => event.relatedTarget || drop.classList.remove("over"));
    addEventListener("drop", (event) => {
      event.preventDefault();
      drop.classList.remove("over");
      if (event.dataTransfer.files.length) $("tab-files").click();
      const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.());
      const folders = entries.filter((entry) => entry?.isDirectory);
      const problems = folders.map(({ name }) => [name, `${name} is a folder. Drop the files in it.`]);
      this.add([...event.dataTransfer.files], new Map(problems));
    });
  }

  /** Add the noisy recording that comes with the page. */
  async addSample() {
    const answer = await fetch(SAMPLE).catch(() => null);
    const content = answer?.ok ? [await answer.blob()] : [];
    const problems = content.length ? [] : [[SAMPLE, "The sample could not be loaded. Reload the page."]];
    this.add([new File(content, SAMPLE)], new Map(problems));
  }

  /** Add rows for files; `problems`: what to say of those that cannot be read, a Map by their names. */
  add(files, problems = new Map()) {
    const actions = {
      listen: async (row) => {
        await this.listen(row);
        $("listen").scrollIntoView({ block: "nearest" });
      },
      download: (row) => this.download(row),
      remove: (row) => this.remove(row),
    };
    for (const file of files) {
      const name = distinctName(file.name, this.rows.map((row) => row.name));
      const row = new FileRow(file, name, actions);
      if (problems.has(file.name)) row.show("failed", problems.get(file.name));
      this.rows.push(row);
      $("file-list").append(row.node);
    }
    this.refresh();
    this.work();
  }

  refresh() {
    $("results").hidden = !this.rows.length;
    $("drop").classList.toggle("small", this.rows.length > 0);
    $("download-all").hidden = this.rows.filter(({ state }) => state === "done").length < 2;
  }

  /** Start as many waiting rows as there are free workers. */
  work() {
    for (const row of this.rows) {
      if (!this.workers) return;
      if (row.state === "waiting") this.enhance(row);
    }
  }

  async enhance(row) {
    this.workers--;
    const worker = (row.worker = this.idle.pop() ?? new RemoteWorker(WORKER));
    row.show("working", "Reading");
    try {
      row.recording ??= await openRecording(row.file, worker, ({ done }) => row.reading(done));
      await this.run(row, worker);
      if (!worker.closed) this.idle.push(worker); // its row may have been removed while the player opened
    } catch (error) {
      if (error.kind !== "Stopped") row.show("failed", failure(row, error));
      worker.close(); // it may be short of memory: a new one begins afresh
    }
    if (row.worker === worker) row.worker = null;
    this.workers++;
    this.refresh();
    this.work();
  }

  async run(row, worker) {
    const { band } = this.settings;
    const model = this.settings.modelFor("files");
    const { blob, frames, sampleRate } = row.recording;
    row.graph = graphFor(model, sampleRate, band);
    row.progress.removeAttribute("value");
    row.show("working", `${row.describe()} · loading ${model.name}`);
    const result = await worker.call("enhanceFile", { blob, model, band }, ({ done }) => {
      row.progress.value = done;
      row.show("working", `${row.describe()} · ${Math.floor(100 * done)} % with ${model.name}`);
    });
    row.result = { name: row.name, noisy: blob, enhanced: result.blob };
    const speed = frames / sampleRate / result.seconds;
    const limited = result.bandwidth < sampleRate / 2 ? ` up to ${result.bandwidth / 1000} kHz` : "";
    row.summary = `${row.describe()} · cleaned with ${model.name}${limited}, ${speed.toFixed(speed < 10 ? 1 : 0)} times as fast as playback`;
    row.show("done", row.summary);
    if (!this.current || this.current === row) await this.listen(row);
  }

  async listen(row) {
    this.current?.node.classList.remove("current");
    this.current = row;
    row.node.classList.add("current");
    this.place.append($("listen"));
    row.node.after(this.place); // the player is where "Listen" was pressed
    try {
      await this.listenView.open(row.result);
    } catch (error) {
      row.text.textContent = `It cannot be played: ${failure(row, error)}`; // it can be downloaded
    }
  }

  async download(row) {
    row.download.disabled = true;
    try {
      const format = $("format").value || row.recording.format;
      const { noisy, enhanced } = row.result;
      const { strength } = this.settings;
      const blob = await this.helper.call("encodeFile", { noisy, enhanced, strength, format });
      download(blob, row.name.replace(/\.[^.]*$/, "") + SUFFIX);
      row.text.textContent = row.summary;
    } catch (error) {
      row.text.textContent = `The download has failed: ${failure(row, error)}`;
    }
    row.download.disabled = false;
  }

  async downloadAll() {
    for (const row of this.rows) if (row.state === "done") await this.download(row);
  }

  remove(row) {
    row.worker?.close();
    this.rows = this.rows.filter((other) => other !== row);
    row.node.remove();
    if (this.current === row) {
      this.current = null;
      this.listenView.close();
      this.place.remove();
      const next = this.rows.find(({ state }) => state === "done");
      if (next) this.listen(next);
    }
    row.state = "removed";
    this.refresh();
  }

  /** Enhance again all recordings for which the settings now ask for another graph. */
  enhanceAgain() {
    const { band } = this.settings;
    const model = this.settings.modelFor("files");
    for (const row of this.rows) {
      if (!row.graph) continue;
      const { name, url, voice } = graphFor(model, row.recording.sampleRate, band);
      if (row.graph.name === name && row.graph.url === url && row.graph.voice === voice) continue;
      row.worker?.close();
      row.show("waiting", "Waiting");
    }
    this.refresh();
    this.work();
  }
}

/** Return one sentence for what went wrong with a file, `{name}`. */
export function failure({ name }, error) {
  if (error.kind === "FileError" || error.constructor.name === "FileError") return `${name} ${error.message}`;
  if (["NotReadableError", "NotFoundError"].includes(error.kind ?? error.name)) {
    return `${name} cannot be read: it was moved or changed, or there is no more room for recordings. ${ROOM}`;
  }
  if (/memory|allocat/i.test(error.message)) return `${name} needs more memory than this browser has. Close other tabs, or convert it to WAV.`;
  return error.message;
}
