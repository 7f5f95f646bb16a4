/** A node that removes noise, for an audio graph of your own. */

import { graphFor } from "../model/bands.js";
import { LiveNode } from "../live/live_node.js";
import { SMALLEST, assetsAt, checkedStrength, defaultModel, failure, findModel, translated } from "./models.js";
import { Overload } from "./overload.js";

/** Error where the browser cannot run the node. */
export function checkBrowser() {
  if (globalThis.AudioWorkletNode) return;
  throw failure("there is no AudioWorklet: open the page over HTTPS, in Chromium 91, Firefox 114, Safari 16.4 or later.");
}

/** Error where the AudioContext cannot run the node. */
export function checkContext(context) {
  if (context.state === "closed") throw failure("the AudioContext is closed: pass one that is open, or none.");
}

export class DenoiserNode extends LiveNode {
  /** Load the model and return the node; see `index.d.ts`. */
  static async create(context, options = {}) {
    checkBrowser();
    checkContext(context);
    const { model = defaultModel(), strength, bypass = false, sampleRate = context.sampleRate, onChange = () => {} } = options;
    const settings = { strength: checkedStrength(strength), bypass };
    const assets = assetsAt(options.assets);
    const graphOf = async (name) => graphFor(await findModel(name, assets), Math.min(sampleRate, context.sampleRate));
    const graph = await graphOf(model);
    let node = null;
    const listeners = {
      onUpdate: (changes) => node?.update(changes),
      onFailure: (sentence) => node?.fail(sentence),
    };
    const base = new URL("live/", assets).href;
    const parts = { graph, settings, base, buffer: options.buffer, transport: options.transport, tap: options.tap };
    try {
      node = await super.create(context, parts, listeners);
    } catch (error) {
      throw translated(error);
    }
    const small = model === SMALLEST ? null : () => graphOf(SMALLEST);
    Object.assign(node, { settings, onChange, small, overload: new Overload() });
    return node;
  }

  /** What went wrong so far: gaps in the output, blocks of input dropped, times that delay was skipped. */
  dropouts = { gaps: 0, dropped: 0, skipped: 0 };

  /** Seconds from an input sample to the same moment in the output: buffers and model. */
  get latency() {
    return (this.delay ?? 0) + this.model.latency;
  }

  /** Share of the time that the model takes, 1 at most; 0 before it runs. */
  load = 0;

  update({ figures, dropouts, delay }) {
    if (dropouts) {
      const { underruns, dropped, skipped } = dropouts;
      this.dropouts = { gaps: underruns, dropped, skipped };
      this.delay = delay;
    }
    if (!figures) return;
    this.load = figures.hop.p50 / figures.period;
    if (this.overload.add(this.load)) this.relieve();
  }

  /** The device is too slow: take the smallest model, or say so where it runs already. */
  async relieve() {
    const { small } = this;
    this.small = null;
    if (!small) return this.fail(`the device is too slow for ${this.model.name}.`);
    const from = this.model.name;
    try {
      await this.worker.replace(await small());
    } catch (error) {
      return this.fail(`the device is too slow for ${from}, and ${SMALLEST} cannot be loaded: ${error.message}`);
    }
    this.overload = new Overload();
    this.onChange({ kind: "model", message: `The device is too slow for ${from}: ${this.model.name} runs now.` });
  }

  /** Hand over a failure once: the node delivers silence from then on. */
  fail(sentence) {
    if (this.failed || this.closed) return;
    this.failed = true;
    this.onChange({ kind: "failed", message: `The noise is not removed any more: ${sentence}` });
  }

  /** Set the attenuation limit in dB; null: none. */
  setStrength(strength) {
    this.settings = { ...this.settings, strength: checkedStrength(strength) };
    this.set(this.settings);
  }

  /** Let the untouched sound through, delayed as the cleaned one, or clean again. */
  bypass(on = true) {
    this.settings = { ...this.settings, bypass: on };
    this.set(this.settings);
  }

  close() {
    if (this.closed) return;
    this.closed = true;
    super.close();
  }
}
