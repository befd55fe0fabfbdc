/** What a report tells, in plain words and by the exact probabilities of its mechanism. */

import { chances, sizeOf, supporter } from "./chances.js";
import { mechanism } from "./sottovoce.js";
import { number, say } from "./language.js";

/** A probability as so many of 100 people, or of more if that would make it none or all. */
export function countOf(chance) {
  let people = 100;
  const said = () => {
    const rounded = Math.round(chance * people);
    return rounded - chance * people === 0.5 && rounded % 2 ? rounded - 1 : rounded;
  };
  while (chance > 0 && chance < 1 && [0, people].includes(said()) && people < 1e6) people *= 10;
  return { said: said(), people };
}

/** What an attacker who held two answers for equally likely can believe after a report: at most this, in percent. */
export function belief(epsilon) {
  const percent = 100 / (1 + Math.exp(-epsilon));
  const digits = percent > 99 ? 3 : 1;
  const near = Number(percent.toPrecision(12)); // An epsilon is rounded up by less than that.
  return Math.min(Math.ceil(near * 10 ** digits) / 10 ** digits, 100);
}

/** How many times likelier one answer may become against another. */
export const factor = (epsilon) => number(Number(Math.exp(epsilon).toPrecision(12)), 3);

/** What the values of a question are called; `null` stands for no answer. */
export function labelOf({ kind = "", values = [] }, value) {
  if (value === null || value === undefined) return say("common.no_answer");
  const plain = kind === "yes_no" && values.join() === "no,yes";
  return plain ? say(`common.${value}`) : typeof value === "number" ? number(value) : String(value);
}

/** All values of a question, with that of no answer last. */
export function valuesOf({ values, missing = "refuse" }) {
  const list = Array.isArray(values) ? values : Array.from({ length: values }, (_, at) => at);
  return missing === "category" ? [...list, null] : list;
}

/** How its report is made of an answer. */
const SHAPES = {
  rr: "two",
  krr: "response",
  unary: "group",
  local_hash: "group",
  hadamard: "group",
  subset: "group",
  projective: "group",
  d_bit_flip: "group",
  sets: "one_of",
  mean: "number",
  square_wave: "near",
  ranges: "ranges",
  hashed: "hashed",
  discovery: "hashed",
};

export function shapeOf(written) {
  if (written.mechanism === "memoized") return shapeOf(written.permanent);
  if (written.mechanism === "mean") return { rounding: "side", piecewise: "near", hybrid: "hybrid" }[written.kind];
  if (written.mechanism === "krr" && sizeOf(written.domain) === 2) return "two";
  return SHAPES[written.mechanism] ?? "any";
}

/** "Of 100 people who ..., 27 send ...": a sentence, and the chance that it speaks of, for a bar. */
const odds = (key, chance, values = {}) => {
  const { said, people } = countOf(chance);
  return { text: say(`odds.${key}`, { said, people, ...values }), chance };
};

const WORDS = {
  two(question, { p, q }) {
    const [a, b] = valuesOf(question).map((value) => labelOf(question, value));
    return [odds("sends", q, { held: a, sent: b }), odds("sends", 1 - p, { held: b, sent: a })];
  },
  response: (_, { p }) => [odds("own", p), odds("another", 1 - p)],
  group: (_, { p, q }) => [odds("speaks", p), odds("speaks_not", q)],
  one_of: ({ values }, { p }) => [
    { text: say("odds.one_of", { n: valuesOf({ values }).length }) },
    odds("not_held", 1 - p),
    odds("held", 1 - p),
  ],
  side: ({ low, high }, _, { p }) => [
    { text: say("odds.side") },
    odds("low", 1 - p, { low: number(low) }),
    odds("high", 1 - p, { high: number(high) }),
  ],
  near: (_, __, { domain, window, inside }) => [
    odds("near", inside, { part: countOf(window / (window + domain.steps)).said }),
    odds("far", 1 - inside),
  ],
  hybrid: ({ low, high }, _, { domain, window, inside, share, p }) => [
    odds("hybrid", share),
    odds("hybrid_near", inside, { part: countOf(window / (window + domain.steps)).said }),
    odds("hybrid_low", 1 - p, { low: number(low) }),
    odds("hybrid_high", 1 - p, { high: number(high) }),
  ],
  ranges(_, __, { parts }) {
    const each = parts.map((part) => chances(part).p);
    return [
      { text: say("odds.ranges", { n: parts.length }) },
      odds("ranges_least", Math.min(...each)),
      odds("ranges_most", Math.max(...each)),
    ];
  },
  hashed: (_, { p, q }, { permanent, base = permanent.base }) => [
    { text: say("odds.hashed", { n: base.domain.values }) },
    odds("speaks", p),
    odds("speaks_not", q),
  ],
  any: ({ epsilon }) => [{ text: say("odds.any", { factor: factor(epsilon) }) }],
};

/** The lines about one question, of which `written` is its mechanism as the survey has it. */
export const oddsOf = (question, written) => WORDS[shapeOf(written)](question, chances(written), written);

// What a report says, as far as it can be said in words.

function listed(question, written, report) {
  const speaks = supporter(written, report);
  if (!speaks) return { text: say("odds.code", { code: String(report), said: countOf(chances(written).q).said }) };
  const values = valuesOf(question).filter((_, code) => speaks(code));
  const names = values.map((value) => labelOf(question, value));
  if (names.length === 1) return { text: names[0], values };
  if (!names.length) return { text: say("odds.none"), values };
  const shown = names.slice(0, 8).join(", ");
  const more = names.length - 8;
  return { text: say(more > 0 ? "odds.one_of_more" : "odds.one_of_these", { shown, more }), values };
}

function sided({ low, high }, report) {
  return { text: say(report ? "odds.said_high" : "odds.said_low"), values: [report ? high : low] };
}

function placed({ low, high }, { domain, window }, report) {
  const place = (report - (window - 1) / 2) / domain.steps;
  return { text: say("odds.about", { value: number(low + place * (high - low), 3) }) };
}

/** One level of groups was drawn, and one group or some of them are spoken for. */
function grouped(question, { fanout, parts }, report) {
  let at = 0;
  let left = BigInt(report);
  const made = parts.map((part) => mechanism(part));
  while (left >= BigInt(made[at].outcomes)) left -= BigInt(made[at++].outcomes);
  const width = fanout ** (parts.length - 1 - at);
  const values = valuesOf(question);
  const speaks = supporter(parts[at], Number(left));
  const groups = Array.from({ length: sizeOf(parts[at].domain) }, (_, group) => group).filter(speaks ?? (() => false));
  const ends = groups.map((group) => [values[group * width], values[Math.min((group + 1) * width, values.length) - 1]]);
  const shown = ends
    .slice(0, 4)
    .map(([a, b]) => (a === b ? "" : `${labelOf(question, a)} – `) + labelOf(question, b))
    .join("; ");
  if (groups.length === 1) return { text: shown };
  return {
    text: say(groups.length > 4 ? "odds.one_of_more" : "odds.one_of_these", { shown, more: groups.length - 4 }),
  };
}

/**
 * What one report says: its text, and the values that it speaks for where they are known. A report is a number, text
 * for a large number or for bits, or bytes.
 */
export function meaning(question, written, report) {
  const shape = shapeOf(written);
  if (shape === "one_of") {
    const option = valuesOf({ values: question.values })[Math.floor(report / 2)];
    return { text: say(report % 2 ? "odds.said_held" : "odds.said_not_held", { option: String(option) }) };
  }
  if (shape === "side") return sided(question, report);
  if (shape === "near") return placed(question, written, report);
  if (shape === "hybrid") return report < 2 ? sided(question, report) : placed(question, written, report - 2);
  if (shape === "ranges") return grouped(question, written, report);
  if (shape === "two" || shape === "response")
    return listed(
      question,
      { ...written, mechanism: "krr", domain: written.domain ?? written.permanent.domain },
      report,
    );
  if (shape === "group" && written.mechanism !== "memoized") return listed(question, written, report);
  const known = chances(written);
  return { text: known ? say("odds.code", { code: codeOf(report), said: countOf(known.q).said }) : codeOf(report) };
}

const codeOf = (report) =>
  report instanceof Uint8Array
    ? Array.from(report, (byte) => byte.toString(16).padStart(2, "0")).join("")
    : String(report);

/** What a shuffler adds, as long as it tells nobody who sent what. The epsilon is rounded up. */
export function mixedText({ central: { epsilon, delta }, honest, minimum }) {
  const step = 10 ** (Math.floor(Math.log10(epsilon)) - 2);
  return say("trust.mixed", { minimum: number(minimum), honest: number(honest), epsilon: number(Math.ceil(epsilon / step) * step, 6), delta: String(delta) });
}
