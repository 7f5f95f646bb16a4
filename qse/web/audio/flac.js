/** Read the length that a FLAC file states. */

const HEAD = 26; // bytes up to the end of the number of samples in STREAMINFO, the first block

/** Return the samples per channel, null for another file or where the header does not say. */
export async function flacFrames(blob) {
  const view = new DataView(await blob.slice(0, HEAD).arrayBuffer());
  if (view.byteLength < HEAD || view.getUint32(0) !== 0x664c6143) return null; // "fLaC"
  return (view.getUint8(21) & 0xf) * 2 ** 32 + view.getUint32(22) || null;
}
