/**
 * Numbers between two ends. A grid of equally spaced points runs from low to high, and an answer between two of them is
 * rounded to one at random.
 */

import { fields, finite, oneOf, whole } from "./checks.js";
import { expect, must } from "./errors.js";
import { GRID, ONE, ulp, units } from "./exact.js";

/** Checked ends, and what becomes of a number: outside it is refused, or clipped to the nearer end. */
export function between(low, high, outside) {
  oneOf("outside", outside, "refuse", "clip");
  must(finite("low", low) < finite("high", high) && finite("high - low", high - low), "low must be below high", low);
  return (value) => {
    const given = typeof value === "number" ? value : NaN;
    const clipped = Math.min(Math.max(given, low), high);
    const fits = outside === "clip" ? clipped >= low : given === clipped;
    expect(fits, `be a number from ${low} to ${high}`, value);
    return clipped;
  };
}

// The place of an answer on the grid is exact, by BigInts. Their time depends on their length, which must not depend on
// the answer: so a number is cut into pieces of 50 bits, as many for every answer, and MIDDLE is added to
// each piece, and 2^100 to the place.
const PIECE = 2 ** 50;
const MIDDLE = 0.75 * GRID;

export function scale(data) {
  const { low, high, steps, outside } = fields(data, "low high steps outside");
  const inside = between(low, high, outside);
  const widest = Math.max(Math.abs(low), Math.abs(high));
  whole("steps", steps, 1, 2 ** 20);
  must((high - low) / steps >= 4 * ulp(widest), "steps must differ", steps);
  const count = BigInt(steps);
  const width = units(high) - units(low);
  const slack = Number((count * units(widest)) / width) + 1; // at most 2^51 + 1
  const weights = [];
  for (let weight = 2 ** -1074; weight <= widest; weight *= PIECE) weights.unshift(weight);
  const unitsAbove = (x) => {
    let rest = x;
    let found = 0n;
    for (const weight of weights) {
      const piece = Math.trunc(rest / weight);
      rest -= piece * weight;
      found = found * BigInt(PIECE) + BigInt(MIDDLE + piece);
    }
    return found;
  };
  const factor = count * ONE;
  const start = (width << 100n) - (unitsAbove(0) + units(low)) * factor;
  return {
    steps,
    encode(value, source) {
      const place = (unitsAbove(inside(value)) * factor + start) / width; // in 2^-53 of a step, and 2^100 more
      const point = Number(place >> 53n) - 2 ** 47;
      const share = Number(BigInt.asUintN(53, place));
      // A number within the slack of a grid point is that point.
      const isBelow = +(share >= GRID - slack);
      const isPoint = isBelow | +(share <= slack);
      return point + isBelow + source.coin(((1 - isPoint) * share) / GRID);
    },
  };
}
