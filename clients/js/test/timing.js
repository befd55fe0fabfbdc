/**
 * How long each call of a randomizer takes: reads { mechanism, answers, calls } from standard input, as JSON, and prints
 * which answer it was, nanoseconds and report of each call. See benchmarks/timing.py.
 */

import { readFileSync } from "node:fs";

import { library, toJson } from "./library.js";

const { mechanism: data, answers, calls } = JSON.parse(readFileSync(0, "utf8"));
const made = library.mechanism(data);
const which = Array.from({ length: calls }, () => Math.floor(Math.random() * answers.length)); // The order, not a draw.
const times = [];
const reports = [];
for (const at of which.slice(0, 5000)) made.randomize(answers[at]);
for (const at of which) {
  const answer = answers[at];
  const before = process.hrtime.bigint();
  const report = made.randomize(answer);
  const after = process.hrtime.bigint();
  times.push(Number(after - before));
  reports.push(toJson(report));
}
console.log(JSON.stringify([which, times, reports]));
