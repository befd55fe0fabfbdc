/** The way from a mechanism's written form to a mechanism. */

import { fields, oneOf } from "./checks.js";
import { keyValue, ranges, sets, several } from "./compound.js";
import { must } from "./errors.js";
import { bitLength, logAbove } from "./exact.js";
import { hadamard, krr, localHash, projective, rr, subset, unary } from "./frequencies.js";
import { bloom, discovery, hashed } from "./hashed.js";
import { mean, squareWave } from "./numeric.js";
import { Source } from "./random.js";
import { changes, dBitFlip, memoized } from "./longitudinal.js";

/**
 * What a maker gives: see frequencies.js. A mechanism has all of it.
 * @typedef {{ [name: string]: any }} Made
 */

/**
 * The fields and the maker of each mechanism.
 * @type {{ [name: string]: [string, (data: any, read: (data: any) => Made) => Made] }}
 */
const MAKERS = {
  rr: ["domain p", rr],
  krr: ["domain p", krr],
  unary: ["domain p q", unary],
  local_hash: ["domain buckets p", localHash],
  subset: ["domain size p", subset],
  hadamard: ["domain p", hadamard],
  projective: ["domain order p", projective],
  sets: ["domain p", sets],
  key_value: ["domain p", keyValue],
  mean: ["domain kind p share window inside", mean],
  square_wave: ["domain bins window inside", squareWave],
  ranges: ["domain fanout parts", ranges],
  several: ["domain how parts", several],
  memoized: ["permanent instantaneous changes?", memoized],
  d_bit_flip: ["domain sampled p", dBitFlip],
  changes: ["domain waves changes p", changes],
  hashed: ["domain cohorts salt base", hashed],
  bloom: ["domain buckets hashes cohorts salt p q", bloom],
  discovery: ["domain spans tag cohorts salt base", discovery],
};

/** A randomizer for one answer, from its written form. Its epsilon is recomputed, and another claim is refused. */
export class Mechanism {
  constructor(data) {
    const name = oneOf("a mechanism", data?.mechanism, ...Object.keys(MAKERS));
    const [words, make] = MAKERS[name];
    const made = make(fields(data, `mechanism ${words} epsilon`), mechanism);
    const costs = made.ratios.map(([n, d]) => logAbove(n, d));
    must(Math.min(...costs) > 0, "reports must say something", costs);
    const epsilon = made.epsilon ?? Math.max(...costs);
    const bits = made.length ?? bitLength(BigInt(made.outcomes) - 1n); // Of a report.
    Object.assign(this, made, { name, epsilon, bits });
    must(data.epsilon === epsilon, `epsilon must be what the mechanism costs, ${epsilon}`, data.epsilon);
  }

  /** One report for one answer: a whole number, or bytes that hold bits. */
  randomize(value, source) {
    return this.step(value, undefined, source).report;
  }

  /**
   * One wave: { report, epsilon }, and the new memory of a mechanism that remembers. Nothing is changed. Which wave it
   * is, counted from 0, matters to mechanisms that count them; if nothing is said, it is the next.
   */
  step(value, memory, source = new Source(), wave) {
    const made = /** @type {Made} */ (this);
    const code = made.encode(value, source);
    if (made.begin) return made.advance(code, memory ?? made.begin(source.role("cohort")), source, wave);
    return { report: made.perturb(code, source), epsilon: made.epsilon };
  }
}

/** @type {(data: any) => Made} */
export const mechanism = (data) => new Mechanism(data);
