/** The one module that owns randomness: 53 bits at a time from crypto.getRandomValues, and nothing else. */

import { hex } from "./bytes.js";
import { demand, SottovoceError } from "./errors.js";
import { GRID } from "./exact.js";

/** Fill an array with random bits, or fail: without a source nothing can be hidden. */
function fill(array) {
  const { crypto } = globalThis;
  demand(SottovoceError, typeof crypto?.getRandomValues === "function", "there must be crypto.getRandomValues");
  return crypto.getRandomValues(array);
}

/**
 * Random bits for one answer: what is left over goes with it. Time must not tell what was drawn: outcomes are numbers,
 * made by arithmetic, and a mechanism draws all that any outcome needs and picks from an array by such a number.
 */
export class Source {
  #words = [];

  /** A whole number, uniform over 0 .. 2^53 - 1. To ask for many words at once takes little longer than for two. */
  draw() {
    if (!this.#words.length) this.#words = [...fill(new Uint32Array(256))];
    return (this.#words.pop() >>> 11) * 2 ** 32 + this.#words.pop();
  }

  /** 1 with probability p, a multiple of 2^-53, which may be 0 or 1 here; otherwise 0. */
  coin(p) {
    return 1 + Math.floor((p * GRID - 1 - this.draw()) / GRID);
  }

  /** A whole number, uniform over 0 .. k - 1. The incomplete last run of multiples of k is drawn again. */
  below(k) {
    if (k === 1) return 0;
    const limit = GRID - (GRID % k);
    let bits;
    do bits = this.draw();
    while (bits >= limit);
    return bits % k;
  }

  /**
   * The draws of one role. Here all roles draw from the same; those of a personal key have their own each.
   * @param {string} _role
   * @param {any} [_code]
   * @returns {Source}
   */
  role(_role, _code) {
    return this;
  }

  /** How a memory names what it remembers: here as it is, under a personal key so that nobody can tell. */
  hide(name) {
    return name;
  }
}

/** The id of a report: 16 random bytes, in hexadecimal digits. */
export const token = () => hex(fill(new Uint8Array(16)));
