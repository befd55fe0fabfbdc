/** The device: one draw for one answer, nothing sent that was not charged, refusals, stores that fail. */

import assert from "node:assert/strict";
import test from "node:test";

import { decode } from "../src/decode.js";
import { above, units } from "../src/exact.js";
import { IndexedDB } from "./indexeddb.js";
import { error, library, vectors } from "./library.js";

const { IndexedStore, mechanism, MemoryStore, Respondent, Source, Survey } = library;
const [small, allKinds, panel] = vectors("surveys").surveys.map(({ document }) => document);
const survey = (changes) => new Survey({ ...small, ...changes });
const respondent = (options) => new Respondent({ store: new MemoryStore(), ...options });

const ANSWERS = {
  smokes: "no", travel: null, ward: 17, child: 2.5, drinks: new Set(["tea"]), age: 44, income: 1e9, hours: 7.25,
}; // prettier-ignore
const COVARIATES = { region: "north", q: "f" };
const WAVE = { smokes: "yes", travel: "car", ward: 3, child: 0, drinks: [] };

test("a submission is what the survey says", async () => {
  const asked = new Survey(allKinds);
  const me = respondent();
  const body = await me.answer(asked, ANSWERS, { covariates: COVARIATES });
  const submission = decode(body, asked);
  assert.deepEqual([submission.survey, submission.wave, submission.covariates], [asked.digest, 0, COVARIATES]);
  assert.deepEqual(Object.keys(submission.reports).sort(), Object.keys(ANSWERS).sort());
  const { spent, charges } = await me.ledger();
  assert.equal(spent, asked.epsilon);
  const costs = asked.questions.map(({ id, epsilon }) => [id, epsilon]);
  assert.deepEqual(charges.map(({ question, epsilon }) => [question, epsilon]), costs);
});

test("one answer, one draw", async () => {
  const store = new MemoryStore();
  const first = await respondent({ store }).answer(small, { smokes: "no" });
  for (let at = 0; at < 20; at++) assert.equal(await respondent({ store }).answer(survey(), { smokes: "yes" }), first);
  assert.equal(await respondent({ store }).answer(survey().canonical, {}), first);
  assert.equal((await respondent({ store }).ledger()).charges.length, 1);
});

test("ids and secrets are new each time", async () => {
  const bodies = await Promise.all(Array.from({ length: 50 }, () => respondent().answer(small, { smokes: "no" })));
  assert.equal(new Set(bodies.map((body) => JSON.parse(body).id)).size, 50);
});

test("a preview is exact to the byte and free, and makes the answers final", async () => {
  const store = new MemoryStore();
  const seen = [];
  for (const smokes of ["no", "yes", "no", "yes"]) seen.push(await respondent({ store }).preview(small, { smokes }));
  assert.equal(new Set(seen).size, 1);
  assert.equal(await respondent({ store }).preview(small, {}), seen[0]);
  assert.deepEqual((await respondent({ store }).ledger()).charges, []);
  assert.equal(await respondent({ store }).answer(small, { smokes: "yes" }), seen[0]);
  assert.equal(await respondent({ store }).preview(small, { smokes: "yes" }), seen[0]);
  assert.equal((await respondent({ store }).ledger()).charges.length, 1);
});

test("who previews other answers has one draw", async () => {
  const count = async (toggle) => {
    let yes = 0;
    for (let at = 0; at < 400; at++) {
      const me = respondent();
      await me.preview(small, { smokes: "no" });
      if (toggle) await me.preview(small, { smokes: "yes" });
      yes += JSON.parse(await me.answer(small, { smokes: toggle ? "yes" : "no" })).reports.smokes;
    }
    return yes;
  };
  // At most 0.27 of those who answer no send yes: 200 of 400, as by answering yes, has a chance below 1e-20.
  assert.ok((await count(true)) < 200);
});

test("a store of the former version loses its secret and its drafts, and nothing else", async () => {
  const asked = survey();
  const [digest, charge] = [asked.digest, { at: "2026-01-01", survey: "x", wave: 0, question: "q", epsilon: 2 }];
  const surveys = { [digest]: { reports: {}, memories: { a: { answers: {} } }, drafts: { abcdef: { body: "{}" } } } };
  const store = new MemoryStore({ version: 1, budget: 7, secret: "5ec2e7", pins: {}, charges: [charge], surveys });
  const me = respondent({ store });
  assert.deepEqual((await me.ledger()).charges, [charge]);
  const left = { reports: {}, memories: { a: { answers: {} } }, drafts: {}, owed: [], key: null };
  assert.deepEqual(store.state, { version: 2, budget: 7, pins: {}, charges: [charge], surveys: { [digest]: left } });
  await me.answer(asked, { smokes: "no" });
});

test("a draft of one wave and a report of another share what was drawn for good", async () => {
  const asked = new Survey(panel);
  const lasting = asked.questions.filter(({ mechanism }) => mechanism.begin).map(({ id }) => id);
  const store = new MemoryStore();
  const me = respondent({ store, budget: 40 });
  const draft = await me.preview(asked, WAVE, { wave: 0 });
  const drawn = structuredClone(store.state.surveys[asked.digest].memories);
  await me.answer(asked, WAVE, { wave: 1 });
  assert.deepEqual(store.state.surveys[asked.digest].memories, drawn);
  const paid = async () => (await me.ledger()).charges.map(({ wave, question }) => `${wave} ${question}`).sort();
  const fresh = asked.questions.map(({ id }) => id).filter((id) => !lasting.includes(id));
  const first = [...lasting.map((id) => `0 ${id}`), ...fresh.map((id) => `1 ${id}`)];
  assert.deepEqual(await paid(), first.sort());
  assert.equal(await me.answer(asked, {}, { wave: 0 }), draft);
  assert.deepEqual(store.state.surveys[asked.digest].memories, drawn);
  assert.deepEqual(await paid(), [...first, ...fresh.map((id) => `0 ${id}`)].sort());
  assert.deepEqual(store.state.surveys[asked.digest].drafts, {});
});

test("nothing in the store depends on an answer but its report", async (context) => {
  const original = crypto.getRandomValues;
  context.after(() => (crypto.getRandomValues = original));
  context.mock.timers.enable({ apis: ["Date"], now: 0 });
  const visits = [];
  // One person tells the truth, the other lies: both report yes.
  for (const [smokes, words] of [["yes", 0], ["no", 2 ** 32 - 1]]) {
    crypto.getRandomValues = (array) => array.fill(array instanceof Uint32Array ? words : 7);
    const store = new MemoryStore();
    await respondent({ store }).preview(small, { smokes });
    const before = structuredClone(store.state);
    await respondent({ store }).answer(small, {});
    visits.push([before, store.state]);
  }
  assert.match(visits[0][1].surveys[survey().digest].reports[0], /"smokes":1/);
  assert.deepEqual(visits[0], visits[1]);
});

test("answers are not in the store", async () => {
  const store = new MemoryStore();
  const values = ["Ulaanbaatar", "Antananarivo"];
  const [question] = small.questions;
  const mechanism = { ...question.mechanism, domain: { values, missing: "refuse" } };
  const asked = survey({ questions: [{ ...question, values, mechanism }] });
  await respondent({ store }).preview(asked, { smokes: "Antananarivo" });
  await respondent({ store }).answer(asked, { smokes: "Antananarivo" });
  assert.ok(!JSON.stringify(store.state).includes("Antananarivo"));
});

test("what is refused is not charged", async () => {
  const me = respondent({ budget: 1.2, pins: { pinned: `sha256:${"0".repeat(64)}` } });
  const late = survey({ id: "late", expires: "2020-01-01T00:00:00Z" });
  for (const [asked, pattern] of [[survey({ id: "pinned" }), /pinned digest/], [late, /must not have expired/]]) {
    for (const action of ["preview", "answer"]) {
      await assert.rejects(me[action](asked, { smokes: "no" }), error("Refusal", pattern));
    }
    assert.match((await me.review(asked)).refusal, pattern);
  }
  assert.deepEqual((await me.ledger()).charges, []);
  assert.equal((await me.review(small)).refusal, null);
  await me.answer(small, { smokes: "no" });
  const more = survey({ id: "more" });
  await assert.rejects(me.answer(more, { smokes: "no" }), error("Refusal", /budget must cover the costs, .* got 1.2/));
  assert.match((await me.review(more)).refusal, /budget must cover the costs/);
  assert.equal((await me.ledger()).charges.length, 1);
});

test("a survey that changes is refused, and an expired wave is still the same", async () => {
  let now = new Date("2029-01-01");
  const me = respondent({ clock: () => now });
  const asked = survey({ expires: "2030-01-01T00:00:00Z" });
  const body = await me.answer(asked, { smokes: "no" });
  await assert.rejects(me.answer(survey({ title: "Another" }), { smokes: "no" }), error("Refusal", /pinned digest/));
  assert.match((await me.review(survey({ title: "Another" }))).refusal, /pinned digest/);
  now = new Date("2031-01-01");
  assert.equal(await me.answer(asked, { smokes: "no" }), body);
});

test("a review costs and pins nothing", async () => {
  const me = respondent({ budget: 3 });
  const { costs, epsilon, left, refusal } = await me.review(small);
  const cost = small.questions[0].epsilon;
  assert.deepEqual([costs, epsilon, left, refusal], [{ smokes: cost }, cost, 3, null]);
  const { survey: asked, costs: lasting } = await me.review(panel);
  const permanent = ({ mechanism }) => mechanism.permanent?.epsilon ?? mechanism.epsilon;
  assert.deepEqual(lasting, Object.fromEntries(panel.questions.map((question) => [question.id, permanent(question)])));
  assert.equal(asked.epsilon, panel.budget);
  await me.answer(survey({ title: "Another" }), { smokes: "no" });
});

test("a later wave that may cost nothing is not refused", async () => {
  const lasting = new Survey(panel).questions.find(({ mechanism }) => mechanism.begin);
  const questions = panel.questions.filter(({ id }) => id === lasting.id);
  const asked = new Survey({ ...panel, questions, budget: 1000 });
  const cost = lasting.mechanism.after(0);
  const me = respondent({ budget: 1.5 * cost });
  const other = { [lasting.id]: lasting.values[0] };
  await me.preview(asked, { [lasting.id]: WAVE[lasting.id] });
  const drawn = await me.review(asked);
  assert.deepEqual([drawn.refusal, drawn.least, drawn.costs], [null, cost, { [lasting.id]: 2 * cost }]);
  await me.answer(asked, {});
  const sent = await me.review(asked);
  assert.deepEqual([sent.refusal, sent.least, sent.costs], [null, 0, { [lasting.id]: cost }]);
  await assert.rejects(me.answer(asked, other, { wave: 1 }), error("Refusal", /budget must cover the costs/));
  await me.answer(asked, { [lasting.id]: WAVE[lasting.id] }, { wave: 1 });
  assert.equal((await me.ledger()).spent, cost);
});

test("a claim below cost is refused", async () => {
  const cheap = structuredClone(small);
  cheap.questions[0].mechanism.epsilon = 0.25;
  const asked = respondent().answer(cheap, { smokes: "no" });
  await assert.rejects(asked, error("ParameterError", /what the mechanism costs/));
});

test("bad answers cost nothing", async () => {
  const me = respondent();
  const circle = [];
  circle.push(circle);
  const bad = [
    [{ smokes: circle }, {}, "DomainError", /a cycle/],
    [{ smokes: "perhaps" }, {}, "DomainError", /^smokes: an answer must be one of 2 values/],
    [{ smokes: 1.5 }, {}, "DomainError", /^smokes: /],
    [{ smokes: 1n }, {}, "DomainError", /^smokes: /],
    [{ smokes: Infinity }, {}, "DomainError", /^smokes: /],
    [{ smokes: ["no"] }, {}, "DomainError", /^smokes: /],
    [{ smokes: "\udcff" }, {}, "DomainError", /^smokes: /],
    [{ smokes: () => "no" }, {}, "DomainError", /^smokes: /],
    [{}, {}, "DomainError", /^smokes: an answer must not be missing/],
    [Object.create({ smokes: "no" }), {}, "DomainError", /must not be missing/],
    [{ smokes: "no", age: 5 }, {}, "DomainError", /must be to a question, got "age"/],
    [{ smokes: "no", constructor: 5 }, {}, "DomainError", /must be to a question/],
    [{ smokes: "x".repeat(70_000) }, {}, "DomainError", /at most 2\^16 characters/],
    [["no"], {}, "ParameterError", /answers must be an object/],
    [null, {}, "ParameterError", /answers must be an object/],
    [{ smokes: "no" }, { wave: 1 }, "ParameterError", /wave must be whole, 0 to 0, got 1/],
    [{ smokes: "no" }, { wave: "0" }, "ParameterError", /wave/],
    [{ smokes: "no" }, { covariates: { region: "north" } }, "ReportError", /there must be just ,/],
    [{ smokes: "no" }, { covariates: [] }, "ReportError", /there must be just ,/],
  ];
  for (const [answers, options, name, pattern] of bad) {
    await assert.rejects(me.answer(small, answers, options), error(name, pattern));
    assert.deepEqual((await me.ledger()).charges, []);
  }
  const options = { covariates: { ...COVARIATES, region: "east" } };
  await assert.rejects(me.answer(allKinds, ANSWERS, options), error("ReportError", /region must be one of its values/));
  await me.answer(small, { smokes: "no" });
});

test("the budget is the owner's", async () => {
  const store = new MemoryStore();
  const me = respondent({ store, budget: 3 });
  assert.equal((await me.ledger()).budget, 3);
  assert.equal((await respondent({ store }).ledger()).left, 3);
  const other = respondent({ store, budget: 9 });
  await assert.rejects(other.ledger(), error("ParameterError", /the budget must be 3, got 9/));
  await me.setBudget(9);
  assert.equal((await me.ledger()).left, 9);
  for (const bad of [0, -1, NaN, Infinity, true, "5", null]) {
    await assert.rejects(me.setBudget(bad), error("ParameterError", /budget/));
    assert.throws(() => respondent({ store, budget: bad }), error("ParameterError", /budget/));
  }
  assert.equal((await respondent().ledger()).budget, 10);
});

test("charges add up exactly", async () => {
  const me = respondent({ budget: 1000 });
  for (let at = 0; at < 10; at++) await me.answer(survey({ id: `s${at}` }), { smokes: "no" });
  const { charges, spent, left } = await me.ledger();
  const sum = charges.reduce((all, { epsilon }) => all + units(epsilon), 0n);
  assert.equal(sum, 10n * units(small.questions[0].epsilon));
  assert.ok(units(spent) >= sum && left === 1000 - spent);
  const exact = respondent({ budget: spent });
  for (let at = 0; at < 10; at++) await exact.answer(survey({ id: `s${at}` }), { smokes: "no" });
  const close = respondent({ budget: spent - 2 ** -49 });
  for (let at = 0; at < 9; at++) await close.answer(survey({ id: `s${at}` }), { smokes: "no" });
  await assert.rejects(close.answer(survey({ id: "s9" }), { smokes: "no" }), error("Refusal"));
});

test("permanent answers stay, and cost once for each value", async () => {
  const store = new MemoryStore();
  const asked = new Survey(panel);
  const memoized = asked.questions.filter(({ mechanism }) => mechanism.begin);
  const bodies = [];
  for (let wave = 0; wave < 6; wave++) {
    const me = respondent({ store, ...(wave ? {} : { budget: 40 }) });
    const before = structuredClone(store.state?.surveys[asked.digest]?.memories ?? {});
    if (wave % 2) await me.preview(asked, WAVE, { wave });
    bodies.push(await me.answer(asked, WAVE, { wave }));
    const { memories, drafts } = store.state.surveys[asked.digest];
    if (wave) assert.deepEqual(memories, before);
    assert.deepEqual(drafts, {});
  }
  const { charges, spent } = await respondent({ store }).ledger();
  assert.equal(charges.length, memoized.length + 6);
  assert.ok(units(spent) <= units(asked.epsilon));
  await respondent({ store }).ledger();
  assert.equal(await respondent({ store }).answer(asked, WAVE, { wave: 3 }), bodies[3]);
});

test("many at once share a store: five fit, each is charged once", async () => {
  const store = new MemoryStore();
  const me = respondent({ store, budget: 5 });
  const asks = Array.from({ length: 16 }, (_, at) => me.answer(survey({ id: `s${at % 8}` }), { smokes: "no" }));
  const done = await Promise.allSettled(asks);
  assert.equal(new Set(done.flatMap(({ value }) => value ?? [])).size, 5);
  assert.equal((await me.ledger()).charges.length, 5);
});

test("questions may have the names that objects have", async () => {
  const asked = survey({ id: "constructor", questions: [{ ...small.questions[0], id: "constructor" }] });
  const me = respondent();
  await assert.rejects(me.answer(asked, {}), error("DomainError", /must not be missing/));
  const body = await me.answer(asked, { constructor: "no" });
  assert.deepEqual(Object.keys(JSON.parse(body).reports), ["constructor"]);
  assert.equal(await me.answer(asked, { constructor: "yes" }), body);
});

test("skipped waves are caught up, and an earlier one comes too late", async () => {
  const { mechanism } = vectors("changes").vectors[1];
  const { epsilon, domain, waves } = mechanism;
  const question = { id: "ill", text: "?", kind: "yes_no", ...domain, epsilon, mechanism };
  const asked = new Survey({ ...small, id: "course", budget: 4, schedule: { waves }, questions: [question] });
  const store = new MemoryStore();
  const me = respondent({ store });
  for (const wave of [2, 3, 7]) {
    await me.answer(asked, { ill: "yes" }, { wave });
    assert.equal(store.state.surveys[asked.digest].memories.ill.wave, wave + 1);
  }
  assert.equal((await me.ledger()).charges.length, 1);
  await assert.rejects(me.answer(asked, { ill: "no" }, { wave: 5 }), error("ParameterError", /^ill: wave must be whole/));
});

test("a text keeps its cohort and its permanent answers", async () => {
  const { mechanism } = vectors("memoized").vectors.find(({ mechanism: data }) => data.permanent.mechanism === "bloom");
  const { epsilon, permanent } = mechanism;
  const question = { id: "page", text: "?", kind: "text", ...permanent.domain, epsilon, mechanism };
  const asked = new Survey({ ...small, id: "pages", budget: 99, schedule: { waves: 4 }, questions: [question] });
  const store = new MemoryStore();
  const seen = [];
  for (const [wave, page] of ["tea", "tea", "milk", "tea"].entries()) {
    await respondent({ store, budget: 50 }).answer(asked, { page }, { wave });
    seen.push(store.state.surveys[asked.digest].memories.page);
  }
  const [first, second, third, last] = seen;
  assert.deepEqual([first, third], [second, last]);
  assert.deepEqual([third.cohort, { ...third.answers, ...first.answers }], [first.cohort, third.answers]);
  const { charges } = await respondent({ store }).ledger();
  assert.deepEqual(charges.map(({ epsilon: paid }) => paid), [permanent.epsilon, permanent.epsilon]);
  assert.deepEqual([Object.keys(first.answers).length, Object.keys(last.answers).length], [1, 2]);
});

const keeping = (found) => vectors("memoized").vectors.map(({ mechanism: data }) => data).find(found);

test("beyond its changes a device goes on with the last answer it paid for", () => {
  const made = mechanism(keeping(({ changes, permanent }) => changes === 1 && permanent.mechanism === "krr"));
  const seen = [];
  let memory;
  for (const value of [3, 1, 4, 1, 3, 0]) {
    const step = made.step(value, memory);
    memory = step.memory;
    seen.push([step.epsilon > 0, Object.keys(memory.answers).length, memory.last]);
  }
  const frozen = [false, 2, "1"];
  assert.deepEqual(seen, [[true, 1, "3"], [true, 2, "1"], frozen, frozen, frozen, frozen]);
  assert.deepEqual([0, 1, 59].map(made.after), [0, 1, 1].map(made.after));
});

test("values in one bucket have answers of their own, and are charged", () => {
  const made = mechanism(keeping(({ permanent, changes }) => permanent.buckets === 2 && changes === undefined));
  let memory;
  for (let value = 0; value < 20; value++) memory = made.step(value, memory).memory;
  assert.equal(Object.keys(memory.answers).length, 20);
  assert.equal(made.after(19), above(20n * units(made.after(0))));
});

test("a memory of buckets is refused, one of values is read on", () => {
  for (const hashed of ["local_hash", "hashed", "bloom"]) {
    const made = mechanism(keeping(({ permanent }) => permanent.mechanism === hashed));
    const value = hashed === "local_hash" ? 0 : "tea";
    const old = { cohort: 0, answers: { 0: 1 } };
    assert.throws(() => made.step(value, old), error("ParameterError", /a memory must be of version 2/));
    const { memory } = made.step(value);
    assert.throws(() => made.step(value, { ...memory, version: 3 }), error("ParameterError", /of version 2/));
  }
  const listed = mechanism(keeping(({ permanent, changes }) => permanent.mechanism === "krr" && changes === undefined));
  const { epsilon, memory } = listed.step("a", { cohort: 0, answers: { 0: 1 } });
  assert.deepEqual([epsilon, memory.answers], [0, { 0: 1 }]);
});

test("names of values may be hidden", () => {
  class Hiding extends Source {
    hide = (name) => `<${name}>`;
  }
  for (const kind of ["krr", "bloom"]) {
    const made = mechanism(keeping(({ permanent }) => permanent.mechanism === kind));
    const value = kind === "krr" ? "a" : "tea";
    const { memory } = made.step(value, undefined, new Hiding());
    assert.match(memory.last, /^<.*>$/);
    assert.deepEqual(Object.keys(memory.answers), [memory.last]);
    assert.equal(made.step(value, memory, new Hiding()).epsilon, 0);
  }
});

test("draws are asked for by their role, the same for a new, a known and a frozen value", () => {
  class Asked extends Source {
    roles = [];
    role(...asked) {
      this.roles.push(asked);
      return this;
    }
  }
  const made = mechanism(keeping(({ changes }) => changes === 0));
  let memory;
  for (const value of [5, 5, 6]) {
    const source = new Asked();
    ({ memory } = made.step(value, memory, source));
    assert.deepEqual(source.roles.slice(-2), [["permanent", `${value}`], ["instantaneous", `${value}`]]);
  }
});

test("a store must be given or be there", () => {
  assert.throws(() => new Respondent(), error("ParameterError", /there must be a store/));
});

test("IndexedDB keeps what was released, for all pages", async (context) => {
  const database = new IndexedDB();
  context.after(() => delete globalThis.indexedDB);
  globalThis.indexedDB = database;
  const body = await new Respondent({ budget: 5 }).answer(small, { smokes: "no" });
  assert.equal(await new Respondent().answer(small, { smokes: "yes" }), body);
  assert.equal((await new Respondent().ledger()).charges.length, 1);
  const visit = (_, at) => new Respondent().answer(survey({ id: `s${at % 6}` }), { smokes: "no" });
  const done = await Promise.allSettled(Array.from({ length: 12 }, visit));
  assert.equal(new Set(done.flatMap(({ value }) => value ?? [])).size, 4);
  assert.equal((await new Respondent().ledger()).charges.length, 5);
  assert.equal(await new Respondent({ store: new IndexedStore("other") }).ledger().then(({ spent }) => spent), 0);
  assert.equal(database.opened, database.closed);
});

test("a store that fails charges and releases nothing", async (context) => {
  const database = new IndexedDB();
  context.after(() => delete globalThis.indexedDB);
  globalThis.indexedDB = database;
  const me = new Respondent();
  await me.ledger();
  for (const [trouble, pattern] of [["full", /no space left/], ["closed", /cannot be opened/]]) {
    database.trouble = trouble;
    await assert.rejects(me.answer(small, { smokes: "no" }), error("StoreError", pattern));
    await assert.rejects(me.preview(small, { smokes: "no" }), error("StoreError", pattern));
    database.trouble = null;
    assert.deepEqual((await me.ledger()).charges, []);
  }
  await assert.rejects(me.answer(small, { smokes: "perhaps" }), error("DomainError"));
  const body = await me.answer(small, { smokes: "no" });
  await me.store.update((state) => [{ ...state, version: 3 }, null]);
  await assert.rejects(me.answer(small, { smokes: "no" }), error("StoreError", /version 2, got 3/));
  await me.store.update((state) => [{ ...state, version: 2 }, null]);
  assert.equal(await me.answer(small, { smokes: "no" }), body);
});

test("a page that closes after the write finds its report and its charge", async (context) => {
  const database = new IndexedDB();
  context.after(() => delete globalThis.indexedDB);
  globalThis.indexedDB = database;
  await new Respondent().ledger();
  database.trouble = "crash";
  const lost = new Respondent().answer(small, { smokes: "no" });
  const winner = await Promise.race([lost, new Promise((resolve) => setTimeout(resolve, 50, "lost"))]);
  assert.equal(winner, "lost");
  database.trouble = null;
  assert.equal((await new Respondent().ledger()).charges.length, 1);
  const body = await new Respondent().answer(small, { smokes: "no" });
  assert.equal((await new Respondent().ledger()).charges.length, 1);
  assert.deepEqual(Object.keys(JSON.parse(body).reports), ["smokes"]);
});

/** Six waves of a question whose permanent answers cost 2 each, of which a device draws at most two. */
function wandering(id, bound) {
  const values = ["a", "b", "c", "d"];
  const domain = { values, missing: "refuse" };
  const [permanent, instantaneous] = [
    { mechanism: "krr", domain, p: 0.7112345942275938, epsilon: 2 },
    { mechanism: "krr", domain, p: 0.6164624616830002, epsilon: 1.5731722205122476 },
  ];
  const mechanism = { mechanism: "memoized", permanent, instantaneous, ...bound, epsilon: 1 };
  const question = { id: "town", text: "Where do you live?", kind: "choice", values, missing: "refuse", epsilon: 1, mechanism };
  return survey({ id, budget: 8, schedule: { waves: 6 }, questions: [question] });
}

test("a budget does not end at a change, for that would tell of it", async () => {
  const asked = wandering("towns", { changes: 1 });
  const poor = respondent({ budget: 3.9 });
  assert.match((await poor.review(asked)).refusal, /budget must cover the costs, .* got 3.9/);
  await assert.rejects(poor.answer(asked, { town: "a" }), error("Refusal", /budget must cover the costs, .* got 3.9/));
  const rich = respondent({ budget: 4 });
  assert.equal((await rich.review(asked)).refusal, null);
  for (const [wave, town] of [..."aabcab"].entries()) await rich.answer(asked, { town }, { wave });
  assert.deepEqual((await rich.ledger()).charges.map(({ wave }) => wave), [0, 2]);
  assert.equal((await respondent({ budget: 2 }).review(wandering("free", {}))).refusal, null);
});

test("what other surveys spend meanwhile is refused whatever the answer", async () => {
  for (const town of ["a", "b"]) {
    const me = respondent({ budget: 4.5 });
    const asked = wandering("towns", { changes: 1 });
    await me.answer(asked, { town: "a" });
    await me.answer(wandering("other", { changes: 0 }), { town: "a" });
    await assert.rejects(me.answer(asked, { town }, { wave: 1 }), error("Refusal", /budget must cover the costs, .* got 4.5/));
  }
});
