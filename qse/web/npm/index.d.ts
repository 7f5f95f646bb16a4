export type ModelName = "live-tiny" | "live-base" | "studio-base";

/** Something that happened while a track or a node runs; `message` is a sentence to show or to log. */
export interface Change {
  /**
   * "model": the device was too slow, so that live-tiny runs now. "bypass" (tracks): the model has failed or is too slow,
   * and the untouched sound goes through. "failed" (nodes): the same, and the node delivers silence. "ended" (tracks):
   * the track that was passed in has ended, or the AudioContext was closed.
   */
  kind: "model" | "bypass" | "failed" | "ended";
  message: string;
}

export interface Options {
  /** live-base by default, live-tiny on phones. studio-base has a latency of 264 ms: for recordings. */
  model?: ModelName;
  /** The noise is attenuated by so many dB at most; null, the default: no limit. */
  strength?: number | null;
  /** Address of the folder `dist` of this package; by default found by `import.meta.url`. */
  assets?: string | URL;
}

export interface LiveOptions extends Options {
  /** Begin with the untouched sound. */
  bypass?: boolean;
  /** Seconds of cleaned sound that wait for the audio thread, against gaps: 0.04 by default. */
  buffer?: number;
  /** How samples travel to the worker; by default "shared" in a cross-origin-isolated page, "messages" in others. */
  transport?: "shared" | "messages";
  onChange?: (change: Change) => void;
}

export interface TrackOptions extends LiveOptions {
  /** By default one is made, and closed by `close`. */
  context?: AudioContext;
}

export interface NodeOptions extends LiveOptions {
  /** Of what comes in, in Hz: at 16000 or less a smaller graph of the model does. By default that of the context. */
  sampleRate?: number;
}

export interface Dropouts {
  /** Times that the output ran empty, and silence followed. */
  gaps: number;
  /** Blocks of 128 samples of input that were left out, because the device was behind. */
  dropped: number;
  /** Times that cleaned sound was skipped, so that the latency returns to its value of before. */
  skipped: number;
}

/** What tracks and nodes have in common. */
export interface Denoiser {
  /** Seconds from an input sample to the same moment in the output: buffers and model, without the devices. */
  readonly latency: number;
  readonly dropouts: Readonly<Dropouts>;
  /** Processing time of the model, as a share of the duration of the sound. */
  readonly load: number;
  setStrength(decibels: number | null): void;
  /** Let the untouched sound through, delayed as the cleaned one; `false`: clean again. */
  bypass(on?: boolean): void;
  /** Stop the cleaned sound and free everything. */
  close(): void;
}

export interface DenoisedTrack extends Denoiser {
  /** The cleaned track: one channel. */
  readonly track: MediaStreamTrack;
  readonly model: string;
  /** Clean another track from now on, as after a change of the device; `track` stays the same. */
  replace(track: MediaStreamTrack): void;
}

/**
 * Clean an audio track, for a call or a recording. The track that is passed in is never stopped or changed. An error is
 * one sentence with the cure; nothing runs then.
 */
export function denoiseTrack(track: MediaStreamTrack, options?: TrackOptions): Promise<DenoisedTrack>;

/** A node that mixes its input to one channel and cleans it. Call `create`, not the constructor. */
export class DenoiserNode extends AudioWorkletNode implements Denoiser {
  private constructor();
  static create(context: AudioContext, options?: NodeOptions): Promise<DenoiserNode>;
  readonly latency: number;
  readonly dropouts: Readonly<Dropouts>;
  readonly load: number;
  readonly model: { name: string; latency: number; hop: number; bandwidth: number };
  setStrength(decibels: number | null): void;
  bypass(on?: boolean): void;
  close(): void;
}

/** A TrackProcessor of livekit-client: `await localAudioTrack.setProcessor(new DenoiseProcessor())`. */
export class DenoiseProcessor {
  constructor(options?: TrackOptions);
  name: string;
  processedTrack?: MediaStreamTrack;
  init(options: { track: MediaStreamTrack; audioContext: AudioContext }): Promise<void>;
  restart(options: { track: MediaStreamTrack; audioContext: AudioContext }): Promise<void>;
  destroy(): Promise<void>;
}

/** Clean a recording in a worker. The result has its length and sample rate and is aligned with it. */
export function denoise(recording: Float32Array, sampleRate: number, options?: Options): Promise<Float32Array>;
export function denoise(recording: AudioBuffer, sampleRate?: number, options?: Options): Promise<AudioBuffer>;
