/**
 * Reports for an audit: node reports.js mechanism [broken] reads answers from standard input, as JSON, a line each, and
 * prints a report for each. A broken client has predictable coins that fall 5% too often.
 */

import { createInterface } from "node:readline";

import { library, toJson } from "./library.js";

class Broken extends library.Source {
  coin(p) {
    return Number(Math.random() < 1.05 * p);
  }
}

const made = library.mechanism(JSON.parse(process.argv[2]));
const source = process.argv[3] === "broken" ? new Broken() : new library.Source();
let lines = [];
for await (const line of createInterface({ input: process.stdin })) {
  lines.push(JSON.stringify(toJson(made.randomize(JSON.parse(line), source))));
  if (lines.length === 1000) {
    process.stdout.write(`${lines.join("\n")}\n`);
    lines = [];
  }
}
if (lines.length) process.stdout.write(`${lines.join("\n")}\n`);
