/** Mechanisms for numbers. An answer is rounded at random to a grid first: see `scale`. */

import { chance, oneOf, whole } from "./checks.js";
import { scale } from "./domains.js";
import { must } from "./errors.js";
import { odds } from "./frequencies.js";

/** A coin that leans with the code. */
const coin = (steps, p) => ({
  outcomes: 2,
  ratios: [odds(p, 1, 1)],
  perturb(code, source) {
    const upper = source.below(steps) < code;
    return Number(upper === source.coin(p));
  },
});

/** An outcome within the window of the code, or elsewhere. */
const windowed = (steps, window, inside) => ({
  outcomes: steps + whole("window", window, 1, 2 ** 22),
  ratios: [odds(inside, window, steps)],
  perturb(code, source) {
    if (source.coin(inside)) return code + source.below(window);
    const other = source.below(steps);
    return other + window * (other >= code);
  },
});

const PARAMETERS = { rounding: "p", piecewise: "window,inside", hybrid: "p,share,window,inside" };

export function mean({ domain, kind, ...parameters }) {
  const { steps, encode } = scale(domain);
  const given = ["p", "share", "window", "inside"].filter((name) => parameters[name] !== null).join();
  must(given === PARAMETERS[oneOf("kind", kind, ...Object.keys(PARAMETERS))], "kind must fit its parameters", given);
  const { p, share, window, inside } = parameters;
  if (kind === "rounding") return { encode, ...coin(steps, p) };
  const wide = windowed(steps, window, inside);
  if (kind === "piecewise") return { encode, ...wide };
  const narrow = coin(steps, p);
  chance("share", share);
  const perturb = (code, source) =>
    source.coin(share) ? 2 + wide.perturb(code, source) : narrow.perturb(code, source);
  return { encode, outcomes: 2 + wide.outcomes, ratios: [...narrow.ratios, ...wide.ratios], perturb };
}

export function squareWave({ domain, bins, window, inside }) {
  const { steps, encode } = scale(domain);
  must(steps % whole("bins", bins, 2, 1024) === 0, `steps must be a multiple of bins = ${bins}`, steps);
  return { encode, ...windowed(steps, window, inside) };
}
