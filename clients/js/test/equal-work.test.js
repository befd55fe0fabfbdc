/**
 * Time must not tell the answer: with the same draws, every part of the program runs as often for one answer as for
 * another. V8 counts how often each block of the modules is run.
 */

import assert from "node:assert/strict";
import { Session } from "node:inspector/promises";
import test from "node:test";
import { setFlagsFromString } from "node:v8";

import { dumps, mechanism, Source } from "../src/index.js";

/** Draws that follow from a seed, as many as are asked for. */
class Seeded extends Source {
  constructor(seed) {
    super();
    this.state = seed;
  }

  draw() {
    this.state = (Math.imul(this.state, 1664525) + 1013904223) >>> 0;
    return this.state * 2 ** 21;
  }
}

// Compiled code does not count, and what is forgotten loses its counts.
for (const flag of ["opt", "maglev", "sparkplug", "flush-bytecode"]) setFlagsFromString(`--no-${flag}`);
const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });

/** How often each block of the modules ran since it was asked last, in the functions that ran at all. */
async function blockCounts() {
  const { result } = await session.post("Profiler.takePreciseCoverage");
  const counted = result
    .filter(({ url }) => url.includes("/clients/js/src/"))
    .flatMap(({ url, functions }) => functions.map((one) => ({ file: url.split("/").at(-1), ...one })))
    .filter(({ ranges }) => ranges[0].count);
  return counted.flatMap(({ file, functionName, ranges }) =>
    ranges.map(({ startOffset, endOffset, count }) => `${file} ${functionName} ${startOffset}-${endOffset}: ${count}`),
  );
}

const SEEDS = 6;

/** What runs while an answer is randomized, with each of some draws. */
async function work(made, answer) {
  const found = [];
  for (let seed = 0; seed < SEEDS; seed++) {
    const source = new Seeded(seed);
    await blockCounts();
    made.randomize(answer, source);
    found.push(await blockCounts());
  }
  return found;
}

/** A mechanism whose cost is computed: a first attempt says what it is. */
function costed(data) {
  try {
    return mechanism({ ...data, epsilon: 0 });
  } catch (error) {
    const [, epsilon] = error.message.match(/costs, ([\d.e+-]+), got 0/) ?? [];
    if (!epsilon) throw error;
    return mechanism({ ...data, epsilon: Number(epsilon) });
  }
}

const refuse = "refuse";
const listed = (values, missing = refuse) => ({ values, missing });
const scale = (low, high, steps) => ({ low, high, steps, outside: "clip" });
const text = (most, longer = refuse) => ({ max_bytes: most, missing: "category", longer, normalise: "NFC" });
const krr = (values) => costedData({ mechanism: "krr", domain: listed(values), p: 0.5 });
const costedData = (data) => ({ ...data, epsilon: costed(data).epsilon });
const hashing = { cohorts: 4, salt: "s" };
const numbers = [0, 100, 72.3, 1e-300, 5e-324, -0, 33.333, 1e9, -1e9];
const words = ["a", "coffee", "x".repeat(16), "é", "日本語", "e\u0301", "", null];
const spans = [[0, 4], [0, 17]];
const labels = ["no", "yes", "perhaps"];

const CASES = {
  rr: [{ mechanism: "rr", domain: listed([false, true]), p: 0.75 }, [false, true]],
  krr: [{ mechanism: "krr", domain: listed(labels, "category"), p: 0.5 }, [...labels, null, "", NaN]],
  unary: [{ mechanism: "unary", domain: listed(2000), p: 0.5, q: 0.25 }, [0, 1, 1999]],
  local_hash: [{ mechanism: "local_hash", domain: listed(1000), buckets: 4, p: 0.5 }, [0, 1, 999]],
  subset: [{ mechanism: "subset", domain: listed(16), size: 4, p: 0.5 }, [0, 15]],
  hadamard: [{ mechanism: "hadamard", domain: listed(2 ** 32), p: 0.75 }, [0, 1, 63, 2 ** 31, 2 ** 32 - 1]],
  projective: [{ mechanism: "projective", domain: listed(100), order: 3, p: 0.75 }, [0, 1, 99]],
  sets: [{ mechanism: "sets", domain: { options: labels }, p: 0.75 }, [[], ["no"], ["perhaps"], labels]],
  key_value: [
    { mechanism: "key_value", domain: { keys: 5, low: 0, high: 1, outside: refuse }, p: 0.75 },
    [[], [[0, 0]], [[4, 0.3]], [0, 1, 2, 3, 4].map((key) => [key, 1])],
  ],
  "mean, rounding": [
    { mechanism: "mean", kind: "rounding", domain: scale(0, 100, 1), p: 0.75, share: null, window: null, inside: null },
    numbers,
  ],
  "mean, hybrid": [
    { mechanism: "mean", kind: "hybrid", domain: scale(-100, 100, 64), p: 0.75, share: 0.5, window: 8, inside: 0.5 },
    [...numbers, -100, -1e-300],
  ],
  square_wave: [{ mechanism: "square_wave", domain: scale(0, 1e300, 16), bins: 16, window: 8, inside: 0.5 }, numbers],
  ranges: [{ mechanism: "ranges", domain: listed(16), fanout: 4, parts: [krr(4), krr(16)] }, [0, 1, 15]],
  several: [
    {
      mechanism: "several",
      domain: [{ name: "a", ...listed(3) }, { name: "b", ...listed(4) }],
      how: "split",
      parts: [krr(3), krr(4)],
    },
    [[0, 0], [2, 3]],
  ],
  memoized: [{ mechanism: "memoized", permanent: krr(8), instantaneous: krr(8) }, [0, 7]],
  d_bit_flip: [{ mechanism: "d_bit_flip", domain: listed(16), sampled: 4, p: 0.75 }, [0, 15]],
  changes: [{ mechanism: "changes", domain: listed([false, true]), waves: 8, changes: 2, p: 0.75 }, [false, true]],
  hashed: [{ mechanism: "hashed", domain: text(16, "cut"), ...hashing, base: krr(16) }, [...words, "x".repeat(60)]],
  bloom: [{ mechanism: "bloom", domain: text(16), buckets: 16, hashes: 2, ...hashing, p: 0.75, q: 0.25 }, words],
  discovery: [{ mechanism: "discovery", domain: text(16), spans, tag: 0, ...hashing, base: krr(16) }, words],
};

for (const [name, [data, answers]] of Object.entries(CASES)) {
  test(`${name}: the same work for all answers`, async () => {
    const made = costed(data);
    const first = await work(made, answers[0]);
    assert.ok(first[0].length > 10);
    for (const answer of answers) assert.deepEqual(await work(made, answer), first, JSON.stringify(answer));
  });
}

test("work that depends on the answer is found", async () => {
  const made = costed(CASES.krr[0]);
  const { encode } = made;
  made.encode = (value) => [...value].map(() => encode(value))[0]; // as often as the label has letters
  assert.notDeepEqual(await work(made, "yes"), await work(made, "no"));
  made.encode = (value) => (value === "yes" ? encode(value) : encode(plainly(value)));
  const plainly = (value) => dumps(value) && value; // one more function
  assert.notDeepEqual(await work(made, "yes"), await work(made, "no"));
});
