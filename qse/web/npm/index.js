/** qse-web: remove noise from microphones, calls and recordings in the browser. */

export { denoise } from "./denoise.js";
export { denoiseTrack } from "./denoise_track.js";
export { DenoiserNode } from "./denoiser_node.js";
export { DenoiseProcessor } from "./track_processor.js";
