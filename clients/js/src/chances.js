/**
 * What a report tells. A report speaks for some of the values: for the one it was made of with probability p, and for
 * any other one with probability q. `sottovoce.js` leaves this out, since a device that answers has no use for q.
 */

import { bitOf, setMembers } from "./frequencies.js";
import { mechanism } from "./index.js";

/** How many values a domain in its written form has, with that of no answer. */
export const sizeOf = ({ values, missing }) =>
  (Array.isArray(values) ? values.length : values) + Number(missing === "category");

/** A report names a hyperplane, and speaks for the points on it. Of all, so many go through one point, or through two. */
function projective(written) {
  const { order, p } = written;
  const all = mechanism(written).outcomes;
  const on = (all - 1) / order;
  const both = (on - 1) / order;
  return { p, q: (p * both) / on + ((1 - p) * (on - both)) / (all - on) };
}

/** What was drawn for good is randomized again in each report. */
function memoized({ permanent, instantaneous }) {
  const first = chances(permanent);
  const then = chances(instantaneous);
  const sent = (chance) => chance * then.p + (1 - chance) * then.q;
  return first && then && { p: sent(first.p), q: sent(first.q) };
}

const CHANCES = {
  rr: ({ p }) => ({ p, q: 1 - p }),
  krr: ({ domain, p }) => ({ p, q: (1 - p) / (sizeOf(domain) - 1) }),
  unary: ({ p, q }) => ({ p, q }),
  local_hash: ({ buckets, p }) => ({ p, q: 1 / buckets }),
  hadamard: ({ p }) => ({ p, q: 1 / 2 }),
  subset: ({ domain, size, p }) => ({ p, q: (size - p) / (sizeOf(domain) - 1) }),
  projective,
  sets: ({ p }) => ({ p, q: 1 - p }),
  key_value: ({ p }) => ({ p, q: (1 - p) / 2 }),
  memoized,
  d_bit_flip: ({ p }) => ({ p, q: 1 - p }),
  hashed: ({ base }) => chances(base),
  discovery: ({ base }) => chances(base),
};

/** The p and q of a mechanism in its written form, or null if it is not of this shape. */
export const chances = (written) => CHANCES[written.mechanism]?.(written) ?? null;

const bytesOf = (report) =>
  report instanceof Uint8Array
    ? report
    : Uint8Array.from(atob(report.replaceAll("-", "+").replaceAll("_", "/")), (byte) => byte.charCodeAt(0));

const isOdd = (n) => n.toString(2).replaceAll("0", "").length % 2 === 1;

/** More values than these are not asked one by one. */
const MOST_VALUES = 5000;

/**
 * Whether a report speaks for the value with a code, as a function of the code; null if that is not known, or takes too
 * long. A report is a number, text for a large number or for bits, or bytes.
 */
export function supporter(written, report) {
  const { mechanism: name, domain, buckets, size } = written;
  if (sizeOf(domain) > MOST_VALUES) return null;
  if (typeof report !== "number" && ["unary", "subset"].includes(name)) {
    const bytes = bytesOf(report);
    return (code) => bitOf(bytes, code) === 1;
  }
  if (name === "subset") {
    const members = new Set(setMembers(size, report));
    return (code) => members.has(code);
  }
  if (name === "hadamard") return (code) => !isOdd(BigInt(report) & BigInt(code + 1));
  if (name === "krr" || name === "rr") return (code) => code === report;
  if (name === "local_hash") {
    const { place } = mechanism(written);
    const cohort = Number(BigInt(report) / BigInt(buckets));
    const bucket = Number(BigInt(report) % BigInt(buckets));
    return (code) => place(code, cohort) === bucket;
  }
  return null;
}
