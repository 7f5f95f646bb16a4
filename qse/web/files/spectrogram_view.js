/** Draw the columns of a spectrogram on a canvas, as they arrive. */

const FLOOR = -95; // dB
const TOP = -25;
const HEIGHT = 256;
const STOPS = [[0, 6, 8, 15], [0.25, 22, 42, 82], [0.5, 25, 116, 128], [0.72, 87, 190, 124], [0.88, 240, 214, 92], [1, 255, 250, 226]];

/** 256 colours from dark to light, as RGB bytes. */
const COLOURS = Uint8Array.from({ length: 256 * 3 }, (_, i) => {
  const place = Math.floor(i / 3) / 255;
  const next = Math.max(1, STOPS.findIndex(([at]) => at >= place));
  const [low, high] = [STOPS[next - 1], STOPS[next]];
  const share = (place - low[0]) / (high[0] - low[0]);
  return low[1 + (i % 3)] + share * (high[1 + (i % 3)] - low[1 + (i % 3)]);
});

export class SpectrogramView {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: false });
  }

  /** Begin a picture of `columns`. */
  clear(columns) {
    this.canvas.width = columns;
    this.canvas.height = HEIGHT;
    this.context.fillStyle = `rgb(${COLOURS.slice(0, 3).join()})`;
    this.context.fillRect(0, 0, columns, HEIGHT);
  }

  /** Draw spectra (dB, lowest frequency first) as the columns from `first` on. */
  draw(first, spectra) {
    const image = this.context.createImageData(spectra.length, HEIGHT);
    spectra.forEach((levels, column) => {
      const step = levels.length / HEIGHT;
      for (let row = 0; row < HEIGHT; row++) {
        const bin = Math.floor((HEIGHT - 1 - row) * step);
        const level = Math.max(levels[bin], levels[Math.min(levels.length - 1, bin + 1)]);
        const colour = 3 * Math.round(255 * Math.max(0, Math.min(1, (level - FLOOR) / (TOP - FLOOR))));
        const at = 4 * (row * spectra.length + column);
        for (let i = 0; i < 3; i++) image.data[at + i] = COLOURS[colour + i];
        image.data[at + 3] = 255;
      }
    });
    this.context.putImageData(image, first, 0);
  }
}
