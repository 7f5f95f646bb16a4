/** Find where files were joined to one: decoders read the first alone. */

const PIECE = 1 << 20; // bytes that are searched at a time
const OGG = "OggS\0";
const FIRST_PAGE = 2; // flag of a page of Ogg, in the byte behind OGG

async function bytesOf(blob, start, length) {
  return new Uint8Array(await blob.slice(start, start + length).arrayBuffer());
}

function textAt(bytes, at, length) {
  return String.fromCharCode(...bytes.subarray(at, at + length));
}

/** Return how an Ogg, FLAC or MP4 file begins, null for another file. */
function beginning(head) {
  if (head.startsWith(OGG)) return OGG;
  return head.startsWith("fLaC") || head.slice(4) === "ftyp" ? head : null;
}

/** Return whether another file of the same kind begins within an Ogg, FLAC or MP4 file. */
export async function isJoined(blob) {
  const mark = beginning(textAt(await bytesOf(blob, 0, 8), 0, 8));
  if (!mark) return false;
  const [first, fifth] = [mark.charCodeAt(0), mark.charCodeAt(4)];
  let inside = mark !== OGG; // not among the pages with which the streams of an Ogg file begin
  for (let place = 1; place < blob.size; place += PIECE) {
    const bytes = await bytesOf(blob, place, PIECE + 8);
    for (let at = bytes.indexOf(first); at >= 0 && at < PIECE; at = bytes.indexOf(first, at + 1)) {
      if (bytes[at + 4] !== fifth || textAt(bytes, at, mark.length) !== mark) continue;
      const begins = mark !== OGG || Boolean(bytes[at + OGG.length] & FIRST_PAGE);
      if (begins && inside) return true;
      inside ||= !begins;
    }
  }
  return false;
}
