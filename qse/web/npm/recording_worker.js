/** The worker of `denoise`: removes the noise of a recording that is in memory. */

import { enhance } from "../model/enhance.js";
import { keptShare, mix } from "../model/model_stream.js";
import { loadEngine } from "../model/runtime.js";
import { serve } from "../rpc.js";

const engines = new Map(); // address of a graph -> promise of its Engine

function engineOf(graph) {
  if (!engines.has(graph.url)) engines.set(graph.url, loadEngine(graph));
  const engine = engines.get(graph.url);
  engine.catch(() => engines.delete(graph.url)); // the next recording tries again
  return engine;
}

/** Return the channels without noise. */
async function denoise({ channels, sampleRate, graph, strength }) {
  const frames = channels[0].length;
  const read = (start, count) => channels.map((samples) => samples.subarray(start, start + count));
  const reader = { sampleRate, channels: channels.length, frames, read };
  const cleaned = channels.map(() => new Float32Array(frames));
  let written = 0;
  for await (const block of enhance(reader, await engineOf(graph))) {
    block.forEach((samples, channel) => cleaned[channel].set(samples, written));
    written += block[0].length;
  }
  const kept = keptShare(strength);
  return cleaned.map((samples, channel) => mix(samples, channels[channel], kept));
}

serve({ denoise });
