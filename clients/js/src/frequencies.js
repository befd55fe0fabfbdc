/**
 * Frequency mechanisms. A maker takes a mechanism's written form and gives the domain's `encode`, a `perturb` with the
 * same draws in the same order as in Python, the `outcomes` of a report or its `length` in bits, and the worst
 * `ratios` of the probabilities of a report under two answers, one for each part that it may come from, as BigInts.
 */

import { chance, whole } from "./checks.js";
import { values } from "./domains.js";
import { must } from "./errors.js";
import { bitLength, GRID, join, ONE, remainder } from "./exact.js";
import { field, spaceWith } from "./finite-field.js";

/** (p / on) / ((1 - p) / off): how much likelier one of the `on` reports is than one of the `off` others. */
export function odds(p, on, off) {
  const exact = BigInt(chance("p", p) * GRID);
  return [exact * BigInt(off), (ONE - exact) * BigInt(on)];
}

/** The odds of k-ary randomized response, whose p may also be that of the less likely side. */
export function responseOdds(size, p) {
  const [n, d] = odds(p, 1, size - 1);
  return n > d ? [n, d] : [d, n];
}

/** K-ary randomized response. */
export function respond(size, p, code, source) {
  const truth = source.coin(p);
  const other = source.below(size - 1);
  return [other + (other >= code), code][truth];
}

export function krr({ domain, p }) {
  const { size, encode } = values(domain);
  const perturb = (code, source) => respond(size, p, code, source);
  return { encode, outcomes: size, ratios: [responseOdds(size, p)], perturb };
}

export function rr(data) {
  const made = krr(data);
  must(made.outcomes === 2, "values must be 2", made.outcomes);
  return made;
}

/** The odds of one bit: set with probability p or with q. */
export function bitOdds(p, q) {
  const [n, d] = odds(p, 1, 1);
  const [m, e] = odds(q, 1, 1);
  return [n * e, d * m];
}

export function unary({ domain, p, q }) {
  const { size, encode } = values(domain);
  const perturb = (code, source) => noisy(size, [code], p, q, source);
  return { encode, length: size, ratios: [bitOdds(p, q)], perturb };
}

/** Bits that are 1 with probability p at the places that are held, and with q elsewhere. */
export function noisy(length, held, p, q, source) {
  const chances = new Float64Array(length).fill(q);
  for (const at of held) chances[at] = p;
  return packed(length, (at) => source.coin(chances[at]));
}

/** Bits as bytes: that of value v is bit v mod 8 of byte v div 8. */
export function packed(length, bit) {
  const bytes = new Uint8Array(Math.ceil(length / 8));
  for (let at = 0; at < length; at++) bytes[at >>> 3] |= bit(at) << (at & 7);
  return bytes;
}

export const bitOf = (bytes, at) => (bytes[at >>> 3] >> (at & 7)) & 1;

export function localHash({ domain, buckets, p }) {
  const { size, encode } = values(domain);
  const vectors = spaceWith(field(buckets), 1, (candidate) => candidate.size >= size);
  return inCohorts({
    encode,
    outcomes: join(vectors.size, buckets, 0),
    ratios: [odds(p, 1, buckets - 1)],
    cohorts: vectors.size,
    place: (code, cohort) => vectors.inner(cohort, code),
    tell: (bucket, source) => respond(buckets, p, bucket, source),
    attach: (cohort, bucket) => join(cohort, buckets, bucket),
  });
}

/** A mechanism over the places that values have in a cohort, which is drawn first and attached to what is told. */
export const inCohorts = (made) => ({
  ...made,
  perturb(code, source) {
    const cohort = source.below(made.cohorts);
    return made.attach(cohort, made.tell(made.place(code, cohort), source));
  },
});

export function hadamard({ domain, p }) {
  const { size, encode } = values(domain);
  const rows = 2 ** bitLength(size);
  const perturb = (code, source) => {
    const value = BigInt(code + 1) + ONE; // With one bit above all others, BigInts have one length, and so one time.
    const truth = source.coin(p);
    const row = BigInt(source.below(rows)) + ONE;
    const other = row ^ value ^ (value & (value - 1n)); // It differs in the lowest bit of the value.
    return Number([other, row][parity(row & value) ^ truth ^ 1] - ONE);
  };
  return { encode, outcomes: rows, ratios: [odds(p, 1, 1)], perturb };
}

/** 1 if a number has an odd number of bits that are 1, otherwise 0. */
function parity(n) {
  for (let k = 32n; k; k >>= 1n) n ^= n >> k;
  return Number(n & 1n);
}

export function subset({ domain, size: held, p }) {
  const { size, encode } = values(domain);
  whole("size", held, 1, size - 1);
  const sets = 2 * held <= size ? choose(size, held) : Infinity;
  const perturb = (code, source) => {
    const truth = source.coin(p);
    const members = sample(size - 1, held, source).map((other) => other + (other >= code));
    const place = source.below(held); // The value takes it or not. All orders of the members are as likely.
    members[place] = [members[place], code][truth];
    return sets < Infinity ? setNumber(members) : noisy(size, members, 1, 0, { coin: (bit) => bit });
  };
  const shape = sets < Infinity ? { outcomes: sets } : { length: size };
  return { encode, ...shape, ratios: [odds(p, held, size - held)], perturb };
}

/** How many sets of k there are among n values, or Infinity if more than 2^53. It takes as many steps for any n. */
export function choose(n, k) {
  let sets = 1n;
  for (let at = 0; at < k; at++) {
    sets = (sets * BigInt(n - at)) / BigInt(at + 1);
    if (sets > ONE) return Infinity;
  }
  return Number(sets);
}

/** Distinct numbers below n, each sequence of `count` as likely as any other: the beginning of a shuffle. */
export function sample(n, count, source) {
  const moved = new Map();
  return Array.from({ length: count }, (_, at) => {
    const drawn = at + source.below(n - at);
    const chosen = moved.get(drawn) ?? drawn;
    moved.set(drawn, moved.get(at) ?? at);
    return chosen;
  });
}

/** The number of the set with members c1 < c2 < ... is C(c1, 1) + C(c2, 2) + ... */
export const setNumber = (members) =>
  Uint32Array.from(members)
    .sort()
    .reduce((sum, member, at) => sum + choose(member, at + 1), 0);

/** The members of a numbered set of k values, of which there are at most 2^32, in ascending order. */
export function setMembers(k, number) {
  if (!k) return [];
  let last = 0;
  for (let step = 2 ** 31; step >= 1; step /= 2) if (choose(last + step, k) <= number) last += step;
  return [...setMembers(k - 1, number - choose(last, k)), last];
}

export function projective({ domain, order, p }) {
  const { size, encode } = values(domain);
  const elements = field(order);
  const space = spaceWith(elements, 2, (candidate) => candidate.lines >= size);
  const on = (space.lines - 1) / order;
  const off = space.lines - on;
  const perturb = (code, source) => {
    const point = space.line(code);
    const truth = source.coin(p);
    const through = space.line(source.below(on));
    const free = [source.below(off), through][truth];
    const power = space.powers[space.leading(point)]; // Here goes the digit that makes the inner product 0, or 1.
    const lower = remainder(free, power);
    const vector = (free - lower) * order + lower;
    const digit = elements.subtract(1 - truth, space.inner(vector, point));
    return space.number(vector + power * digit);
  };
  return { encode, outcomes: space.lines, ratios: [odds(p, on, off)], perturb };
}
