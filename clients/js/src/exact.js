/**
 * Exact numbers. Every double is a whole number of units of 2^-1074, so that sums and comparisons of doubles are those
 * of BigInts. Probabilities are multiples of 2^-53, and epsilon is rounded up: what is declared is never less than what
 * is spent. The results are the same doubles as in Python.
 */

import { must } from "./errors.js";

const bits = new BigUint64Array(1);
const double = new Float64Array(bits.buffer);
const FRACTION = 52n;

/** 2^53: probabilities are multiples of its inverse. */
export const GRID = 2 ** 53;
export const ONE = BigInt(GRID);

/** @type {(n: number | bigint) => number} Binary digits of a whole number. */
export const bitLength = (n) => n.toString(2).length;

/** A finite double in units of 2^-1074. */
export function units(x) {
  double[0] = Math.abs(x);
  const exponent = bits[0] >> FRACTION;
  const digits = BigInt.asUintN(52, bits[0]);
  const size = exponent ? (digits + (1n << FRACTION)) << (exponent - 1n) : digits;
  return x < 0 ? -size : size;
}

/** The smallest double that is at least n units, for n from 0 on. */
export function above(n) {
  const spare = BigInt(Math.max(bitLength(n) - 53, 0));
  bits[0] = (spare << FRACTION) + (n >> spare) + BigInt((n >> spare) << spare < n);
  return double[0];
}

/** The distance from a positive double to the next. */
export const ulp = (x) => above(units(x) + 1n) - x;

/** The exact sum of doubles, in units. */
export const total = (numbers) => numbers.reduce((sum, x) => sum + units(x), 0n);

// Logarithms have 256 binary places. All divisions together are off by less than 2^-240; 10^-50 is added, as in Python.
const PLACES = 256n;
const SLACK = (1n << PLACES) / 10n ** 50n;

/**
 * The natural logarithm of n / d, for n >= d > 0, rounded up to a double.
 * @param {bigint} n
 * @param {bigint} d
 */
export function logAbove(n, d) {
  must(n >= d, "p must be above q", n);
  if (n === d) return 0;
  const power = BigInt(bitLength((n << PLACES) / d)) - PLACES - 1n; // n / d is 2^power times 1 to 2.
  const x = (n << PLACES) / (d << power);
  const one = 1n << PLACES;
  const half = atanh(((x - one) << PLACES) / (x + one)) + power * atanh(one / 3n);
  return above((2n * half + SLACK) << (1074n - PLACES));
}

/**
 * z + z^3 / 3 + z^5 / 5 + ...
 * @param {bigint} z
 */
function atanh(z) {
  let sum = 0n;
  for (let term = z, k = 1n; term; term = (((term * z) >> PLACES) * z) >> PLACES, k += 2n) sum += term / k;
  return sum;
}

/** What a division leaves, for whole numbers below 2^53. The time of `%` would depend on how large they are. */
export const remainder = (n, k) => n - Math.floor(n / k) * k;

/**
 * A k + b, as a number if it is below 2^53 and as a BigInt otherwise.
 * @returns {any}
 */
export function join(a, k, b) {
  const exact = BigInt(a) * BigInt(k) + BigInt(b);
  return exact < GRID ? Number(exact) : exact;
}
