/** Short-time spectra for display. */

const SIZE = 1024;
export const BINS = SIZE / 2;

const HANN = Float32Array.from({ length: SIZE }, (_, i) => 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / SIZE));
const COS = Float32Array.from({ length: SIZE / 2 }, (_, i) => Math.cos((2 * Math.PI * i) / SIZE));
const SIN = Float32Array.from({ length: SIZE / 2 }, (_, i) => Math.sin((2 * Math.PI * i) / SIZE));

/** In-place FFT (radix 2) of SIZE complex numbers. */
function fft(real, imag) {
  for (let i = 1, j = 0; i < SIZE; i++) {
    let bit = SIZE >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) {
      [real[i], real[j]] = [real[j], real[i]];
      [imag[i], imag[j]] = [imag[j], imag[i]];
    }
  }
  for (let length = 2; length <= SIZE; length *= 2) butterflies(real, imag, length);
}

function butterflies(real, imag, length) {
  const half = length / 2;
  const step = SIZE / length;
  for (let start = 0; start < SIZE; start += length) {
    for (let k = 0; k < half; k++) {
      const [i, j] = [start + k, start + k + half];
      const re = real[j] * COS[k * step] + imag[j] * SIN[k * step];
      const im = imag[j] * COS[k * step] - real[j] * SIN[k * step];
      real[j] = real[i] - re;
      imag[j] = imag[i] - im;
      real[i] += re;
      imag[i] += im;
    }
  }
}

/** Return the spectrum of SIZE samples in dB re full scale (Float32Array of BINS, lowest frequency first). */
export function spectrum(samples) {
  const real = samples.map((sample, i) => sample * HANN[i]);
  const imag = new Float32Array(SIZE);
  fft(real, imag);
  const scale = 4 / SIZE; // a sine of full scale is 0 dB
  return Float32Array.from({ length: BINS }, (_, k) => 20 * Math.log10(scale * Math.hypot(real[k], imag[k]) + 1e-9));
}

function monoOf(channels) {
  const mono = new Float32Array(SIZE);
  for (const samples of channels) for (let i = 0; i < samples.length; i++) mono[i] += samples[i] / channels.length;
  return mono;
}

/**
 * Yield `columns` spectra, evenly spaced along a recording of `frames`, of what `read(start, count)` returns (an array
 * of channels). Each column shows the loudest of up to four windows of its span, so that no syllable is missed.
 */
export async function* spectrogram(read, frames, columns) {
  const span = frames / columns;
  const windows = Math.max(1, Math.min(4, Math.floor((2 * span) / SIZE)));
  for (let column = 0; column < columns; column++) {
    let loudest = null;
    for (let i = 0; i < windows; i++) {
      const centre = (column + (i + 0.5) / windows) * span;
      const start = Math.max(0, Math.min(frames - SIZE, Math.round(centre - SIZE / 2)));
      const levels = spectrum(monoOf(await read(start, Math.min(SIZE, frames))));
      loudest = loudest ? loudest.map((level, k) => Math.max(level, levels[k])) : levels;
    }
    yield loudest;
  }
}
