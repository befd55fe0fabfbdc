/**
 * Mechanisms whose device remembers something: what it draws once (`begin`), and a pure `advance` by one wave that says
 * what to send, what to remember and what it adds to the person's loss. `after(made)` is what any number of reports
 * cost when so many changes of the value were made.
 */

import { hex, unhex } from "./bytes.js";
import { dumps } from "./canonical.js";
import { oneOf, whole } from "./checks.js";
import { values } from "./domains.js";
import { must } from "./errors.js";
import { above, bitLength, GRID, logAbove, ONE, units } from "./exact.js";
import { bitOf, choose, odds, packed, sample, setMembers, setNumber } from "./frequencies.js";
import { sha256 } from "./sha256.js";

/**
 * A wave in which what is remembered about a value is sent. An answer is drawn in any case, and kept, which costs, for a
 * new value; beyond so many answers the last one that was kept is sent, and nothing else is kept.
 */
function recall(memory, key, drawn, send, cost, most) {
  const { answers, last } = memory;
  const known = +Object.hasOwn(answers, key);
  const held = Object.keys(answers).length;
  const frozen = +(held >= most) & ~known;
  const all = [{ [key]: drawn, ...answers }, answers][frozen];
  const next = { ...memory, answers: all };
  if (most) next.last = [key, last][known | frozen];
  return { report: send(all[[key, last][frozen]]), memory: next, epsilon: [cost(held), 0][known | frozen] };
}

/**
 * A permanent answer for each value; every report is a fresh randomization of it. Where values are hashed, the device
 * draws its cohort once, and values that share a bucket still have answers of their own.
 */
export function memoized({ permanent, instantaneous, changes: most = 2 ** 20 }, read) {
  const inner = permanent?.base ?? permanent;
  const direct = permanent?.base ? [] : ["rr", "local_hash", "bloom"];
  const bits = /unary|bloom/.test(oneOf("permanent", inner?.mechanism, "krr", "unary", ...direct));
  oneOf("instantaneous", instantaneous?.mechanism, ...(bits ? ["unary"] : ["rr", "krr"]));
  const lasting = read(permanent);
  const fresh = read(instantaneous);
  const { cohorts = 1, place = (code) => code, tell = lasting.perturb, attach = (_, report) => report } = lasting;
  const { buckets, hashes = 1 } = inner;
  whole("changes", most, 0, 2 ** 20);
  const domain = buckets ? { values: buckets, missing: "refuse" } : inner.domain;
  must(dumps(domain) === dumps(instantaneous.domain), "parts must have the same values", domain);
  const { size } = values(domain);
  const [n, d] = chained(bits, BigInt(size - 1), inner, instantaneous).map((part) => part ** BigInt(hashes));
  const held = permanent.domain.max_bytes ? Infinity : values(permanent.domain).size;
  const drawn = (made) => Math.min(made + 1, most + 1, held);
  const { p, q } = instantaneous;
  const resend = (bytes, source) => packed(size, (at) => source.coin([q, p][bitOf(bytes, at)]));
  return {
    ...lasting,
    epsilon: Math.min(logAbove(n, d), lasting.epsilon),
    after: (made) => above(BigInt(drawn(made)) * units(lasting.epsilon)),
    ahead: (waves, answers = [0]) =>
      Array(most >> 20 ? 0 : drawn(waves - 1) - Object.keys(answers).length).fill(lasting.epsilon),
    begin: (source) => ({ cohort: source.below(cohorts), answers: {}, last: null, version: 2 }),
    advance(code, memory, source) {
      // The first version, which had no number, kept hashed values under their buckets.
      const { cohort, version = 2 - +!!lasting.cohorts } = memory;
      must(version === 2, "a memory must be of version 2", version);
      const name = `${code.bytes ? hex(sha256(code.bytes, code.length)) : code}`;
      const told = tell(place(code, cohort), source.role("permanent", name));
      const now = source.role("instantaneous", name);
      const send = (kept) => attach(cohort, bits ? resend(unhex(kept), now) : fresh.perturb(kept, now));
      return recall(memory, source.hide(name), bits ? hex(told) : told, send, () => lasting.epsilon, most + 1);
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
  const [n, d] = [p, q].map((chance) => chance * one + (all - chance) * zero);
  return bits ? [n * (all * all - d), d * (all * all - n)] : [n, d];
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
    after: (made) => loss(Math.min(made + 1, size)),
    begin: (source) => ({ sample: setNumber(sample(size, sampled, source)), answers: {} }),
    advance(code, memory, source) {
      const own = source.role("permanent", code);
      const bit = (sum, member, at) => sum + own.coin([1 - p, p][+(member === code)]) * 2 ** at;
      const told = setMembers(sampled, memory.sample).reduce(bit, 0);
      const send = (kept) => memory.sample * 2 ** sampled + kept;
      return recall(memory, source.hide(`${code}`), told, send, (held) => loss(held + 1) - loss(held));
    },
  };
}

/** Yes or no over many waves; one of the few changes is told, at the end of a run of 2^order waves. */
export function changes({ domain, waves, changes: most, p }) {
  const { size, encode } = values(domain);
  const orders = bitLength(whole("waves", waves, 2, 2 ** 20));
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
      const { order } = memory;
      const missed = now >> order > memory.wave >> order; // A run of 2^order waves has ended meanwhile.
      const changed = code - memory.value;
      const count = memory.changes + Math.abs(changed);
      const sign = [missed ? 0 : memory.sign, changed][Math.abs(changed) & +(count === memory.kept)];
      const ends = +!(wave % 2 ** order);
      const up = source.role("instantaneous", code).coin(0.5 + ends * sign * (p - 0.5));
      const next = { ...memory, wave, value: code, changes: count, sign: ends ? 0 : sign };
      return { report: 2 * order + up, memory: next, epsilon: memory.wave ? 0 : forever };
    },
  };
}
