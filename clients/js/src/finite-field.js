/** Finite fields of prime or binary order, and vectors over them written as numbers in base g. */

import { whole } from "./checks.js";
import { must } from "./errors.js";
import { GRID, remainder } from "./exact.js";

// Irreducible polynomials over GF(2) by degree, as bits: x^2 + x + 1 is 0b111.
const MODULI = [0, 0, 7, 11, 19, 37, 67, 131, 283, 529, 1033, 2053, 4179];

/** The field of so many elements, which are the numbers from 0 on. */
export function field(order) {
  const degree = 31 - Math.clz32(whole("order", order, 2, 4096));
  const binary = order > 2 && 2 ** degree === order;
  for (let n = 2; !binary && n < order; n++) must(order % n, "order must be a prime or a power of two", order);
  const multiply = (a, b) => {
    if (!binary) return (a * b) % order;
    let product = 0;
    for (let at = 0; at < degree; at++) product ^= ((b >> at) & 1) * (a << at);
    for (let at = degree - 2; at >= 0; at--) product ^= ((product >> (at + degree)) & 1) * (MODULI[degree] << at);
    return product;
  };
  const add = (a, b) => (binary ? a ^ b : (a + b) % order);
  return { order, multiply, add, subtract: (a, b) => (binary ? a ^ b : (a + order - b) % order) };
}

/** All vectors of a number of digits. Lines through the origin are numbered as in Python. */
export function space({ order, add, multiply }, digits) {
  const powers = [1];
  while (powers.length <= digits) powers.push(powers.at(-1) * order);
  must(powers[digits] <= GRID, "reports must be at most 2^53", powers[digits]);
  const firstLine = (k) => (powers[k] - 1) / (order - 1); // with k digits behind its leading 1
  const digit = (vector, k) => remainder(Math.floor(vector / powers[k]), order);
  const leading = (vector) => powers.reduce((k, power) => k + +(power <= vector), -1);
  return {
    powers,
    leading,
    size: powers[digits],
    lines: firstLine(digits),
    inner(a, b) {
      let sum = 0;
      for (let k = 0; k < digits; k++) sum = add(sum, multiply(digit(a, k), digit(b, k)));
      return sum;
    },
    /** The vector with leading digit 1 of a numbered line. */
    line(number) {
      const k = leading(number * (order - 1) + 1); // firstLine(k) <= number
      return powers[k] + number - firstLine(k);
    },
    /** The number of the line of a nonzero vector. */
    number(vector) {
      const k = leading(vector);
      let factor = 1; // The inverse of the leading digit is its power of order - 2.
      for (let at = 2; at < order; at++) factor = multiply(factor, digit(vector, k));
      const tail = vector % powers[k];
      return powers.reduce((sum, power, at) => sum + power * multiply(factor, digit(tail, at)), firstLine(k));
    },
  };
}

/** The smallest space that has enough of something. */
export function spaceWith(elements, digits, enough) {
  const made = space(elements, digits);
  return enough(made) ? made : spaceWith(elements, digits + 1, enough);
}
