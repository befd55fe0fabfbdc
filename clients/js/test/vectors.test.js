/** The vectors of every mechanism: draws -> report, histories, and what is refused. */

import assert from "node:assert/strict";
import test from "node:test";

import { checkReport } from "../src/decode.js";
import { hashing } from "../src/hashed.js";
import { error, fromJson, library, mechanisms, Replay, toJson, vectors } from "./library.js";

const { mechanism } = library;

test("there are vectors of all mechanisms", () => {
  const refusal = (() => {
    try {
      mechanism({});
    } catch (thrown) {
      return thrown.message;
    }
  })();
  const known = refusal.match(/one of (\S+), got/)[1].split(",");
  assert.deepEqual(known.sort(), [...mechanisms].sort());
});

for (const name of mechanisms) {
  const file = vectors(name);
  file.vectors.forEach((vector, at) => {
    const made = mechanism(vector.mechanism);

    test(`${name} ${at}: epsilon, and draws to reports`, () => {
      assert.equal(made.epsilon, vector.mechanism.epsilon);
      assert.equal(made.bits, vector.bits);
      for (const { value, draws, report } of vector.cases) {
        const source = new Replay(draws);
        const given = made.randomize(value, source);
        assert.deepEqual([toJson(given), source.left], [report, []]);
        assert.equal(checkReport(made, given), given);
      }
    });

    test(`${name} ${at}: histories`, () => {
      for (const { draws, steps, memory } of vector.histories ?? []) {
        const source = new Replay(draws);
        let kept;
        for (const { value, wave, report, epsilon } of steps) {
          const step = made.step(value, kept, source, wave);
          assert.deepEqual([toJson(step.report), step.epsilon], [report, epsilon]);
          kept = step.memory;
        }
        assert.deepEqual([kept, source.left], [memory, []]);
      }
    });

    test(`${name} ${at}: what is invalid`, () => {
      for (const value of vector.invalid_values) assert.throws(() => made.randomize(value), error("DomainError"));
      for (const report of vector.invalid_reports) {
        assert.throws(() => checkReport(made, fromJson(made, report)), error("ReportError"));
      }
    });
  });

  test(`${name}: invalid mechanisms`, () => {
    for (const data of file.invalid_mechanisms) {
      assert.throws(() => mechanism(data), error("ParameterError"), JSON.stringify(data));
    }
  });
}

test("a missing answer is a category of its own, if there is one", () => {
  const sound = vectors("krr").vectors.find(({ mechanism: data }) => data.domain.missing === "category");
  const made = mechanism(sound.mechanism);
  for (const value of [null, undefined, "", NaN]) {
    assert.equal(made.randomize(value, new Replay([0, 0])), sound.mechanism.domain.values.length);
  }
});

test("hashing: the buckets of texts", () => {
  for (const { salt, buckets, cohorts, functions, cases } of vectors("hashing").hashing) {
    const places = hashing({ salt, cohorts }, buckets, functions);
    for (const { utf8, buckets: expected } of cases) {
      const bytes = new Uint8Array(Buffer.from(utf8, "hex"));
      assert.deepEqual(expected.map((_, cohort) => places({ bytes, length: bytes.length }, cohort)), expected);
    }
  }
});
