/** Groups by a public covariate, beside one another, and tests of how they differ. */

import { dots, responsive } from "./charts.js";
import { element } from "./elements.js";
import { domainOf, rowsOf } from "./figures.js";
import { between, measured, pValue, share } from "./number-format.js";
import { number, say } from "./language.js";
import { get } from "./event-stream.js";
import { dataTable } from "./table.js";

const RELOAD_MILLISECONDS = 3000;

/** A card for all questions by all covariates, or nothing if the survey has none. */
export function groupsCard(survey, now) {
  const asked = survey.questions.filter(({ kind }) => kind !== "text");
  if (!survey.covariates.length || !asked.length) return null;
  const select = (entries) => element("select", { autocomplete: "off", onchange: () => load(true) }, entries.map(({ id, text }) => element("option", { value: id }, text ?? id)));
  const [question, by] = [select(asked), select(survey.covariates)];
  const chart = responsive(element, (data, width) => drawGroups(data, width));
  const [verdict, note] = [element("p", {}), element("p", { class: "soft" })];
  const values = dataTable(`${survey.id}-groups`, say("groups.title"));
  const tests = dataTable(`${survey.id}-differences`, say("groups.differences"), say("table.differences"));
  const node = element("section", { class: "card groups" }, element("h2", {}, say("groups.title")),
    element("div", { class: "controls noprint" }, element("label", { class: "inline" }, say("groups.question"), " ", question), element("label", { class: "inline" }, say("groups.by"), " ", by)),
    verdict, chart.place, note, values.node, tests.node);
  let [last, kind, known] = [0, "population", null];

  async function load(force = false) {
    if (!force && Date.now() - last < RELOAD_MILLISECONDS) return;
    last = Date.now();
    const state = now();
    const answer = await get(`/v1/surveys/${survey.id}/differences?${new URLSearchParams({ question: question.value, by: by.value, wave: state?.wave ?? 0 })}`).catch(() => null);
    if (!answer?.ok) {
      setTimeout(() => load(), RELOAD_MILLISECONDS + 100);
      return;
    }
    known = await answer.json();
    draw();
  }

  function draw() {
    if (!known) return;
    const item = survey.questions.find(({ id }) => id === known.question);
    const measure = item.kind === "number" && item.estimate === "mean" ? "mean" : "frequency";
    const groups = known.groups.map(({ group, n, rows }) => ({ group, n, rows: rowsOf({ rows, measure, impossible: [] }, kind) }));
    verdict.textContent = summary(known);
    note.textContent = known.withheld.length ? say("groups.withheld", { groups: known.withheld.join(", "), minimum: survey.minimum }) : "";
    chart.place.hidden = groups.length < 1;
    if (groups.length) chart.show({ groups, item, measure, by: known.by });
    const show = (value) => measured(value, measure, 2);
    const cell = (key, name = say(`table.${key}`), how = show) => ({ name, key, number: true, show: how });
    values.show([{ name: say("groups.group"), key: "group" }, { name: say("table.value"), key: "label" }, cell("n", say("figures.reports"), number), cell("estimate"), cell("stderr"), cell("low"), cell("high")],
      groups.flatMap(({ group, n, rows }) => rows.map((row) => ({ group, n, ...row }))));
    tests.show([{ name: say("table.value"), key: "label" }, { name: say("groups.group"), key: "group" }, { name: say("groups.other"), key: "other", show: (name) => (name === "*" ? say("groups.all_others") : name) },
      cell("estimate", say("groups.difference")), cell("low"), cell("high"), cell("p_value", say("groups.p_value"), pValue), cell("adjusted", say("groups.adjusted"), pValue)],
      known.differences.map((row) => ({ ...row, label: measure === "mean" ? say("figures.mean") : row.label })));
  }
  return { node, show(_, chosen) { kind = chosen; draw(); load(); } };
}

/** Whether the groups differ at all, in words: by one test of all, or by the smallest p-value after correction. */
function summary({ groups, test, differences }) {
  if (groups.length < 2) return say("groups.few");
  const strongest = [...differences].sort((a, b) => a.adjusted - b.adjusted)[0];
  const found = differences.filter(({ adjusted }) => adjusted <= 0.05).length;
  const parts = [];
  if (test) parts.push(say(test.p_value <= 0.05 ? "groups.unlike" : "groups.alike", { p: pValue(test.p_value) }));
  if (strongest) parts.push(say("groups.count", { found, all: differences.length, p: pValue(strongest.adjusted) }));
  return parts.join(" ");
}

const MOST_GROUPS = 12;

function drawGroups({ groups, item, measure, by }, width) {
  const labels = groups[0].rows.map(({ label }) => label);
  const only = item.kind === "yes_no" && labels.length === 2 ? [1] : labels.map((_, at) => at).slice(0, Math.max(1, Math.floor(MOST_GROUPS * 2 / groups.length)));
  const rows = only.flatMap((at) => groups.map(({ group, rows: own }) => ({ ...own[at], raw: null, said: measured(own[at].estimate, measure), label: labels.length > 1 ? `${own[at].label} · ${group}` : group })));
  return dots({
    rows, domain: domainOf(rows, { measure }, item), ends: measure === "mean" ? [item.low, item.high] : [0, 1],
    format: (value) => (measure === "mean" ? number(value) : share(value, 0)), width, title: say("groups.chart", { question: item.text, by }),
    description: rows.slice(0, 12).map(({ label, estimate, low, high }) => say("figures.spoken", { label, estimate: measured(estimate, measure), interval: between(low, high, measure) })).join(" "),
  });
}

