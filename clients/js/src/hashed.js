/** Texts that nobody listed: public hash functions, others in each cohort, and a mechanism over their buckets. */

import { concat, isText, utf8 } from "./bytes.js";
import { isWhole, oneOf, whole } from "./checks.js";
import { texts } from "./domains.js";
import { must } from "./errors.js";
import { bitLength, GRID, remainder } from "./exact.js";
import { bitOdds, bitOf, inCohorts, noisy, packed } from "./frequencies.js";
import { sha256 } from "./sha256.js";

const P = 2 ** 31 - 1;

/** The first 32-bit words of the digest of a tag, a key and a text, each without its top bit; P is 0. */
function words(tag, key, { bytes, length }) {
  const view = new DataView(sha256(concat(utf8(tag), key, bytes), 33 + length).buffer);
  return [0, 4, 8].map((at) => (view.getUint32(at) & P) % P);
}

/** A product modulo P of two numbers below P, without numbers from 2^53 on. */
const times = (a, b) => remainder(remainder(a * (b >>> 16), P) * 2 ** 16 + a * (b & 0xffff), P);

/** The buckets of a text in a cohort, one by each function. */
export function hashing({ salt, cohorts }, buckets, functions) {
  must(isText(salt) && [...salt].length <= 1024, "a salt must be text of at most 1024 characters", salt);
  whole("cohorts", cohorts, 1, 2 ** 16);
  whole("buckets", buckets, 2, 2 ** 16);
  whole("hashes", functions, 1, 16);
  const key = sha256(utf8(salt));
  return (text, cohort) => {
    const [x, y] = words("v", key, text);
    return Array.from({ length: functions }, (_, at) => {
      const bytes = [0, 0, cohort >> 8, cohort & 255, 0, 0, 0, at];
      const [a, b, c] = words("f", key, { bytes, length: 8 });
      return remainder(remainder(times(a, x) + times(b, y) + c, P), buckets);
    });
  };
}

/** A mechanism over buckets or bits, with the number of the cohort before its reports or behind their bits. */
function hashedBy({ domain, cohorts }, place, { length, outcomes = 0, ratios, perturb: tell }) {
  const wide = cohorts > 1 ? bitLength(cohorts - 1) : 0;
  const shape = length ? { length: length + wide } : { outcomes: Number(outcomes) * cohorts };
  must(length || shape.outcomes <= GRID, "reports must be at most 2^53", shape.outcomes);
  const attach = (cohort, report) =>
    length
      ? packed(shape.length, (at) => (at < length ? bitOf(report, at) : (cohort >> (at - length)) & 1))
      : cohort * outcomes + report;
  return inCohorts({ encode: texts(domain), ...shape, ratios, cohorts, wide, place, tell, attach });
}

/** `view` gives what a cohort is told of a text. */
export function hashed(data, read, view = (text, _cohort) => text) {
  oneOf("base", data.base?.mechanism, "krr", "unary", "subset", "hadamard", "projective", "local_hash");
  const { values: buckets, missing } = data.base.domain ?? {};
  must(Number.isInteger(buckets) && missing === "refuse", "base must be over a number of values", data.base.domain);
  const places = hashing(data, buckets, 1);
  return hashedBy(data, (text, cohort) => places(view(text, cohort), cohort)[0], read(data.base));
}

/** Each group of cohorts is told other bytes of a text, with its end marked, behind a tag of so many bits. */
export function discovery(data, read) {
  const { spans, tag, cohorts, salt, domain } = data;
  const most = domain?.max_bytes + 1;
  whole("tag", tag, 0, 24);
  const fits = (span, at) => {
    if (!Array.isArray(span) || span.length !== 2 || !isWhole(span[1], 1, most)) return false;
    const before = at ? spans[at - 1][1] : 1;
    return tag && span[1] < most ? span[0] === at && span[1] === at + 1 && before < most : !span[0] && span[1] >= before;
  };
  must(Array.isArray(spans) && isWhole(cohorts / spans.length, 1, 65536) && spans.length <= 1024, "as many cohorts", cohorts);
  must(spans.every(fits) && spans.at(-1)[1] === most, "spans must grow to the whole text", spans);
  return hashed(data, read, (text, cohort) => {
    const label = words("v", sha256(utf8(salt)), text)[1] & (2 ** tag - 1);
    const [start, stop] = spans[Math.floor((cohort * spans.length) / cohorts)];
    const head = tag ? [label >> 16, label >> 8, label] : [];
    const marked = text.bytes.slice();
    marked[text.length] = 255; // the end
    const before = (end) => Math.min(end, text.length + 1);
    return { bytes: concat(head, marked.slice(start, stop)), length: head.length + before(stop) - before(start) };
  });
}

/** Several hash functions set a bit each, and every bit is randomized. */
export function bloom(data) {
  const { buckets, hashes, p, q } = data;
  const places = hashing(data, buckets, hashes);
  must(buckets >= 2 * hashes, "buckets must be at least twice the hashes", buckets);
  const [n, d] = bitOdds(p, q);
  const perturb = (held, source) => noisy(buckets, held, p, q, source);
  return hashedBy(data, places, { length: buckets, ratios: [[n ** BigInt(hashes), d ** BigInt(hashes)]], perturb });
}
