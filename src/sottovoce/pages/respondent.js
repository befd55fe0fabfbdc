/** The page of a person who answers: odds, rehearsal, final answers, one draw, the bytes, a receipt, the ledger. */

import { arrived, takeKey } from "./key-link.js"; // First: a key does not stay in the address.
import { Refusal, StoreError, Survey } from "./sottovoce.js";
import { acknowledge, acknowledged, drawn, me, sealed } from "./device.js";
import { element, put } from "./elements.js";
import { check, confirm } from "./confirmation.js";
import { keyProblem, memoryCard, remembers, useKey } from "./keys.js";
import { number, say, switcher } from "./language.js";
import { ledger } from "./ledger.js";
import { button, forTechnicians, guarantee, head, note, paragraph, publicCard, questionCard, show } from "./respondent-cards.js";
import { refusalNote, resultsLink, steps, sum, waveOf } from "./respondent-cards.js";
import { receipt } from "./receipt.js";
import { fetchSurvey, Rejected, send as deliver } from "./send.js";
import { patience } from "./waiting.js";

const { survey: id, state } = document.documentElement.dataset;
const asked = new URLSearchParams(location.search);
let invitation = new URLSearchParams(location.hash.slice(1)).get("invitation");

/** Two sums of the same costs differ by less. */
const ROUNDING = 1e-9;
const REDIRECT_WAIT_MILLISECONDS = 5000;

/** What the wave costs. Where permanent answers are remembered, that depends on whether an answer is new. */
function price({ costs, least, left }) {
  const most = sum(costs);
  const later = most - least > ROUNDING;
  const values = { cost: number(most, 4), least: number(least, 4), left: number(left, 4) };
  return [
    element("p", { class: "soft" }, say(later ? "respondent.costs_later" : "respondent.costs", values)),
    later && most > left && element("p", { class: "note warn" }, say("respondent.new_value")),
  ];
}

/** The questions. */
async function ask(context) {
  const { survey, written, wave } = context;
  const [title, about] = head(survey);
  const review = await me.review(survey);
  const closed = refusalNote(survey, state, review);
  const again = () => ask(context);
  if (closed) {
    show(title, about, closed, element("div", { class: "actions" }, resultsLink()), await ledger(again, true));
    return;
  }
  const known = await drawn(survey);
  const draft = known.drafts[wave];
  if (draft) {
    check({ ...context, body: draft.body, keyed: Boolean(known.key) }, release);
    return;
  }
  const problem = keyProblem(survey, known, again);
  if (problem) {
    show(title, about, problem, memoryCard(survey, again, true), await ledger(again));
    return;
  }
  const cards = survey.questions.map((question, at) => questionCard(survey, question, written[question.id], at));
  const open = publicCard(survey.covariates);
  const submit = async (event) => {
    event.preventDefault();
    const fields = [...cards, ...open.fields];
    const wrong = fields.filter((one) => !one.check());
    if (wrong.length) {
      wrong[0].node.scrollIntoView({ block: "center" });
      (wrong[0].node.querySelector("input") ?? wrong[0].node).focus();
      return;
    }
    const given = (list) => Object.fromEntries(list.map((one) => [one.id, one.read()]));
    const next = { ...context, answers: given(cards), covariates: given(open.fields) };
    confirm(next, { go: () => guarded(context, () => draw(next)), back });
  };
  const form = element(
    "form",
    { novalidate: "", autocomplete: "off", onsubmit: submit },
    cards.map(({ card }) => card),
    survey.covariates.length > 0 && open.card,
    price(review),
    element("div", { class: "actions" }, element("button", { type: "submit" }, say("respondent.see"))),
    element("p", { class: "soft small" }, say("respondent.nothing_yet")),
  );
  const memory = (remembers(survey) || me.key) && memoryCard(survey, again);
  const page = [about, waveOf(survey, wave), steps("answer"), guarantee(survey), memory, form];
  const back = async () => show(title, page, await ledger(again));
  await back();
}

/** The one draw of a wave. It makes the answers final; then it is shown. */
async function draw(context) {
  const { survey, wave, answers, covariates } = context;
  const keyed = Boolean(me.key);
  check({ ...context, body: await me.preview(survey, answers, { wave, covariates }), keyed }, release);
}

/** Charge what was drawn and shown, and send it. */
const release = (context) =>
  guarded(context, async () => send({ ...context, body: await me.answer(context.survey, {}, { wave: context.wave }) }));

/** Run a step; what goes wrong is shown on the page. */
async function guarded(context, step) {
  try {
    await step();
  } catch (error) {
    failed(error, context);
  }
}

/** Send until it is acknowledged. */
async function send(context) {
  const { survey, body } = context;
  const status = element(
    "div",
    { role: "status" },
    element("p", {}, element("span", { class: "waiting" }), say("send.now")),
  );
  show(
    element("h1", {}, say("send.title")),
    steps("check"),
    element("section", { class: "card" }, status, element("p", { class: "soft small" }, say("send.kept"))),
  );
  try {
    await dispatch(survey, body, patience(status));
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    await rejected(context, error);
    return;
  }
  await receipt({ ...context, at: await acknowledge(JSON.parse(body).id), fresh: true }, ask);
}

/**
 * To the collector or, sealed, to the shuffler of the survey. A redirect is no answer of theirs: a network that wants a
 * person to log in first may send one, so that it is tried again.
 */
async function dispatch(survey, body, options) {
  const [url, content, more] = survey.shuffle
    ? [survey.shuffle.address, await sealed(survey, JSON.parse(body).id, body), options] // It sees no invitation.
    : [placeOf(survey.id), body, { ...options, invitation }];
  for (;;) {
    try {
      return await deliver(url, content, more);
    } catch (error) {
      if (!(error instanceof Rejected) || error.status) throw error;
      await options.sleep(REDIRECT_WAIT_MILLISECONDS);
    }
  }
}

const placeOf = (survey) => `/v1/surveys/${encodeURIComponent(survey)}`;

const CODES = ["closed", "expired", "invitation", "conflict", "malformed", "mismatched"];

/** The collector will not have the report. */
async function rejected(context, { code, message }) {
  const key = CODES.includes(code) ? code : "other";
  const card = element(
    "section",
    { class: "card" },
    note("bad", say(`rejected.${key}`), paragraph(`rejected.${key}_help`)),
    element("p", { class: "soft small" }, say("rejected.charged")),
    code === "invitation" && invite(context),
    forTechnicians(message),
  );
  show(
    element("h1", {}, say("rejected.title")),
    card,
    element(
      "div",
      { class: "actions" },
      button("send.try", () => guarded(context, () => send(context)), { class: "plain" }),
      resultsLink(),
    ),
    await ledger(() => rejected(context, { code, message })),
  );
}

function invite(context) {
  const input = element("input", { type: "text", autocomplete: "off", spellcheck: "false" });
  const use = () => {
    invitation = input.value.trim();
    return guarded(context, () => send(context));
  };
  return [
    element("label", { class: "field" }, element("span", {}, say("rejected.code")), input),
    element("div", { class: "actions" }, button("rejected.use", use)),
  ];
}

/** What nobody planned for. The answers stay where they are: on this page. */
function failed(error, context) {
  const key =
    error?.name === "NotSupportedError"
      ? "seal"
      : error instanceof StoreError || error instanceof DOMException
        ? "store"
        : error instanceof Refusal
          ? "device"
          : "page";
  const text = `${error?.name}: ${error?.message}`;
  show(
    element("h1", {}, say("failed.title")),
    note("bad", say(`failed.${key}`), paragraph(`failed.${key}_help`), forTechnicians(text)),
    context &&
      element(
        "div",
        { class: "actions" },
        button("failed.back", () => ask(context), { class: "plain" }),
      ),
  );
}

/** The wave to begin with: one that is named in the address, or the last for which a draw was made, or the first. */
function firstWave({ waves }, { reports, drafts }) {
  const named = Number(asked.get("wave") ?? NaN) - 1;
  if (Number.isInteger(named) && named >= 0 && named < waves) return named;
  return Math.max(0, ...Object.keys({ ...reports, ...drafts }).map(Number));
}

async function begin() {
  document.getElementById("switch").append(switcher(element, () => (me.key ? `key=${me.key.toText()}` : "")));
  put("foot", element("p", {}, say("common.foot")));
  const waiting = put(
    "main",
    element("div", { role: "status" }, element("p", {}, element("span", { class: "waiting" }), say("common.loading"))),
  );
  const survey = new Survey(await fetchSurvey(placeOf(id), patience(waiting.firstChild)));
  document.title = survey.title;
  const written = Object.fromEntries(
    JSON.parse(survey.canonical).questions.map((question) => [question.id, question.mechanism]),
  );
  const enter = (key) => arrive({ survey, written }, key).catch((error) => failed(error));
  addEventListener("hashchange", () => {
    const key = takeKey();
    if (key !== null) enter(key);
  });
  await enter(arrived);
}

/** Go where a person left off: to the receipt, to sending, to what was drawn, or to the questions. */
async function arrive({ survey, written }, key) {
  const known = await drawn(survey);
  const wave = firstWave(survey, known);
  const body = known.reports[wave];
  const context = { survey, written, wave, body };
  if (key !== null && !useKey(key, survey)) {
    const [title, about] = head(survey);
    show(title, about, note("bad", say("key.wrong"), paragraph("key.wrong_help")));
    return;
  }
  const at = body && (await acknowledged(JSON.parse(body).id));
  if (at) await receipt({ ...context, at }, ask);
  else if (body) await guarded(context, () => send(context));
  else await ask(context);
}

begin().catch((error) => failed(error));
