/** From a MediaStreamTrack to one without noise. */

import { failure } from "./models.js";
import { DenoiserNode, checkBrowser, checkContext } from "./denoiser_node.js";

const RESUME_MS = 3000; // which a browser may take to start the sound

/** Return the track without noise; see `index.d.ts`. The track that is passed in is never stopped or changed. */
export async function denoiseTrack(track, options = {}) {
  checkTrack(track);
  checkBrowser();
  if (options.context) checkContext(options.context);
  const denoised = new DenoisedTrack(options);
  try {
    await denoised.start(track, options);
  } catch (error) {
    denoised.close();
    throw error;
  }
  return denoised;
}

function checkTrack(track) {
  if (track?.kind !== "audio") throw failure("this is no audio track: pass one of stream.getAudioTracks().");
  if (track.readyState === "ended") throw failure("the track has ended: pass one that runs, as getUserMedia returns it.");
}

class DenoisedTrack {
  constructor({ context = null, onChange = () => {} }) {
    this.own = context ? null : new AudioContext({ latencyHint: "interactive" });
    this.context = context ?? this.own;
    this.onChange = onChange;
    this.destination = new MediaStreamAudioDestinationNode(this.context, { channelCount: 1 });
    this.track = this.destination.stream.getAudioTracks()[0];
    this.through = false; // whether the untouched sound goes through, because the model has failed
    this.ended = () => this.end("The track has ended, and the one without noise with it.");
    this.stateChanged = () => {
      if (this.context.state === "closed") this.end("The AudioContext was closed, so that the track without noise ends.");
    };
  }

  async start(track, options) {
    const { sampleRate } = track.getSettings();
    const onChange = (change) => this.changed(change);
    this.node = await DenoiserNode.create(this.context, { sampleRate, ...options, onChange });
    await this.run();
    checkTrack(track); // which may have ended in the meantime
    checkContext(this.context);
    this.node.connect(this.destination);
    this.replace(track);
    this.context.addEventListener("statechange", this.stateChanged);
  }

  /** Let the sound run. Error where the browser waits for a click. */
  async run() {
    const late = new Promise((resolve) => setTimeout(resolve, RESUME_MS));
    await Promise.race([this.context.resume(), late]);
    if (this.context.state === "running") return;
    throw failure("the browser plays no sound before a click on the page: call denoiseTrack from one.");
  }

  /** Clean another track from now on, as after a change of the device; the cleaned track stays the same. */
  replace(track) {
    checkTrack(track);
    this.source?.disconnect();
    this.input?.removeEventListener("ended", this.ended);
    this.input = track;
    this.source = new MediaStreamAudioSourceNode(this.context, { mediaStream: new MediaStream([track]) });
    this.source.connect(this.through ? this.destination : this.node);
    track.addEventListener("ended", this.ended);
  }

  changed(change) {
    if (change.kind !== "failed") return this.onChange(change);
    this.through = true;
    this.source?.disconnect();
    this.source?.connect(this.destination);
    this.node?.close();
    this.onChange({ kind: "bypass", message: `${change.message} The untouched sound goes through.` });
  }

  get model() {
    return this.node.model.name;
  }

  /** Seconds that the sound is late, besides the devices. */
  get latency() {
    return this.through ? 0 : this.node.latency;
  }

  get dropouts() {
    return this.node.dropouts;
  }

  get load() {
    return this.through ? 0 : this.node.load;
  }

  setStrength(strength) {
    this.node.setStrength(strength);
  }

  bypass(on = true) {
    this.node.bypass(on);
  }

  end(message) {
    if (this.closed) return;
    this.close();
    this.onChange({ kind: "ended", message });
  }

  /** Stop the cleaned track and free everything; the track that was passed in runs on. */
  close() {
    if (this.closed) return;
    this.closed = true;
    this.context.removeEventListener("statechange", this.stateChanged);
    this.input?.removeEventListener("ended", this.ended);
    this.source?.disconnect();
    this.node?.close();
    this.track.stop();
    if (this.own && this.own.state !== "closed") this.own.close();
  }
}
