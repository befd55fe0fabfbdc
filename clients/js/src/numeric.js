/** Mechanisms for numbers. An answer is rounded at random to a grid first: see `scale`. */

import { chance, whole } from "./checks.js";
import { must } from "./errors.js";
import { odds } from "./frequencies.js";
import { scale } from "./scale.js";

/** A coin that leans with the code. */
const coin = (steps, p) => ({
  outcomes: 2,
  ratios: [odds(p, 1, 1)],
  perturb(code, source) {
    return +(source.below(steps) >= code) ^ source.coin(p);
  },
});

/** An outcome within the window of the code, or elsewhere. */
const windowed = (steps, window, inside) => ({
  outcomes: steps + whole("window", window, 1, 2 ** 22),
  ratios: [odds(inside, window, steps)],
  perturb(code, source) {
    const truth = source.coin(inside);
    const near = code + source.below(window);
    const other = source.below(steps);
    return [other + window * +(other >= code), near][truth];
  },
});

/** Which of p, share, window and inside a kind has, as binary digits. */
const GIVEN = { rounding: 0b1000, piecewise: 0b0011, hybrid: 0b1111 };

export function mean({ domain, kind, p, share, window, inside }) {
  const { steps, encode } = scale(domain);
  const given = [p, share, window, inside].reduce((digits, one) => 2 * digits + +(one !== null), 0);
  must(given === GIVEN[kind], "kind must fit its parameters", kind);
  if (kind === "rounding") return { encode, ...coin(steps, p) };
  const wide = windowed(steps, window, inside);
  if (kind === "piecewise") return { encode, ...wide };
  const narrow = coin(steps, p);
  chance("share", share);
  const perturb = (code, source) => {
    const chosen = source.coin(share);
    return [narrow.perturb(code, source), 2 + wide.perturb(code, source)][chosen];
  };
  return { encode, outcomes: 2 + wide.outcomes, ratios: [...narrow.ratios, ...wide.ratios], perturb };
}

export function squareWave({ domain, bins, window, inside }) {
  const { steps, encode } = scale(domain);
  must(steps % whole("bins", bins, 2, 1024) === 0, `steps must be a multiple of bins = ${bins}`, steps);
  return { encode, ...windowed(steps, window, inside) };
}
