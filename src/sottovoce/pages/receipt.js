/** The receipt: what was sent, what it cost, and when the collector acknowledged it. */

import { me } from "./device.js";
import { details, element, theirs } from "./elements.js";
import { say } from "./language.js";
import { epsilon, ledger } from "./ledger.js";
import { meaning } from "./odds.js";
import { button, paragraph, resultsLink, show, steps, waveOf, when } from "./respondent-cards.js";

/** What the person keeps: the report that was sent, and a file that says so. `ask` goes on with another wave. */
export async function receipt(context, ask) {
  const { survey, written, body, wave, at, fresh } = context;
  const sent = JSON.parse(body);
  const { charges } = await me.ledger();
  const own = charges.filter((charge) => charge.survey === survey.id && charge.wave === wave);
  const record = {
    receipt: 1,
    site: location.origin,
    survey: survey.id,
    title: survey.title,
    digest: survey.digest,
    report: sent.id,
    wave,
    acknowledged: at,
    charges: own,
    sent: body,
  };
  const file = `receipt-${survey.id}-${sent.id.slice(0, 8)}.json`;
  const rows = [
    ["survey", theirs(survey.title, "dd")],
    ["report", element("dd", {}, element("code", {}, sent.id))],
    ["digest", element("dd", {}, element("code", {}, survey.digest))],
    ["at", element("dd", {}, when(at))],
    [
      "cost",
      element(
        "dd",
        {},
        own.length ? epsilon(own.reduce((before, charge) => before + charge.epsilon, 0)) : say("receipt.free"),
      ),
    ],
  ];
  const more = survey.waves > wave + 1;
  show(
    element("h1", {}, say(fresh ? "receipt.thanks" : "receipt.known")),
    waveOf(survey, wave),
    steps("sent"),
    element(
      "section",
      { class: "card" },
      paragraph(fresh ? "receipt.done" : "receipt.once"),
      survey.questions.map((question) =>
        element(
          "section",
          { class: "sent" },
          theirs(question.text, "h2"),
          element(
            "p",
            {},
            element("span", { class: "soft" }, `${say("receipt.was_sent")}: `),
            theirs(meaning(question, written[question.id], sent.reports[question.id]).text, "strong"),
          ),
        ),
      ),
      element(
        "div",
        { class: "actions" },
        resultsLink(),
        more && button("respondent.next", () => ask({ ...context, wave: wave + 1 }), { class: "plain" }),
      ),
    ),
    element(
      "section",
      { class: "card" },
      element("h2", {}, say("receipt.title")),
      element(
        "dl",
        { class: "pairs" },
        rows.map(([key, value]) => [element("dt", {}, say(`receipt.${key}`)), value]),
      ),
      details(say("check.bytes"), element("pre", { tabindex: "0", id: "bytes" }, body)),
      element(
        "div",
        { class: "actions" },
        button("receipt.download", () => download(file, `${JSON.stringify(record, null, 2)}\n`), { class: "plain" }),
      ),
    ),
    await ledger(() => receipt(context, ask), true),
  );
}

/** Offer a text as a file. Nothing is sent. */
export function download(name, text, type = "application/json") {
  const place = URL.createObjectURL(new Blob([text], { type }));
  element("a", { href: place, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(place), 1000);
}
