/** What a device runs: small, exact and stubborn. It protects its owner from the server. */

import { hex, utf8 } from "./bytes.js";
import { isObject, own } from "./canonical.js";
import { finite, whole } from "./checks.js";
import { demand, DomainError, must, Refusal, StoreError, within } from "./errors.js";
import { above, total, units } from "./exact.js";
import { hmac } from "./hash.js";
import { token } from "./random.js";
import { IndexedStore } from "./stores.js";
import { Survey } from "./survey.js";
import { checkCovariates, encode } from "./wire.js";

const VERSION = 1;

const checkBudget = (budget) => must(finite("a budget", budget) > 0, "a budget must be positive", budget);
/** What a first answer is charged with. A permanent answer is paid for at once, however often it is sent. */
const firstCost = ({ after, epsilon }) => (after ? after(0) : epsilon);
const surveyOf = (given) => (given instanceof Survey ? given : new Survey(given));

/** A person's device: it answers surveys from a durable store, within the person's budget. */
export class Respondent {
  #budget;

  /** `pins` holds the digests that are expected, by the id of the survey. The budget is set when a store is new. */
  constructor({ store, budget, pins = {}, clock = () => new Date() } = {}) {
    must(store || globalThis.indexedDB, "there must be a store or IndexedDB", store);
    if (budget !== undefined) checkBudget(budget);
    this.#budget = budget;
    Object.assign(this, { store: store ?? new IndexedStore(), pins, clock });
  }

  /** What the survey would cost and whether it would be answered. Nothing is drawn, charged or pinned. */
  async review(given) {
    return this.#update((state) => {
      const survey = surveyOf(given);
      const costs = Object.fromEntries(survey.questions.map(({ id, mechanism }) => [id, firstCost(mechanism)]));
      let refusal = null;
      try {
        this.#check(state, survey);
        refuseBeyondBudget(state, costs);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        refusal = error.message;
      }
      return { survey, costs, epsilon: survey.epsilon, left: spending(state).left, refusal };
    });
  }

  /** The very text that `answer` will give for these answers. It is drawn and kept, but not charged. */
  async preview(given, answers, options) {
    return this.#update((state) => this.#draft(state, surveyOf(given), answers, options).body);
  }

  /** The text to send: randomized, charged and kept before it is handed out. A wave is answered once. */
  async answer(given, answers, options) {
    return this.#update((state) => {
      const survey = surveyOf(given);
      const { body, wave, costs, memories } = this.#draft(state, survey, answers, options);
      if (!costs) return body;
      for (const [question, epsilon] of Object.entries(costs)) {
        if (epsilon) state.charges.push({ at: new Date().toISOString(), survey: survey.id, wave, question, epsilon });
      }
      const kept = state.surveys[survey.digest];
      Object.assign(kept, { memories, drafts: {}, reports: { ...kept.reports, [wave]: body } });
      return body;
    });
  }

  /** What has been spent, on what and when. */
  ledger() {
    return this.#update((state) => ({ ...spending(state), charges: state.charges }));
  }

  /** The owner's decision, never a survey's. What is spent stays spent. */
  async setBudget(budget) {
    checkBudget(budget);
    this.#budget = undefined;
    return this.#update((state) => {
      state.budget = budget;
    });
  }

  #update(run) {
    return this.store.update((found) => {
      const budget = this.#budget ?? 10;
      const state = found ?? { version: VERSION, budget, secret: token(32), pins: {}, charges: [], surveys: {} };
      demand(StoreError, state.version === VERSION, `a store must be of version ${VERSION}`, state.version);
      must((this.#budget ?? state.budget) === state.budget, `the store's budget is ${state.budget}`, this.#budget);
      return [state, run(state)];
    });
  }

  /** The first digest seen of a survey is the only one ever accepted. */
  #check({ pins }, { id, digest, expires }) {
    for (const expected of [own(this.pins, id), own(pins, id)]) {
      demand(Refusal, digest === (expected ?? digest), `survey ${id} must have the pinned digest ${expected}`, digest);
    }
    demand(Refusal, !expires || this.clock() < expires, `survey ${id} must not have expired`, expires);
  }

  /** One draw for each question; for the same answers the same draft. A wave that has been answered has no costs. */
  #draft(state, survey, answers, { wave = 0, covariates = {} } = {}) {
    whole("wave", wave, 0, survey.waves - 1);
    const kept = own(state.surveys, survey.digest) ?? { reports: {}, memories: {}, drafts: {} };
    if (own(kept.reports, wave)) return { body: kept.reports[wave] };
    this.#check(state, survey);
    checkAnswers(survey, answers);
    const key = fingerprint(state.secret, [wave, answers, checkCovariates(covariates, survey)]);
    const draft = own(kept.drafts, key) ?? draw(survey, answers, { wave, covariates }, kept.memories);
    refuseBeyondBudget(state, draft.costs);
    kept.drafts[key] = draft;
    state.pins[survey.id] = survey.digest;
    state.surveys[survey.digest] = kept;
    return { ...draft, wave };
  }
}

const epsilons = ({ charges }) => charges.map(({ epsilon }) => epsilon);

function spending(state) {
  const spent = above(total(epsilons(state)));
  return { budget: state.budget, spent, left: Math.max(0, state.budget - spent) };
}

function refuseBeyondBudget(state, costs) {
  const after = total([...epsilons(state), ...Object.values(costs)]);
  if (after <= units(state.budget)) return;
  throw new Refusal(`the answers would bring the total to ${above(after)}, over the budget of ${state.budget}`);
}

function checkAnswers({ questions }, answers) {
  must(isObject(answers), "answers must be an object", answers);
  for (const [id, answer] of Object.entries(answers)) {
    demand(DomainError, questions.some((question) => question.id === id), "an answer must be to a question", id);
    demand(DomainError, !(answer?.length > 2 ** 16), `${id} must have at most 2^16 characters`, answer?.length);
  }
}

function draw({ questions, digest }, answers, { wave, covariates }, memories) {
  const reports = {};
  const costs = {};
  const kept = { ...memories };
  for (const { id, mechanism } of questions) {
    const { report, memory, epsilon } = within(id, () =>
      mechanism.step(own(answers, id), own(memories, id), undefined, wave),
    );
    [reports[id], costs[id]] = [report, epsilon];
    if (memory) kept[id] = memory;
  }
  return { body: encode({ id: token(16), survey: digest, wave, reports, covariates }), costs, memories: kept };
}

/** Answers are not kept: only a digest of them under a secret of the store, to tell whether they are the same. */
function fingerprint(secret, answers) {
  try {
    return hex(hmac(utf8(secret), utf8(JSON.stringify(answers, plainly))));
  } catch {
    throw new DomainError("answers must not hold themselves");
  }
}

/** What JSON has no words for, and one order for what has none. */
function plainly(_, value) {
  if (value instanceof Set || value instanceof Map) {
    return { entries: [...value].map((entry) => JSON.stringify(entry)).sort() };
  }
  if (isObject(value)) return Object.entries(value).sort();
  return typeof value === "bigint" || value === Infinity || value === -Infinity ? [String(value)] : value;
}
