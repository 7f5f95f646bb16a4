/** Choose between the wide-band and the full-band graph of a model, by the rule of `qse denoise`. */

const WIDE_BAND = 16000; // Hz: sound at a higher sample rate is for the full-band graph

/** Return the models of `manifest`, with the addresses of their graphs made absolute. */
export function modelsOf(manifest, base) {
  const absolute = (graph) => graph && { ...graph, url: new URL(graph.url, base).href };
  return manifest.models.map((model) => {
    const graphs = Object.fromEntries(["wide", "full", "talker"].map((kind) => [kind, absolute(model[kind])]));
    return { ...model, ...graphs };
  });
}

/**
 * Return the graph `{name, url, sha256, fast, voice}` of a model for sound at `sampleRate` in Hz; voice: the one that is
 * kept, or null. `band` "wide": the wide-band graph for all sound; null: by sample rate. A model without a full-band
 * graph (`full` is null) has one for all sound.
 */
export function graphFor({ name, wide, full, fast = false, voice = null }, sampleRate, band = null) {
  return { name, fast, voice, ...(full && band !== "wide" && sampleRate > WIDE_BAND ? full : wide) };
}

/** Return the graph for a MediaStreamTrack in an audio context at `sampleRate`: the lower of the two rates decides. */
export function graphForTrack(model, track, sampleRate, band = null) {
  const own = track.getSettings().sampleRate ?? sampleRate;
  return graphFor(model, Math.min(sampleRate, own), band);
}
