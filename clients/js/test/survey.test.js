/** Canonical JSON, published surveys and their digests, and submissions: the vectors that Python has too. */

import assert from "node:assert/strict";
import test from "node:test";

import { decode } from "../src/decode.js";
import { error, library, vectors } from "./library.js";

const { dumps, encode, loads, Survey } = library;
const file = vectors("surveys");
const wire = vectors("wire");

test("numbers and values have one spelling", () => {
  for (const { bits, text } of file.numbers) assert.equal(dumps(Buffer.from(bits, "hex").readDoubleBE()), text);
  for (const { json, canonical } of file.values) {
    assert.equal(dumps(loads(json)), canonical);
    assert.equal(dumps(loads(new TextEncoder().encode(json))), canonical);
  }
});

test("what has no one reading is refused", () => {
  for (const text of file.invalid_texts) assert.throws(() => loads(text), error("ParameterError"), text);
  for (const bytes of [[0xff], [0xef, 0xbb, 0xbf, 0x31], [0xed, 0xa0, 0x80]]) {
    assert.throws(() => loads(Uint8Array.from(bytes)), error("ParameterError"));
  }
  for (const value of [undefined, NaN, 1n, () => 1, new Map(), Symbol.iterator && { a: undefined }]) {
    assert.throws(() => dumps(value), error("ParameterError"));
  }
  assert.throws(() => loads(" ".repeat(2 ** 20) + "1"), error("ParameterError", /at most 1048576 bytes/));
});

test("published surveys have their bytes, digests and costs", () => {
  for (const { document, canonical, digest, epsilon } of file.surveys) {
    for (const given of [document, canonical, JSON.stringify(document, null, 2), new TextEncoder().encode(canonical)]) {
      const survey = new Survey(given);
      assert.deepEqual([survey.canonical, survey.digest, survey.epsilon], [canonical, digest, epsilon]);
    }
  }
});

for (const { why, document } of file.invalid_surveys) {
  test(`refused: ${why}`, () => assert.throws(() => new Survey(document), error("ParameterError")));
}

test("drafts are refused", () => {
  const [{ document }] = file.surveys;
  const open = document.questions.map((question) => ({ ...question, mechanism: "auto" }));
  const { budget, ...unlimited } = document;
  for (const draft of [{ ...document, questions: open }, unlimited, { ...document, split: "need" }]) {
    assert.throws(() => new Survey(draft), error("Refusal", /must be published/));
  }
});

test("a survey among curators is not for a device", () => {
  const [{ document }] = file.surveys;
  const curated = { ...document, trust: "federated", federated: { curators: ["north", "east"] } };
  assert.throws(() => new Survey(curated), error("Refusal", /is for curators/));
});

test("odd documents are one clear error", () => {
  const [{ document }] = file.surveys;
  for (const odd of [null, 5, "x", "", [], {}, new Map(), { sottovoce: 1 }, undefined]) {
    assert.throws(() => new Survey(odd), error("ParameterError"));
  }
  const one = [{ budget: 0.5 }, { budget: -1 }, { budget: "1" }, { budget: null }, { questions: {} }, { schedule: 1 }];
  const two = [{ covariates: [] }, { covariates: [{ id: "x", values: ["a"] }] }, { covariates: [null] }, { id: "A" }];
  const three = [{ title: "\u202e" }, { title: "" }, { schedule: { waves: 0 } }, { expires: null }, { minimum: null }];
  for (const change of [...one, ...two, ...three]) {
    assert.throws(() => new Survey({ ...document, ...change }), error("ParameterError"), JSON.stringify(change));
  }
});

const fromNeutral = (report) =>
  report?.hex ? new Uint8Array(Buffer.from(report.hex, "hex")) : report?.big ? BigInt(report.big) : report;

for (const { survey: document, submissions } of wire.surveys) {
  test(`submissions to ${document.id} have one text`, () => {
    const survey = new Survey(document);
    for (const { id, wave, covariates, reports, text } of submissions) {
      const read = Object.fromEntries(Object.entries(reports).map(([name, report]) => [name, fromNeutral(report)]));
      const submission = { id, survey: survey.digest, wave, reports: read, covariates };
      assert.equal(encode(submission), text);
      assert.deepEqual(decode(text, survey), submission);
      assert.deepEqual(decode(new TextEncoder().encode(text), survey), submission);
    }
  });
}

for (const { why, text } of wire.invalid.texts) {
  test(`a submission is refused: ${why}`, () => {
    assert.throws(() => decode(text, new Survey(wire.invalid.survey)), error("ReportError"));
  });
}
