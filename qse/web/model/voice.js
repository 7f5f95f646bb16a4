/**
 * A voice that a model keeps: entries of its state at the beginning of a stream, as `qse enroll` writes them.
 *
 * `{model, version, entries}`: name and version of the model that they belong to, and rows of numbers, one per band, by
 * the names of states of its graph for 16 kHz. The full-band graph has more bands, where they are zero.
 */

import { FileError } from "../audio/wav.js";

const ENTRY = /\.(scale|shift)$/; // so end the names of the states that a voice sets
const LONGEST = 1 << 22; // bytes of a file
const HIGHEST = 1e6; // of an entry; those of a talker are below 10
const DAMAGED = "is no voice that qse enroll wrote, or is damaged: enroll the talker again.";

/** Read a voice from a file (Blob). FileError with the rest of a sentence for one that is none, or holds zeros. */
export async function readVoice(blob) {
  let voice;
  try {
    if (blob.size > LONGEST) throw new Error();
    const { model, version, entries, "qse voice": form } = JSON.parse(await blob.text());
    voice = { model: String(model), version: String(version), entries };
    if (form !== 1 || !Object.values(entries).every(isMatrix)) throw new Error();
  } catch {
    throw new FileError(DAMAGED);
  }
  if (!Object.values(voice.entries).some((rows) => rows.flat().some(Boolean))) {
    throw new FileError("holds zeros, which is nobody's voice: enroll the talker again.");
  }
  return voice;
}

function isMatrix(rows) {
  const isEntry = (value) => typeof value === "number" && Math.abs(value) < HIGHEST;
  return rows.length > 0 && rows.every((row) => row.length === rows[0].length && row.every(isEntry));
}

/**
 * Return the states in which a stream of `engine` begins that keeps `voice`, an object of Float32Array by their names;
 * none for no voice (null). FileError for a voice of another model or version, or one that does not fit.
 */
export function beginningOf(engine, voice) {
  if (!voice) return {};
  if (voice.model !== engine.name || voice.version !== engine.version) {
    const own = `${voice.model} ${voice.version}`.slice(0, 60);
    throw new FileError(`is a voice for ${own}, and not for ${engine.name} ${engine.version}: enroll the talker again.`);
  }
  const states = engine.states.filter(({ name }) => ENTRY.test(name));
  if (states.length !== Object.keys(voice.entries).length) throw new FileError(DAMAGED);
  const beginning = {};
  for (const { name, shape } of states) {
    const rows = Object.hasOwn(voice.entries, name) ? voice.entries[name] : [];
    const [bands, numbers] = shape;
    if (!rows.length || rows.length > bands || rows[0].length !== numbers) throw new FileError(DAMAGED);
    beginning[name] = new Float32Array(bands * numbers);
    beginning[name].set(rows.flat());
  }
  return beginning;
}
