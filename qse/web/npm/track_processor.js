/** A TrackProcessor of livekit-client (`localAudioTrack.setProcessor`); nothing of livekit is imported. */

import { denoiseTrack } from "./denoise_track.js";

export class DenoiseProcessor {
  name = "qse-web";
  processedTrack = undefined;

  /** `options` as for denoiseTrack. */
  constructor(options = {}) {
    this.options = options;
  }

  /** Called by livekit with the track of the microphone and its AudioContext. */
  async init({ track, audioContext }) {
    this.denoised = await denoiseTrack(track, { context: audioContext, ...this.options });
    this.processedTrack = this.denoised.track;
  }

  /** Called by livekit with another track of the microphone, for example after a change of the device. */
  async restart({ track, audioContext }) {
    const { denoised } = this;
    const same = denoised && !denoised.closed && denoised.context === (audioContext ?? denoised.context);
    if (same) return denoised.replace(track);
    await this.destroy();
    await this.init({ track, audioContext });
  }

  async destroy() {
    this.denoised?.close();
    this.denoised = this.processedTrack = undefined;
  }
}
