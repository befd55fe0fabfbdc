/** Two steps: a person makes the answers final, and then sees what was drawn for them, to the byte, before it is sent. */

import { element, theirs } from "./elements.js";
import { say } from "./language.js";
import { labelOf, meaning } from "./odds.js";
import { button, note, paragraph, show, steps, waveOf } from "./respondent-cards.js";

const pairs = (...rows) => element("dl", { class: "pairs" }, ...rows);
const pair = (key, ...value) => [element("dt", {}, say(key)), element("dd", {}, ...value)];

const ownWords = (question, answer) =>
  question.kind === "multiple"
    ? answer.map((value) => labelOf({}, value)).join(", ") || say("common.nothing")
    : labelOf(question, answer);

const publicRows = ({ covariates: asked }, given) =>
  asked.length > 0 &&
  element(
    "section",
    { class: "sent" },
    element("h2", {}, say("respondent.public")),
    pairs(asked.map((one) => [theirs(one.text ?? one.id, "dt"), theirs(given[one.id], "dd")])),
  );

/** The answers once more. They can be changed here and nowhere later: the draw comes next. */
export function confirm({ survey, wave, answers, covariates }, { go, back }) {
  const going = button("final.go", () => {
    going.disabled = true;
    return go();
  });
  const rows = survey.questions.map((question) =>
    element(
      "section",
      { class: "sent" },
      theirs(question.text, "h2"),
      pairs(pair("final.answer", theirs(ownWords(question, answers[question.id]), "strong"))),
    ),
  );
  show(
    element("h1", {}, say("final.title")),
    waveOf(survey, wave),
    steps("final"),
    element("section", { class: "card" }, rows, publicRows(survey, covariates)),
    note("warn", say("final.last"), paragraph("final.next"), paragraph("final.why")),
    element("div", { class: "actions" }, going, button("final.back", back, { class: "plain" })),
    element("p", { class: "soft small" }, say("respondent.nothing_yet")),
  );
}

/** What stays here, as long as the page knows it, and what is sent. */
function drawnRow(question, written, answers, report) {
  return element(
    "section",
    { class: "sent" },
    theirs(question.text, "h2"),
    pairs(
      answers && pair("check.own", theirs(ownWords(question, answers[question.id]))),
      pair("check.report", theirs(meaning(question, written, report).text, "strong")),
    ),
  );
}

const hostOf = ({ shuffle }) => (shuffle ? new URL(shuffle.address).host : location.host);

/** All that would be sent, before it is. After a reload there are no answers to show, for none are kept. */
export function check(context, send) {
  const { survey, written, wave, answers, body, keyed } = context;
  const { reports, covariates } = JSON.parse(body);
  const size = new TextEncoder().encode(body).length;
  const sending = button("check.send", () => {
    sending.disabled = true;
    return send(context);
  });
  show(
    element("h1", {}, say("check.title")),
    waveOf(survey, wave),
    steps("check"),
    element(
      "section",
      { class: "card" },
      paragraph(answers ? "check.drawn" : "check.kept"),
      survey.questions.map((question) =>
        drawnRow(question, written[question.id], answers, reports[question.id]),
      ),
      publicRows(survey, covariates),
    ),
    element(
      "section",
      { class: "card" },
      element("h2", {}, say("check.bytes")),
      paragraph("check.bytes_help", { size, host: hostOf(survey) }),
      survey.shuffle && paragraph("check.sealed"),
      element("pre", { tabindex: "0", id: "bytes" }, body),
      element("p", { class: "soft small" }, say(keyed ? "check.fields_key" : "check.fields")),
    ),
    element("div", { class: "actions" }, sending),
    element("p", { class: "soft small" }, say("check.once")),
    element("p", { class: "soft small" }, say("check.leave")),
  );
}
