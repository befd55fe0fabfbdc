/**
 * Mechanisms whose device remembers something: what it draws once (`begin`), and a pure `advance` by one wave that says
 * what to send, what to remember and what it adds to the person's loss. `after(changes)` is what any number of reports
 * with so many changes of the value cost.
 */

import { hex, unhex } from "./bytes.js";
import { dumps } from "./canonical.js";
import { oneOf, whole } from "./checks.js";
import { values } from "./domains.js";
import { must } from "./errors.js";
import { above, GRID, logAbove, units } from "./exact.js";
import { bitOf, choose, odds, ONE, packed, sample, setNumber } from "./frequencies.js";

/** A wave in which what is remembered about a value is sent; if there is nothing yet, it is drawn, which costs. */
function recall(memory, key, draw, send, cost) {
  const known = Object.hasOwn(memory.answers, key);
  const kept = known ? memory.answers[key] : draw();
  const answers = { ...memory.answers, [key]: kept };
  return { report: send(kept), memory: { ...memory, answers }, epsilon: known ? 0 : cost() };
}

/**
 * A permanent answer for each value, bucket or set of bits; every report is a fresh randomization of it. Where values
 * are hashed, the device draws its cohort once.
 */
export function memoized({ permanent, instantaneous }, read) {
  const inner = permanent?.base ?? permanent;
  const kinds = ["krr", "unary", ...(permanent?.base ? [] : ["rr", "local_hash", "bloom"])];
  const bits = /unary|bloom/.test(oneOf("permanent", inner?.mechanism, ...kinds));
  oneOf("instantaneous", instantaneous?.mechanism, ...(bits ? ["unary"] : ["rr", "krr"]));
  const lasting = read(permanent);
  const fresh = read(instantaneous);
  const { cohorts = 1, place = (code) => code, tell = lasting.perturb, attach = (_, report) => report } = lasting;
  const { buckets, hashes = 1 } = inner;
  const domain = buckets ? { values: buckets, missing: "refuse" } : inner.domain;
  must(dumps(domain) === dumps(instantaneous.domain), "both parts must be over the same values", domain);
  const { size } = values(domain);
  const [n, d] = chained(bits, BigInt(size - 1), inner, instantaneous).map((part) => part ** BigInt(hashes));
  const most = hashes > 1 ? Infinity : size; // Sets of bits are too many to run out.
  const { p, q } = instantaneous;
  const resend = (bytes, source) => packed(size, (at) => source.coin([q, p][bitOf(bytes, at)]));
  return {
    ...lasting,
    epsilon: Math.min(logAbove(n, d), lasting.epsilon),
    after: (changes) => above(BigInt(Math.min(changes + 1, most)) * units(lasting.epsilon)),
    begin: (source) => ({ cohort: source.below(cohorts), answers: {} }),
    advance(code, memory, source) {
      const held = place(code, memory.cohort);
      const key = [...new Set([held].flat())].sort((a, b) => a - b).join();
      const draw = () => (bits ? hex(tell(held, source)) : tell(held, source));
      const send = (kept) =>
        attach(memory.cohort, bits ? resend(unhex(kept), source) : fresh.perturb(kept, source));
      return recall(memory, key, draw, send, () => lasting.epsilon);
    },
  };
}

/** The worst ratio of one report, whose permanent answer is drawn by one mechanism and sent by the other. */
function chained(bits, others, permanent, instantaneous) {
  const all = bits ? ONE : ONE * others;
  const [[p, q], [one, zero]] = [permanent, instantaneous].map((part) => {
    const exact = BigInt(part.p * GRID);
    return bits ? [exact, BigInt(part.q * GRID)] : [exact * others, ONE - exact];
  });
  must(p > q && one > zero, "p must be above q", permanent.p);
  const sent = (chance, up, down) => chance * up + (all - chance) * down;
  const n = sent(p, one, zero);
  const d = sent(q, one, zero);
  return bits ? [n * sent(all - q, all - zero, all - one), d * sent(all - p, all - zero, all - one)] : [n, d];
}

/** A device draws some of the values for good, and tells of each by a bit whether it is its own. */
export function dBitFlip({ domain, sampled, p }) {
  const { size, encode } = values(domain);
  const outcomes = choose(size, whole("sampled", sampled, 1, size)) * 2 ** sampled;
  must(outcomes <= GRID, "reports must be at most 2^53", outcomes);
  const [n, d] = odds(p, 1, 1);
  const loss = (held) => {
    const bits = BigInt(held > 1 ? 2 * Math.min(held, sampled) : held * Math.min(2, sampled));
    return logAbove(n ** bits, d ** bits);
  };
  return {
    encode,
    outcomes,
    ratios: [[n, d]],
    epsilon: loss(1),
    after: (changes) => loss(Math.min(changes + 1, size)),
    begin: (source) => ({ sample: setNumber(sample(size, sampled, source)), answers: {} }),
    advance(code, memory, source) {
      const bit = (sum, member, at) => sum + source.coin(member === code ? p : 1 - p) * 2 ** at;
      const tell = () => setMembers(size, sampled, memory.sample).reduce(bit, 0);
      const held = Object.keys(memory.answers).length;
      const send = (told) => memory.sample * 2 ** sampled + told;
      return recall(memory, code, tell, send, () => loss(held + 1) - loss(held));
    },
  };
}

/** The members of a numbered set of k values out of n, in ascending order. */
function setMembers(n, k, number) {
  if (!k) return [];
  let low = 0;
  let high = n;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (choose(middle, k) <= number) low = middle;
    else high = middle;
  }
  return [...setMembers(low, k - 1, number - choose(low, k)), low];
}

/** Yes or no over many waves; one of the few changes is told, at the end of a run of 2^order waves. */
export function changes({ domain, waves, changes: most, p }) {
  const { size, encode } = values(domain);
  const orders = whole("waves", waves, 2, 2 ** 20).toString(2).length;
  const [n, d] = odds(p, 1, 1);
  must(size === 2, "values must be 2", size);
  const forever = logAbove(n, d);
  const told = ONE * BigInt(whole("changes", most, 1, waves));
  return {
    encode,
    waves,
    outcomes: 2 * orders,
    ratios: [[n, d]],
    epsilon: logAbove(told, told - n + d), // of the first report
    after: () => forever,
    begin(source) {
      const order = source.below(orders);
      return { order, kept: 1 + source.below(most), wave: 0, value: 0, changes: 0, sign: 0 };
    },
    advance(code, memory, source, now = memory.wave) {
      const wave = 1 + whole("wave", now, memory.wave, waves - 1);
      const run = 2 ** memory.order;
      const missed = Math.floor(now / run) > Math.floor(memory.wave / run); // A run has ended meanwhile.
      const changed = code - memory.value;
      const count = memory.changes + Math.abs(changed);
      const sign = changed && count === memory.kept ? changed : missed ? 0 : memory.sign;
      const ends = wave % run === 0;
      const up = source.coin(0.5 + ends * sign * (p - 0.5));
      const next = { ...memory, wave, value: code, changes: count, sign: ends ? 0 : sign };
      return { report: 2 * memory.order + up, memory: next, epsilon: memory.wave ? 0 : forever };
    },
  };
}
