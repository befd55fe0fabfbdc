/** For each line of standard input what this client makes of it, for another to compare: see tests/pages/test_js.py. */

import { createInterface } from "node:readline";

import { chances } from "../chances.js";
import { library, Replay, toJson } from "./library.js";

const { dumps, loads, logAbove, mechanism, Respondent, MemoryStore, Survey } = library;

const TASKS = {
  /** The p and q of a mechanism. */
  chances: ({ data }) => chances(data),
  /** A mechanism with an answer and its draws: epsilon and report. */
  randomize({ data, value, draws }) {
    const source = new Replay(draws);
    const made = mechanism(data);
    return { epsilon: made.epsilon, report: toJson(made.randomize(value, source)), left: source.left.length };
  },
  /** The logarithm of a ratio of two decimal numbers. */
  log: ({ n, d }) => logAbove(BigInt(n), BigInt(d)),
  /** Canonical JSON. */
  canonical: ({ text }) => dumps(loads(text)),
  /** Whether a document is a survey. */
  accepts({ survey }) {
    try {
      return Boolean(new Survey(survey));
    } catch (error) {
      if (!(error instanceof library.SottovoceError)) throw error;
      return false;
    }
  },
  /** All that a person answers to a survey in some waves: what is sent, and the ledger. */
  async answer({ survey, answers, covariates, budget }) {
    const me = new Respondent({ store: new MemoryStore(), budget });
    const bodies = [];
    for (const [wave, given] of answers.entries()) bodies.push(await me.answer(survey, given, { wave, covariates }));
    return { bodies, ledger: await me.ledger(), epsilon: new Survey(survey).epsilon };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { task, ...given } = JSON.parse(line);
  console.log(JSON.stringify(await TASKS[task](given)));
}
