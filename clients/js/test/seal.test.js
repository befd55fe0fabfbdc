/** Sealing: the vectors of RFC 9180, the envelopes of Python, and what is refused. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { openWith, OVERHEAD, paddedLength, seal, sealTo } from "../seal.js";
import { MemoryStore, ParameterError, Respondent, Survey } from "../sottovoce.js";

const file = JSON.parse(readFileSync(new URL("../../../vectors/shuffle.json", import.meta.url), "utf8"));
const bytes = (digits) => Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));
const hex = (data) => Buffer.from(data).toString("hex");
const utf8 = (text) => new TextEncoder().encode(text);

test("the vectors of RFC 9180, appendix A.1.1", async () => {
  for (const { skEm, skRm, pkRm, info, pt, aad, enc, ct } of file.rfc9180) {
    const options = { extra: bytes(aad), ephemeral: bytes(skEm) };
    assert.equal(hex(await sealTo(bytes(pkRm), bytes(pt), bytes(info), options)), enc + ct);
    assert.equal(hex(await openWith(bytes(skRm), bytes(enc + ct), bytes(info), { extra: bytes(aad) })), pt);
  }
});

test("every changed byte is noticed, and so is another purpose", async () => {
  const { skRm, pkRm } = file.rfc9180[0];
  const sealed = await sealTo(bytes(pkRm), utf8("yes"), utf8("a"));
  assert.equal(sealed.length, 3 + OVERHEAD);
  assert.notEqual(hex(await sealTo(bytes(pkRm), utf8("yes"), utf8("a"))), hex(sealed));
  assert.equal(hex(await openWith(bytes(skRm), sealed, utf8("a"))), hex(utf8("yes")));
  await assert.rejects(openWith(bytes(skRm), sealed, utf8("b")), /does not open/);
  for (let at = 0; at < sealed.length; at++) {
    const changed = sealed.slice();
    changed[at] ^= 1;
    await assert.rejects(openWith(bytes(skRm), changed, utf8("a")), /does not open/);
  }
  await assert.rejects(sealTo(new Uint8Array(32), utf8("yes"), utf8("a")));
});

test("surveys with a shuffler have the same digest and the same length as in Python", () => {
  for (const { document, digest, canonical, length } of file.surveys) {
    const survey = new Survey(document);
    assert.deepEqual([survey.digest, survey.canonical, paddedLength(survey)], [digest, canonical, length]);
  }
});

test("what Python refuses is refused", () => {
  for (const { why, document } of file.invalid) assert.throws(() => new Survey(document), ParameterError, why);
});

test("an envelope holds the padded submission", async () => {
  const [{ document, length }] = file.surveys;
  const survey = new Survey(document);
  const me = new Respondent({ store: new MemoryStore(), budget: 50 });
  const answers = Object.fromEntries(survey.questions.map(({ id }) => [id, file.answers[id]]));
  const body = await me.answer(survey, answers, { wave: 1 });
  const outer = await openWith(bytes(file.shuffler), await seal(survey, body), utf8(`sottovoce envelope ${survey.digest}`));
  assert.deepEqual([...outer.slice(0, 4)], [0, 0, 0, 1]);
  const purpose = utf8(`sottovoce report ${survey.digest} 1`);
  const inner = await openWith(bytes(file.analyst), outer.slice(4), purpose);
  assert.equal(inner.length, length);
  assert.equal(new TextDecoder().decode(inner).trimEnd(), body);
  await assert.rejects(seal({ ...document, title: "Another" }, body), /not for sha256/);
  await assert.rejects(seal({ ...document, shuffle: undefined }, body));
});

test("Python's envelopes open", async () => {
  for (const { survey, wave, body, inner } of file.sealed) {
    const purpose = utf8(`sottovoce report ${survey} ${wave}`);
    const opened = await openWith(bytes(file.analyst), bytes(inner), purpose);
    assert.equal(new TextDecoder().decode(opened).trimEnd(), body);
  }
});
