/** The page of a person who answers: odds, rehearsal, the bytes that would be sent, one draw, a receipt, the ledger. */

import { Refusal, StoreError, Survey } from "./sottovoce.js";
import { deliver, fetchSurvey, hand, Rejected } from "./delivery.js";
import { acknowledge, acknowledged, drawn, me, sealed } from "./device.js";
import { element, put, theirs } from "./dom.js";
import { number, say, switcher } from "./language.js";
import { ledger } from "./ledger.js";
import { labelOf, meaning } from "./odds.js";
import { button, forTechnicians, guarantee, head, note, paragraph, publicCard, questionCard, show } from "./parts.js";
import { refusalNote, resultsLink, steps, sum, waveOf } from "./parts.js";
import { receipt } from "./receipt.js";

const { survey: id, state } = document.documentElement.dataset;
const asked = new URLSearchParams(location.search);
let invitation = new URLSearchParams(location.hash.slice(1)).get("invitation");

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
    await guarded(context, () =>
      check({ ...context, again: form, answers: given(cards), covariates: given(open.fields) }),
    );
  };
  const form = element(
    "form",
    { novalidate: "", autocomplete: "off", onsubmit: submit },
    cards.map(({ card }) => card),
    survey.covariates.length > 0 && open.card,
    element(
      "p",
      { class: "soft" },
      say("respondent.costs", { cost: number(sum(review.costs), 4), left: number(review.left, 4) }),
    ),
    element("div", { class: "actions" }, element("button", { type: "submit" }, say("respondent.see"))),
    element("p", { class: "soft small" }, say("respondent.nothing_yet")),
  );
  const page = [about, waveOf(survey, wave), steps("answer"), guarantee(survey), form];
  const back = async () => show(title, page, await ledger(again));
  Object.assign(form, { back });
  await back();
}

/** Run a step; what goes wrong is shown on the page. */
async function guarded(context, step) {
  try {
    await step();
  } catch (error) {
    failed(error, context);
  }
}

/** One row of what will be sent: the question, the answer that stays here, and what the report says. */
function checkRow(question, written, answer, report) {
  const own =
    question.kind === "multiple"
      ? answer.map((value) => labelOf({}, value)).join(", ") || say("common.nothing")
      : labelOf(question, answer);
  return element(
    "section",
    { class: "sent" },
    theirs(question.text, "h2"),
    element(
      "dl",
      { class: "pairs" },
      element("dt", {}, say("check.own")),
      theirs(own, "dd"),
      element("dt", {}, say("check.report")),
      element("dd", {}, theirs(meaning(question, written, report).text, "strong")),
    ),
  );
}

const hostOf = ({ shuffle }) => (shuffle ? new URL(shuffle.address).host : location.host);

/** All that would be sent, before it is. */
async function check(context) {
  const { survey, written, wave, answers, covariates, again } = context;
  const body = await me.preview(survey, answers, { wave, covariates });
  const { reports } = JSON.parse(body);
  const size = new TextEncoder().encode(body).length;
  const sending = button("check.send", async () => {
    sending.disabled = true;
    await guarded(context, async () =>
      send({ ...context, body: await me.answer(survey, answers, { wave, covariates }) }),
    );
  });
  show(
    element("h1", {}, say("check.title")),
    steps("check"),
    element(
      "section",
      { class: "card" },
      paragraph("check.drawn"),
      survey.questions.map((question) =>
        checkRow(question, written[question.id], answers[question.id], reports[question.id]),
      ),
      survey.covariates.length > 0 &&
        element(
          "section",
          { class: "sent" },
          element("h2", {}, say("respondent.public")),
          element(
            "dl",
            { class: "pairs" },
            survey.covariates.map((one) => [theirs(one.text ?? one.id, "dt"), theirs(covariates[one.id], "dd")]),
          ),
        ),
    ),
    element(
      "section",
      { class: "card" },
      element("h2", {}, say("check.bytes")),
      paragraph("check.bytes_help", { size, host: hostOf(survey) }),
      survey.shuffle && paragraph("check.sealed"),
      element("pre", { tabindex: "0", id: "bytes" }, body),
      element("p", { class: "soft small" }, say("check.fields")),
    ),
    element(
      "div",
      { class: "actions" },
      sending,
      button("check.back", () => again.back(), { class: "plain" }),
    ),
    element("p", { class: "soft small" }, say("check.once")),
  );
}

/** Send until it is acknowledged; a wait says why, for how long, and can be cut short. */
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
    await dispatch(survey, body, waitingIn(status));
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    await rejected(context, error);
    return;
  }
  await receipt({ ...context, at: await acknowledge(JSON.parse(body).id), fresh: true }, ask);
}

/** To the collector or, sealed, to the shuffler of the survey. */
async function dispatch(survey, body, waiting) {
  if (!survey.shuffle) return deliver(survey.id, body, invitation, waiting);
  return hand(survey.shuffle.address, await sealed(survey, JSON.parse(body).id, body), waiting);
}

function waitingIn(place) {
  return ({ seconds, offline, now }) => {
    const left = element("span", { class: "number", "aria-hidden": "true" }, number(seconds));
    const tick = setInterval(() => (left.textContent = number(Math.max(--seconds, 0))), 1000);
    const go = () => {
      clearInterval(tick);
      now();
    };
    setTimeout(() => clearInterval(tick), 1000 * seconds + 500);
    place.replaceChildren(
      element("p", {}, element("strong", {}, say(offline ? "send.offline" : "send.away"))),
      element("p", {}, element("span", { class: "waiting" }), say("send.again"), " ", left, " s"),
      element("div", { class: "actions" }, button("send.try", go, { class: "plain" })),
    );
  };
}

const CODES = ["closed", "expired", "invitation", "conflict", "malformed", "mismatched"];

/** The collector will not have the report. */
async function rejected(context, { code, status, message }) {
  const key = CODES.includes(code) ? code : "other";
  const card = element(
    "section",
    { class: "card" },
    note("bad", say(`rejected.${key}`), paragraph(`rejected.${key}_help`)),
    element("p", { class: "soft small" }, say("rejected.charged")),
    code === "invitation" && invite(context),
    forTechnicians(`${status} ${code}: ${message}`),
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
    await ledger(() => rejected(context, { code, status, message })),
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

/** The wave to begin with: one that is named in the address, or the last that was answered, or the first. */
function firstWave({ waves }, reports) {
  const named = Number(asked.get("wave") ?? NaN) - 1;
  if (Number.isInteger(named) && named >= 0 && named < waves) return named;
  return Math.max(0, ...Object.keys(reports).map(Number));
}

async function begin() {
  document.getElementById("switch").append(switcher(element));
  put("foot", element("p", {}, say("common.foot")));
  const waiting = put(
    "main",
    element("div", { role: "status" }, element("p", {}, element("span", { class: "waiting" }), say("common.loading"))),
  );
  const survey = new Survey(await fetchSurvey(id, waitingIn(waiting.firstChild)));
  document.title = survey.title;
  const written = Object.fromEntries(
    JSON.parse(survey.canonical).questions.map((question) => [question.id, question.mechanism]),
  );
  const reports = await drawn(survey);
  const wave = firstWave(survey, reports);
  const body = reports[wave];
  const context = { survey, written, wave, body };
  const at = body && (await acknowledged(JSON.parse(body).id));
  if (at) await receipt({ ...context, at }, ask);
  else if (body) await guarded(context, () => send(context));
  else await ask(context);
}

begin().catch((error) => failed(error));
