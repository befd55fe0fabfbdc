/** Personal keys: the derivation by the vectors that Python reads too, one report from two devices, bad keys. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

// The key's own file loads the one built file, and so does this test.
import { MemoryStore, Respondent, Survey } from "../sottovoce.js";
import { answerText, PersonalKey, SurveyKey } from "../personal-key.js";
import { error, vectors } from "./library.js";

const { keys, answer_texts: answers, bad_texts: bad } = vectors("personal_key");
const [small, allKinds] = vectors("surveys").surveys.map(({ document }) => document);
const ANSWERS = {
  smokes: "no", travel: null, ward: 17, child: 2.5, drinks: new Set(["tea"]), age: 44, income: 1e9, hours: 7.25,
}; // prettier-ignore
const OPTIONS = { covariates: { region: "north", q: "f" } };

test("keys, draws, ids and names of memories are those of the vectors", () => {
  for (const { hex, text, surveys } of keys) {
    const key = PersonalKey.fromText(text);
    assert.equal(key.toText(), text);
    assert.equal(new PersonalKey(new Uint8Array(Buffer.from(hex, "hex"))).toText(), text);
    for (const { digest, survey_key: derived, fragment, draws, report_ids: ids, memory_keys: hidden } of surveys) {
      const one = key.forSurvey(digest);
      assert.equal(`#key=${one.toText()}`, fragment);
      assert.equal(Buffer.from(one.toText(), "base64url").toString("hex"), derived);
      assert.equal(SurveyKey.fromText(one.toText(), digest).toText(), one.toText());
      for (const { question, role, code, wave, number, draw } of draws) {
        const source = one.source(digest, question, wave, null).role(role, code ?? undefined);
        for (let at = 0; at < number; at++) source.draw();
        assert.equal(String(source.draw()), draw);
      }
      for (const { wave, id } of ids) assert.equal(one.reportId(digest, wave), id);
      for (const { question, key: name, hidden: told } of hidden) {
        assert.equal(one.source(digest, question, 0, null).hide(name), told);
      }
    }
  }
});

test("an answer has one spelling", () => {
  for (const { answer, text } of answers) assert.equal(answerText(answer), text);
  assert.equal(answerText(new Set(["b", "a"])), answerText(["a", "b", "a"]));
  assert.equal(answerText(undefined), "null");
  assert.throws(() => answerText(1n), error("DomainError", /a form in JSON/));
});

test("whole submissions under a key are those of Python, wave by wave", async () => {
  const { key, surveys } = vectors("keyed_reports");
  for (const { survey, digest, submissions } of surveys) {
    const me = new Respondent({ store: new MemoryStore(), budget: 1000, key: PersonalKey.fromText(key) });
    assert.equal(new Survey(survey).digest, digest);
    for (const [wave, { answer, text }] of submissions.entries()) {
      assert.equal(await me.answer(survey, { [survey.id]: answer }, { wave }), text, `${survey.id}, wave ${wave}`);
    }
  }
});

test("two devices with one key send one report, and another person another", async () => {
  const key = PersonalKey.generate();
  const device = (one) => new Respondent({ store: new MemoryStore(), budget: 40, key: one });
  const body = await device(key).answer(allKinds, ANSWERS, OPTIONS);
  const { digest } = new Survey(allKinds);
  assert.equal(await device(key.forSurvey(digest)).answer(allKinds, ANSWERS, OPTIONS), body);
  const other = await device(PersonalKey.generate()).answer(allKinds, ANSWERS, OPTIONS);
  assert.notEqual(JSON.parse(other).id, JSON.parse(body).id);
  const changed = await device(key).answer(allKinds, { ...ANSWERS, ward: 18 }, OPTIONS);
  assert.equal(JSON.parse(changed).id, JSON.parse(body).id); // The collector takes one of the two.
});

test("roles, codes, waves and numbers have draws of their own", () => {
  const { digest } = new Survey(small);
  const key = PersonalKey.generate();
  const source = (wave, answer = "no") => key.source(digest, "smokes", wave, answer);
  const drawn = new Set();
  for (const wave of [0, 1]) {
    const one = source(wave);
    drawn.add(one.draw()).add(one.draw()).add(source(wave, "yes").draw());
    for (const name of ["cohort", "permanent", "instantaneous"]) {
      for (const code of [undefined, 0, 1]) drawn.add(one.role(name, code).draw());
    }
  }
  assert.equal(drawn.size, 2 * 12 - 6); // Cohort and permanent answers are the same in both waves.
  const both = source(0);
  assert.notEqual(both.role("permanent", 1).draw(), both.role("permanent", 1).draw()); // The numbers go on.
  assert.ok([...drawn].every((bits) => Number.isSafeInteger(bits) && bits >= 0 && bits < 2 ** 53));
});

test("a survey goes on with the key that it was begun with", async () => {
  const asked = { ...small, schedule: { waves: 3 }, budget: 9 };
  const store = new MemoryStore();
  const device = (key) => new Respondent({ store, budget: 40, key });
  const [key, other] = [PersonalKey.generate(), PersonalKey.generate()];
  await device(key).answer(asked, { smokes: "no" });
  for (const wrong of [undefined, other]) {
    const again = device(wrong).answer(asked, { smokes: "no" }, { wave: 1 });
    await assert.rejects(again, error("Refusal", /its first key/));
  }
  const draft = await device(key).preview(asked, { smokes: "no" }, { wave: 1 });
  assert.equal(await device().answer(asked, {}, { wave: 1 }), draft); // What was drawn needs no key.
  assert.ok(!JSON.stringify(store.state).includes(key.forSurvey(new Survey(asked).digest).toText()));
  const plain = new MemoryStore();
  await new Respondent({ store: plain }).answer(asked, { smokes: "no" });
  const late = new Respondent({ store: plain, key }).answer(asked, { smokes: "no" }, { wave: 1 });
  await assert.rejects(late, error("Refusal", /its first key/));
});

test("what is no key is refused, and none is printed", async (context) => {
  for (const { text } of bad) assert.throws(() => PersonalKey.fromText(text), error("ParameterError", /a (personal )?key/));
  for (const wrong of [new Uint8Array(31), [..."x".repeat(32)], null, undefined]) {
    assert.throws(() => new PersonalKey(wrong), error("ParameterError", /32 bytes/));
  }
  const key = PersonalKey.generate().forSurvey("sha256:00");
  assert.throws(() => key.source("sha256:01", "q", 0, "no"), error("ParameterError", /is for survey sha256:00/));
  assert.throws(() => key.source("sha256:00", "q", 0, "no").role("other"), error("ParameterError", /a role must be/));
  assert.ok(!JSON.stringify(key).includes(key.toText()) && !Object.values(key).includes(key.toText()));
  const original = crypto.getRandomValues;
  context.after(() => (crypto.getRandomValues = original));
  crypto.getRandomValues = undefined;
  assert.throws(() => PersonalKey.generate(), /getRandomValues/);
});

test("the file stands alone beside the client", () => {
  const text = readFileSync(new URL("../personal-key.js", import.meta.url), "utf8");
  assert.deepEqual(text.match(/from "[^"]*"/g), ['from "./sottovoce.js"']);
  const types = readFileSync(new URL("../personal-key.d.ts", import.meta.url), "utf8");
  const names = (source) => [...source.matchAll(/^export (?:declare )?(?:class|function) (\w+)/gm)].map(([, name]) => name);
  assert.deepEqual(names(types), names(text));
});
