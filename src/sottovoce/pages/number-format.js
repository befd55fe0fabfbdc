/** Numbers as people read them: shares in percent, other numbers with few digits, p-values with a limit. */

import { language, number, say } from "./language.js";

const percent = (digits) => new Intl.NumberFormat(language, { style: "percent", minimumFractionDigits: digits, maximumFractionDigits: digits });
const PERCENT = [0, 1, 2].map(percent);

/** A share in percent. */
export const share = (value, digits = 1) => PERCENT[digits].format(value);

/** An estimate by what it measures: a share, or a number with so many digits. */
export const measured = (value, measure, digits = 1) =>
  measure === "mean" ? number(Number(value.toPrecision(3 + digits))) : share(value, digits);

/** The least digits of a percentage that tell errors of this size. */
export const digitsFor = (error) => (error < 0.002 ? 2 : 1);

/** An interval. */
export const between = (low, high, measure, digits) =>
  say("format.between", { low: measured(low, measure, digits), high: measured(high, measure, digits) });

/** A p-value: very small ones only as a limit. */
export const pValue = (value) => (value < 0.0001 ? say("format.below", { limit: number(0.0001) }) : number(value, 2));

/** A long stretch of time in words, from minutes. */
export function duration(minutes) {
  const [unit, size] = minutes < 60 ? ["minute", 1] : minutes < 2880 ? ["hour", 60] : ["day", 1440];
  return new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "long", maximumFractionDigits: 0 }).format(Math.max(1, Math.round(minutes / size)));
}
