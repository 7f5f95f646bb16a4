/** Decide whether a device is too slow for a model. */

const SLOW = 0.9; // share of the time that the model takes (the median of hops), from which on it cannot keep up
const REPORTS = 12; // in a row, four a second: three seconds

export class Overload {
  constructor() {
    this.slow = 0; // reports in a row
  }

  /** Return true once, when a model has taken more than its share of the time for three seconds. */
  add(load) {
    this.slow = load > SLOW ? this.slow + 1 : 0;
    return this.slow === REPORTS;
  }
}
