/** Mechanisms made of others: about one of many topics, or of parts each of which is asked something else. */

import { dumps } from "./canonical.js";
import { oneOf, whole } from "./checks.js";
import { attributes, keyed, options, values } from "./domains.js";
import { must } from "./errors.js";
import { join } from "./exact.js";
import { respond, responseOdds } from "./frequencies.js";

/**
 * One topic is drawn at random, and the answer's symbol for it is told by k-ary randomized response. A number is rounded
 * to low (1) or high (2) at random first.
 */
function asked({ topics, encode }, symbols, p) {
  const perturb = (code, source) => {
    const topic = source.below(topics);
    const held = +code.has(topic);
    const up = symbols > 2 ? source.coin([0, code.get(topic)][held]) : 0;
    return symbols * topic + respond(symbols, p, held * (1 + up), source);
  };
  return { encode, outcomes: symbols * topics, ratios: [responseOdds(symbols, p)], perturb };
}

export const sets = ({ domain, p }) => asked(options(domain), 2, p);
export const keyValue = ({ domain, p }) => asked(keyed(domain), 3, p);

/** Parts as they are written down: each krr or local_hash over so many values. */
function partsOf(written, sizes, read) {
  must(Array.isArray(written) && written.length === sizes.length, `parts must be ${sizes.length} mechanisms`, written);
  return written.map((data, at) => {
    oneOf("a part", data?.mechanism, "krr", "local_hash");
    const wanted = dumps({ values: sizes[at], missing: "refuse" });
    must(dumps(data.domain) === wanted, `a part must be over ${wanted}`, data.domain);
    return read(data);
  });
}

/** One part, drawn at random, is answered. Its reports are shifted by those of the parts before. */
function mixture(parts) {
  const starts = [0];
  for (const part of parts) starts.push(join(starts.at(-1), 1, part.outcomes));
  const perturb = (codes, source) => {
    const at = source.below(parts.length);
    return join(starts[at], 1, parts[at].perturb(codes[at], source));
  };
  return { outcomes: starts.at(-1), ratios: parts.flatMap((part) => part.ratios), perturb };
}

/** All parts are answered; a report is the list of theirs, as one number. */
function composition(parts) {
  const outcomes = parts.reduce((product, part) => product * Number(part.outcomes), 1);
  must(outcomes <= 2 ** 24, "reports must be at most 2^24", outcomes);
  return {
    outcomes,
    ratios: [parts.map((part) => part.ratios[0]).reduce(([n, d], [m, e]) => [n * m, d * e])],
    perturb: (codes, source) =>
      parts.reduce((sum, part, at) => sum * part.outcomes + part.perturb(codes[at], source), 0),
  };
}

export function ranges({ domain, fanout, parts }, read) {
  const { size, encode } = values(domain);
  whole("fanout", fanout, 2, size);
  const widths = [1];
  while (widths[0] * fanout < size) widths.unshift(widths[0] * fanout);
  const sizes = widths.map((width) => Math.ceil(size / width));
  const nodes = (code) => widths.map((width) => Math.floor(code / width));
  return { ...mixture(partsOf(parts, sizes, read)), encode: (value) => nodes(encode(value)) };
}

export function several({ domain, how, parts }, read) {
  const { sizes, encode } = attributes(domain);
  const each = sizes.map((_, at) => [at]);
  const two = each.flatMap(([a]) => each.slice(a + 1).map(([b]) => [a, b]));
  const ways = { split: each, sample: each, joint: [each.flat()], pairs: two };
  const questions = ways[oneOf("how", how, ...Object.keys(ways))];
  const joined = (codes) => questions.map((places) => places.reduce((code, at) => code * sizes[at] + codes[at], 0));
  const counts = questions.map((places) => places.reduce((product, at) => product * sizes[at], 1));
  const combined = (how === "split" ? composition : mixture)(partsOf(parts, counts, read));
  return { ...combined, encode: (value) => joined(encode(value)) };
}
