/** A question about texts that nobody listed: the values that were found, or those that the analyst names. */

import { dots, responsive } from "./charts.js";
import { element, theirs } from "./elements.js";
import { domainOf, nameOf } from "./figures.js";
import { between, measured, share } from "./number-format.js";
import { number, say } from "./language.js";
import { get } from "./event-stream.js";
import { dataTable } from "./table.js";

const MOST_VALUES = 90;
const RELOAD_MILLISECONDS = 3000;

export function textCard(survey, question) {
  const key = `sottovoce-values-${survey.digest}-${question.id}`;
  const input = element("textarea", { rows: 4, dir: "auto", spellcheck: "false", oninput: () => { remember(); clearTimeout(timer); timer = setTimeout(() => load(true), 600); } });
  input.value = recalled(key);
  const chart = responsive(element, ({ rows }, width) => dots({
    rows: rows.map((row) => ({ ...row, said: share(row.estimate) })), domain: domainOf(rows, { measure: "frequency" }, { low: 0, high: 1 }), ends: [0, 1], format: (value) => share(value, 0), width,
    title: say("figures.dots_title", { question: question.text }),
    description: rows.map(({ label, estimate, low, high }) => say("figures.spoken", { label, estimate: share(estimate), interval: between(low, high) })).join(" "),
  }));
  const [lead, note] = [element("p", { class: "soft" }), element("p", { class: "note" })];
  const table = dataTable(`${survey.id}-${question.id}`, question.text);
  const node = element("section", { class: "card figure", id: `question-${question.id}` }, element("h2", {}, theirs(question.text)), lead,
    element("label", { class: "field" }, element("span", {}, say("words.values")), input), note, chart.place, table.node);
  let [timer, last, n, kind, about] = [0, 0, 0, "population", null];

  function remember() {
    try {
      sessionStorage.setItem(key, input.value);
    } catch {
      // Then they are typed again.
    }
  }

  async function load(force = false) {
    const values = [...new Set(input.value.split("\n").map((line) => line.trim()).filter(Boolean))].slice(0, MOST_VALUES);
    const [few, finds] = [n < survey.minimum, question.mechanism === "discovery"];
    const ready = !few && (values.length > 0 || finds);
    if (!ready) note.textContent = few ? say("figures.minimum", { n, minimum: survey.minimum }) : say("words.none", { most: MOST_VALUES });
    if (!ready || values.length) note.hidden = ready;
    chart.place.hidden = table.node.hidden = !ready;
    if (!ready || (!force && Date.now() - last < RELOAD_MILLISECONDS)) return;
    last = Date.now();
    const query = new URLSearchParams([["question", question.id], ["population", kind === "respondents" ? "false" : "true"], ["wave", about?.wave ?? 0], ...values.map((value) => ["value", value])]);
    const answer = await get(`/v1/surveys/${survey.id}/estimates?${query}`).catch(() => null);
    if (!answer?.ok) return;
    const { results, withheld } = await answer.json();
    if (!results.length) {
      note.hidden = false;
      note.textContent = withheld[0]?.reason ?? "";
      return;
    }
    const rows = results[0].estimates.map(({ label, frequency, stderr, low, high }) => ({ label, estimate: frequency, stderr, low, high, raw: null }));
    if (!values.length) {
      const { tested, not_found } = results[0];
      note.hidden = false;
      note.textContent = say("words.found", { found: rows.length, tested, share: share(not_found.frequency), interval: between(not_found.low, not_found.high) });
    }
    chart.show({ rows });
    table.show([{ name: say("table.value"), key: "label" }, ...["estimate", "stderr", "low", "high"].map((name) => ({ name: say(`table.${name}`), key: name, number: true, show: (value) => measured(value, "frequency", 2) }))], rows);
  }

  return {
    node,
    show(state, chosen, _, all) {
      [n, kind, about] = [state.n, chosen, all];
      lead.textContent = say("figures.lead", { n, epsilon: number(question.epsilon, 4), mechanism: nameOf(question) });
      load();
    },
  };
}

function recalled(key) {
  try {
    return sessionStorage.getItem(key) ?? "";
  } catch {
    return "";
  }
}
