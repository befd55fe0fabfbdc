/** What a device runs: small, exact and stubborn. It protects its owner from the server. */

import { isObject, own } from "./canonical.js";
import { finite, whole } from "./checks.js";
import { demand, DomainError, must, Refusal, StoreError, within } from "./errors.js";
import { above, total, units } from "./exact.js";
import { token } from "./random.js";
import { IndexedStore } from "./stores.js";
import { Survey } from "./survey.js";
import { checkCovariates, encode } from "./wire.js";

const VERSION = 2;

const checkBudget = (budget) => must(finite("a budget", budget) > 0, "a budget must be positive", budget);
/** What a first answer is charged with. A permanent answer is paid for at once, however often it is sent. */
const firstCost = ({ after, epsilon }) => after?.(0) ?? epsilon;
/** @type {(given: any) => any} */
const surveyOf = (given) => (given instanceof Survey ? given : new Survey(given));

/** A person's device: it answers surveys from a durable store, within the person's budget. */
export class Respondent {
  #budget;

  /**
   * `pins` holds the digests that are expected, by the id of the survey. The budget is set when a store is new. All draws
   * follow from a `key` of personal-key.js, if there is one.
   * @param {{ [name: string]: any }} [options]
   */
  constructor({ store, budget, key, pins = {}, clock = () => new Date() } = {}) {
    must(store || globalThis.indexedDB, "there must be a store", store);
    if (budget !== undefined) checkBudget(budget);
    this.#budget = budget;
    this.store = store ?? new IndexedStore();
    this.key = key;
    this.pins = pins;
    this.clock = clock;
  }

  /** What the survey would cost and whether it would be answered. Nothing is drawn, charged or pinned. */
  async review(given) {
    return this.#update((state) => {
      const survey = surveyOf(given);
      const costs = Object.fromEntries(survey.questions.map(({ id, mechanism }) => [id, firstCost(mechanism)]));
      const { memories, owed } = own(state.surveys, survey.digest) ?? { memories: {}, owed: [] };
      // Where something is remembered, a value that was held before costs nothing more; only a new one may cost so much.
      const least = survey.questions.map(({ id }) => (own(memories, id) ? 0 : costs[id]));
      for (const { question, epsilon } of owed) {
        costs[question] += epsilon;
        least.push(epsilon);
      }
      let refusal = null;
      try {
        this.#check(state, survey);
        refuseBeyondBudget(state, least, survey, memories);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        refusal = error.message;
      }
      return { survey, costs, least: above(total(least)), epsilon: survey.epsilon, left: spending(state).left, refusal };
    });
  }

  /** The very text that `answer` will give in this wave. With it the answers are final. It is kept, but not charged. */
  async preview(given, answers, options) {
    return this.#update((state) => this.#draft(state, surveyOf(given), answers, options).body);
  }

  /** The text to send: randomized, charged and kept before it is handed out. A wave is answered once. */
  async answer(given, answers, options) {
    return this.#update((state) => {
      const survey = surveyOf(given);
      const { body, wave, kept, due } = this.#draft(state, survey, answers, options);
      if (!kept) return body;
      const at = new Date().toISOString();
      state.charges.push(...due.map((charge) => ({ at, survey: survey.id, ...charge })));
      kept.owed = [];
      kept.reports[wave] = body;
      delete kept.drafts[wave];
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
      const state = upgraded(found) ?? { version: VERSION, budget: this.#budget ?? 10, pins: {}, charges: [], surveys: {} };
      demand(StoreError, state.version === VERSION, `a store must be of version ${VERSION}`, state.version);
      must((this.#budget ?? state.budget) === state.budget, `the budget must be ${state.budget}`, this.#budget);
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

  /**
   * One draw for each survey and wave, whatever the answers are by then. What was drawn for good is remembered at once, so
   * that no other wave draws it again; the first report that is sent pays for it. A wave that has been sent is paid.
   */
  #draft(state, survey, answers, { wave = 0, covariates = {} } = {}) {
    whole("wave", wave, 0, survey.waves - 1);
    const key = this.key?.name(survey.digest) ?? null;
    const kept = own(state.surveys, survey.digest) ?? { key, reports: {}, memories: {}, drafts: {}, owed: [] };
    if (own(kept.reports, wave)) return { body: kept.reports[wave] };
    this.#check(state, survey);
    if (!own(kept.drafts, wave)) {
      // Another key, or none, would draw again what was drawn for good.
      demand(Refusal, kept.key === key, `survey ${survey.id} must have its first key`, key);
      checkAnswers(survey, answers);
      checkCovariates(covariates, survey);
      kept.drafts[wave] = this.#draw(survey, answers, { wave, covariates }, kept);
    }
    const { body, costs } = kept.drafts[wave];
    const due = [...kept.owed, ...costs];
    refuseBeyondBudget(state, epsilons(due), survey, kept.memories);
    state.pins[survey.id] = survey.digest;
    state.surveys[survey.digest] = kept;
    return { body, wave, kept, due };
  }

  /** One draw for each question. The id comes first, so that it has nothing to do with the answers. */
  #draw({ questions, digest }, answers, { wave, covariates }, { memories, owed }) {
    const id = this.key?.reportId(digest, wave) ?? token();
    const reports = {};
    const costs = [];
    for (const { id: question, mechanism } of questions) {
      const { report, memory, epsilon } = within(question, () => {
        const answer = own(answers, question);
        const source = this.key?.source(digest, question, wave, answer);
        return mechanism.step(answer, own(memories, question), source, wave);
      });
      reports[question] = report;
      if (memory) memories[question] = memory;
      if (epsilon) (memory ? owed : costs).push({ wave, question, epsilon });
    }
    return { body: encode({ id, survey: digest, wave, reports, covariates }), costs };
  }
}

/** A store of the former version kept digests of answers beside their secret: both go, and the drafts with them. */
function upgraded(state) {
  if (state?.version === 1) {
    for (const kept of Object.values(state.surveys)) Object.assign(kept, { key: null, drafts: {}, owed: [] });
    delete state.secret;
    state.version = VERSION;
  }
  return state;
}

const epsilons = (charges) => charges.map(({ epsilon }) => epsilon);

function spending(state) {
  const spent = above(total(epsilons(state.charges)));
  return { budget: state.budget, spent, left: Math.max(0, state.budget - spent) };
}

/** What changes of the answers may still cost, where they are followed up to a bound, is set aside from the first wave on. */
function refuseBeyondBudget(state, costs, { questions, waves }, memories) {
  const later = questions.flatMap(({ id, mechanism }) => mechanism.ahead?.(waves, memories[id]?.answers) ?? []);
  const after = total([...epsilons(state.charges), ...costs, ...later]);
  demand(Refusal, after <= units(state.budget), `budget must cover the costs, ${above(after)}`, state.budget);
}

function checkAnswers({ questions }, answers) {
  must(isObject(answers), "answers must be an object", answers);
  for (const [id, answer] of Object.entries(answers)) {
    demand(DomainError, questions.some((question) => question.id === id), "an answer must be to a question", id);
    demand(DomainError, !(answer?.length > 2 ** 16), `${id} must have at most 2^16 characters`, answer?.length);
  }
}
