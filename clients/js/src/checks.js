/** Checks of parameters: each returns what it was given, or says what is wrong with it. */

import { isObject } from "./canonical.js";
import { must } from "./errors.js";
import { GRID } from "./exact.js";

/** An object with just these fields, given as words; those with a question mark may be absent. */
export function fields(data, words) {
  const names = isObject(data) ? Object.keys(data) : [""];
  const asked = words.split(" ");
  const has = (list, name) => list.includes(name) || list.includes(`${name}?`);
  must(
    names.every((name) => has(asked, name)) && asked.every((word) => word.endsWith("?") || has(names, word)),
    `there must be just ${asked}`,
    names,
  );
  return data;
}

export const oneOf = (name, value, ...choices) =>
  must(choices.includes(value), `${name} must be one of ${choices}`, value);

export const isWhole = (value, least, most) => Number.isInteger(value) && value >= least && value <= most;

export const whole = (name, value, least, most) =>
  must(isWhole(value, least, most), `${name} must be whole, ${least} to ${most}`, value);

export const finite = (name, value) => must(Number.isFinite(value), `${name} must be a finite number`, value);

/** A probability that random bits can be compared with exactly. */
export const chance = (name, p) =>
  must(isWhole(finite(name, p) * GRID, 1, GRID - 1), `${name} must be a multiple of 2^-53 between 0 and 1`, p);

/** Whether entries differ from one another. */
export const differ = (name, list) => must(new Set(list).size === list.length, `${name} must differ`, list);
