/** Find the sample rate of a compressed file in its header: decodeAudioData converts to any rate but tells none. */

const DEFAULT = 48000; // of Opus, and of most video
const ADTS = [96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350];
const MPEG = [44100, 48000, 32000];
const PART = 1 << 20;

function find(bytes, text, from = 0) {
  const wanted = new TextEncoder().encode(text);
  for (let at = bytes.indexOf(wanted[0], from); at >= 0; at = bytes.indexOf(wanted[0], at + 1)) {
    if (wanted.every((byte, i) => bytes[at + i] === byte)) return at;
  }
  return -1;
}

function startsWith(bytes, text) {
  return new TextEncoder().encode(text).every((byte, i) => bytes[i] === byte);
}

function ofFlac(bytes) {
  return (bytes[18] << 12) | (bytes[19] << 4) | (bytes[20] >> 4);
}

function ofOgg(bytes) {
  const vorbis = find(bytes.subarray(0, 512), "\x01vorbis");
  return vorbis < 0 ? DEFAULT : new DataView(bytes.buffer, bytes.byteOffset + vorbis + 12).getUint32(0, true);
}

/** MPEG audio (MP3) and ADTS (AAC) frames, behind an ID3 tag or none. */
function ofFrames(bytes) {
  let at = 0;
  if (startsWith(bytes, "ID3")) {
    at = 10 + ((bytes[6] << 21) | (bytes[7] << 14) | (bytes[8] << 7) | bytes[9]);
  }
  for (; at + 4 < bytes.length; at++) {
    if (bytes[at] !== 0xff || bytes[at + 1] < 0xe0) continue;
    if ((bytes[at + 1] & 0xf6) === 0xf0) return ADTS[(bytes[at + 2] >> 2) & 15];
    const version = (bytes[at + 1] >> 3) & 3; // 3: MPEG 1, 2: MPEG 2, 0: MPEG 2.5
    const rate = MPEG[(bytes[at + 2] >> 2) & 3];
    if (rate && version !== 1) return rate / { 3: 1, 2: 2, 0: 4 }[version];
  }
  return 0;
}

/** The audio sample entry of an MP4 file: its sample rate is a 16.16 fixed-point number. */
function ofMp4(parts) {
  for (const bytes of parts) {
    const at = find(bytes, "mp4a");
    if (at >= 0 && at + 30 <= bytes.length) return (bytes[at + 28] << 8) | bytes[at + 29];
  }
  return DEFAULT;
}

/** Return the sample rate in Hz of a Blob that a browser decodes; 48000 where its header does not say it. */
export async function sampleRateOf(blob) {
  const part = async (start) => new Uint8Array(await blob.slice(start, start + PART).arrayBuffer());
  const bytes = await part(0);
  const form = String.fromCharCode(...bytes.subarray(4, 8));
  let rate = 0;
  if (startsWith(bytes, "fLaC")) rate = ofFlac(bytes);
  else if (startsWith(bytes, "OggS")) rate = ofOgg(bytes);
  else if (startsWith(bytes, "RIFF")) rate = new DataView(bytes.buffer).getUint32(24, true);
  else if (form === "ftyp") rate = ofMp4([bytes, await part(Math.max(0, blob.size - PART))]);
  else if (startsWith(bytes, "\x1aE\xdf\xa3")) rate = DEFAULT;
  else rate = ofFrames(bytes);
  return rate >= 8000 && rate <= 192000 ? rate : DEFAULT;
}
