/**
 * Read the metadata of an ONNX file: field 14 of ModelProto, pairs of a key (field 1) and a value (field 2).
 *
 * onnxruntime-web loads a model but does not hand out its metadata.
 */

const METADATA = 14;

/** Yield the number, wire type and content of every field of a protobuf message; a varint's content is its value. */
function* fields(bytes) {
  let at = 0;
  const varint = () => {
    for (let value = 0, scale = 1; ; scale *= 128) {
      if (at >= bytes.length) throw new Error("the model file ends early");
      value += (bytes[at] & 127) * scale;
      if (bytes[at++] < 128) return value;
    }
  };
  while (at < bytes.length) {
    const key = varint();
    const type = key % 8;
    if (type === 0) {
      yield [Math.floor(key / 8), varint()];
      continue;
    }
    if (type !== 1 && type !== 2 && type !== 5) throw new Error("the model file is no ONNX file");
    const length = type === 2 ? varint() : type === 1 ? 8 : 4;
    if (at + length > bytes.length) throw new Error("the model file ends early");
    yield [Math.floor(key / 8), bytes.subarray(at, at + length)];
    at += length;
  }
}

/** Return the metadata of an ONNX file (Uint8Array) as an object of strings. Error for another file. */
export function readMetadata(bytes) {
  const metadata = {};
  const decoder = new TextDecoder();
  for (const [number, content] of fields(bytes)) {
    if (number !== METADATA) continue;
    const pair = Object.fromEntries(fields(content));
    metadata[decoder.decode(pair[1])] = decoder.decode(pair[2] ?? new Uint8Array());
  }
  return metadata;
}
