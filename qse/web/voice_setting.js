/** The voice that a model keeps: the nearest one, or that of a recording or a file of `qse enroll`. */

import { openRecording } from "./files/decode.js";
import { failure } from "./files/view.js";
import { RemoteWorker } from "./rpc.js";

const WORKER = new URL("files/worker.js", import.meta.url);
const SUFFIX = ".voice"; // of qse enroll
const $ = (id) => document.getElementById(id);

/** Shown for models that keep one voice. A voice belongs to the model for which it was chosen. */
export class VoiceSetting {
  /** `onChange()` is called when another voice is kept. */
  constructor(onChange) {
    this.onChange = onChange;
    this.model = null; // that is shown
    this.owner = null; // name of the model to which the voice belongs
    this.voice = null;
    $("voice-choose").addEventListener("click", () => $("voice-input").click());
    $("voice-input").addEventListener("change", () => {
      this.open($("voice-input").files[0]);
      $("voice-input").value = "";
    });
    $("voice-clear").addEventListener("click", () => this.keep(null, "the nearest"));
  }

  /** The voice that `model` keeps; null: the nearest one, or the model keeps all. */
  of({ name }) {
    return this.owner === name ? this.voice : null;
  }

  show(model) {
    $("voice-field").hidden = !model.talker;
    if (model.name !== this.model?.name) this.keep(null, "the nearest", model);
  }

  /** Keep the voice of a file from now on; a sentence says where that cannot be. */
  async open(file) {
    const { model } = this;
    const worker = new RemoteWorker(WORKER);
    $("voice-choose").disabled = true;
    this.note(`Listening to ${file.name}`);
    try {
      const asked = file.name.endsWith(SUFFIX) ? { file } : { recording: (await openRecording(file, worker)).blob };
      const { voice, doubts } = await worker.call("openVoice", { ...asked, model });
      if (model === this.model) this.keep(voice, file.name, model, doubts.join(" "));
    } catch (error) {
      this.note(failure(file, error));
    }
    $("voice-choose").disabled = false;
    worker.close();
  }

  keep(voice, name, model = this.model, note = "") {
    const changed = voice !== this.voice;
    Object.assign(this, { voice, model, owner: model?.name });
    $("voice-name").textContent = name;
    $("voice-clear").hidden = !voice;
    this.note(note);
    if (changed) this.onChange();
  }

  note(sentence) {
    $("voice-note").textContent = sentence;
    $("voice-note").hidden = !sentence;
  }
}
