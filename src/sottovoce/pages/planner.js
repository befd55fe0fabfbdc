/** The page that plans: how much privacy, how many people, how sharp a result, and what an attacker could conclude. */

import { dots, lines, responsive } from "./charts.js";
import { element, put, theirs } from "./elements.js";
import { nameOf } from "./figures.js";
import { measured, share } from "./number-format.js";
import { number, say, switcher } from "./language.js";
import { countOf } from "./odds.js";
import { slug, yaml } from "./survey-file.js";
import { dataTable, save } from "./table.js";

const KINDS = ["yes_no", "choice", "multiple", "ordered", "number", "text"];
const COUNTS = [10, 20, 30, 50, 75].flatMap((n) => [1, 10, 100, 1000, 10000].map((power) => n * power)).concat(1e6).sort((a, b) => a - b);
const EPSILONS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.75, 2, 2.25, 2.5, 3, 3.5, 4, 5, 6, 8];
const TARGETS = [0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.15, 0.2];
const PRIORS = Array.from({ length: 19 }, (_, at) => (at + 1) / 20);

const plan = { kind: "yes_no", text: "", values: [], low: 0, high: 100, estimate: "mean", max_bytes: 50, mechanism: "auto", epsilon: 1, n: 1000, target: 0.05, prior: 0.5 };
const survey = { title: "", contact: "", minimum: 50, questions: [] };
let [asking, timer] = [null, 0];

const listed = () => ["choice", "multiple", "ordered"].includes(plan.kind);
const averaged = () => plan.kind === "number" && plan.estimate === "mean";
const measure = () => (averaged() ? "mean" : "frequency");
const width = () => (averaged() ? plan.high - plan.low : 1);
const options = () => (plan.values.length >= 2 ? plan.values : listed() ? ["A", "B", "C", "D"] : []);

function query() {
  const asked = { kind: plan.kind, mechanism: plan.mechanism, epsilon: plan.epsilon, n: plan.n, prior: plan.prior, margin: Number((plan.target * width()).toPrecision(9)) };
  if (listed()) asked.values = Math.min(Math.max(options().length, 2), 1000);
  if (plan.kind === "number") Object.assign(asked, { low: plan.low, high: plan.high, estimate: plan.estimate });
  return new URLSearchParams(Object.entries(asked).map(([key, value]) => [key, String(value)]));
}

/** Ask for the numbers, a moment after the last change; an answer that comes too late is thrown away. */
function changed() {
  asking?.abort();
  clearTimeout(timer);
  timer = setTimeout(ask, 60);
}

async function ask() {
  asking = new AbortController();
  try {
    const answer = await fetch(`/v1/plan?${query()}`, { signal: asking.signal });
    const found = await answer.json();
    if (!answer.ok) throw new Error(found.error.message);
    put("wrong");
    draw(found);
  } catch (error) {
    if (error.name !== "AbortError") put("wrong", element("p", { class: "wrong", role: "alert" }, error instanceof TypeError ? say("planner.away") : error.message));
  }
}

// The form.

function slider(name, values, show) {
  const input = element("input", { type: "range", id: name, min: 0, max: values.length - 1, step: 1, value: String(Math.max(0, values.indexOf(plan[name]))), autocomplete: "off" });
  const output = element("output", { for: name });
  const update = () => {
    plan[name] = values[Number(input.value)];
    const text = show(plan[name]);
    output.textContent = text;
    input.setAttribute("aria-valuetext", text);
  };
  input.addEventListener("input", () => { update(); changed(); });
  update();
  return { node: element("div", { class: "slider" }, element("span", {}, element("label", { for: name }, say(`planner.${name}`)), output), input), update };
}

const field = (name, control, help) =>
  element("label", { class: "field" }, element("span", {}, say(`planner.${name}`)), control, help && element("span", { class: "help" }, say(help)));
const text = (owner, name, more = {}) =>
  element("input", { type: "text", dir: "auto", autocomplete: "off", value: owner[name], oninput: ({ target }) => { owner[name] = target.value; drawSurvey(); }, ...more });
const figureOf = (name) => element("input", { type: "number", step: "any", value: String(plan[name]), autocomplete: "off", oninput: ({ target }) => { if (target.value !== "") { plan[name] = Number(target.value); changed(); } } });
const select = (name, values, label, onchange) =>
  element("select", { autocomplete: "off", onchange: ({ target }) => { plan[name] = target.value; onchange?.(); changed(); } }, values.map((value) => element("option", { value, selected: value === plan[name] }, label(value))));

function form() {
  const details = element("div", {});
  const target = slider("target", TARGETS, (value) => `±\u202f${averaged() ? number(Number((value * width()).toPrecision(4))) : share(value)}`);
  const fields = () => {
    const values = element("textarea", { rows: 4, dir: "auto", spellcheck: "false", oninput: (event) => { plan.values = [...new Set(event.target.value.split("\n").map((line) => line.trim()).filter(Boolean))]; changed(); } });
    values.value = plan.values.join("\n");
    const numeric = [element("div", { class: "controls" }, field("low", figureOf("low")), field("high", figureOf("high"))), field("estimate", select("estimate", ["mean", "distribution"], (value) => say(`planner.${value}`), fields))];
    details.replaceChildren(...(listed() ? [field("values", values)] : plan.kind === "number" ? numeric : []));
    target.update();
  };
  fields();
  return element("section", { class: "card" }, element("h2", {}, say("planner.question")),
    field("text", text(plan, "text", { placeholder: say("planner.example") })),
    field("kind", select("kind", KINDS, (kind) => say(`planner.kind_${kind}`), () => { plan.mechanism = "auto"; fields(); })), details,
    element("div", { class: "sliders" }, slider("epsilon", EPSILONS, (value) => `ε = ${number(value)}`).node, slider("n", COUNTS, (value) => number(value)).node, target.node, slider("prior", PRIORS, (value) => share(value, 0)).node),
    element("div", { id: "wrong" }),
    element("div", { class: "actions" }, element("button", { type: "button", onclick: add }, say("planner.add"))));
}

// The numbers.

const margins = responsive(element, ({ curve, chosen }, wide) => {
  const values = curve.margin.concat(curve.open ?? []).filter((value) => value > 0);
  return lines({
    lines: [{ points: curve.n.map((n, at) => [n, curve.margin[at]]), kind: "estimate" }, ...(curve.open ? [{ points: curve.n.map((n, at) => [n, curve.open[at]]), kind: "open" }] : [])],
    marks: [[plan.n, chosen.margin, "now"]], target: plan.target * width(), domain: [curve.n[0], curve.n.at(-1)], range: [Math.min(...values) * 0.8, Math.max(...values) * 1.2],
    log: true, width: wide, formatX: (value) => number(value), formatY: (value) => (averaged() ? number(value, 2) : share(value, value < 0.01 ? 1 : 0)), nameX: say("planner.people"), nameY: say("planner.margin"),
    title: say("planner.curve_title"), description: say("planner.curve_spoken", { n: plan.n, margin: measured(chosen.margin, measure()) }),
  });
});
const attack = responsive(element, ({ posterior: { curve, prior, low, high } }, wide) => {
  const line = (name) => curve.prior.map((value, at) => [value, curve[name][at]]);
  return lines({
    lines: [{ points: line("high"), kind: "estimate" }, { points: line("low"), kind: "estimate" }, { points: [[0.05, 0.05], [0.95, 0.95]], kind: "even" }], band: [line("high"), line("low")],
    marks: [[prior, low, "now"], [prior, high, "now"]], at: prior, domain: [0.05, 0.95], range: [0, 1], width: wide, height: 280,
    formatX: (value) => share(value, 0), formatY: (value) => share(value, 0), nameX: say("planner.before"), nameY: say("planner.after"), title: say("planner.attacker"), description: attacked({ posterior: { prior, low, high } }),
  });
});
const compared = responsive(element, ({ mechanisms, open, chosen }, wide) => {
  const rows = [...mechanisms, ...(open ? [open] : [])].map((one) => ({ label: nameOf(one), estimate: one.margin, said: `±\u202f${measured(one.margin, measure())}`, raw: null, odd: one.mechanism !== "open" && one.margin > 2 * chosen.margin }));
  const most = Math.min(Math.max(...rows.map(({ estimate }) => estimate)), 3 * chosen.margin);
  return dots({ rows, domain: [0, most * 1.05], ends: [0, most * 1.05], format: (value) => (averaged() ? number(value, 2) : share(value, most < 0.05 ? 1 : 0)), width: wide, title: say("planner.compare"), description: rows.map(({ label, said }) => `${label}: ${said}`).join("; ") });
});
const tables = { compare: dataTable("mechanisms", say("planner.compare")), needs: dataTable("people", say("planner.needs"), say("planner.needs")), curve: dataTable("margin", say("planner.curve_title")), belief: dataTable("beliefs", say("planner.attacker")) };
const [answer, findings, odds, belief] = ["p", "ul", "p", "p"].map((name) => element(name));

const attacked = ({ posterior: { prior, low, high } }) => say("planner.belief", { prior: share(prior, 0), low: share(low), high: share(high) });

function draw(found) {
  const { chosen, posterior } = found;
  const show = (value) => measured(value, measure(), 2);
  answer.className = "answer";
  answer.replaceChildren(say("planner.result", { n: plan.n, epsilon: number(plan.epsilon) }), " ", element("strong", { class: "number", id: "margin" }, `±\u202f${measured(chosen.margin, measure())}`), ` ${say(averaged() ? "planner.of_mean" : "planner.of_share")} `,
    chosen.needed === null ? say("planner.never", { target: measured(plan.target * width(), measure()) }) : say("planner.takes", { target: measured(plan.target * width(), measure()), needed: chosen.needed }));
  findings.className = "wrong";
  findings.replaceChildren(...found.findings.map((rule) => element("li", {}, say(`planner.${rule}`))));
  findings.hidden = !found.findings.length;
  const said = chosen.q === null ? null : [countOf(chosen.p), countOf(chosen.q)];
  odds.textContent = said ? say("planner.odds", { said: said[0].said, people: said[0].people, other: said[1].said, others: said[1].people }) : say("planner.factor", { factor: number(posterior.factor, 3) });
  belief.textContent = attacked(found);
  for (const chart of [margins, attack, compared]) chart.show(found);
  tables.compare.show([{ name: say("planner.mechanism"), key: "mechanism", show: (mechanism) => nameOf({ mechanism }) }, { name: say("planner.margin"), key: "margin", number: true, show }, { name: say("planner.needed"), key: "needed", number: true, show: number }, { name: say("planner.bits"), key: "bits", number: true, show: number }],
    [...found.mechanisms, ...(found.open ? [found.open] : [])]);
  tables.needs.show([{ name: "ε", key: "epsilon", number: true, show: number }, { name: say("planner.needed"), key: "n", number: true, show: number }], found.needs);
  tables.curve.show([{ name: say("planner.people"), key: "n", number: true, show: number }, { name: say("planner.margin"), key: "margin", number: true, show }], found.curve.n.map((n, at) => ({ n, margin: found.curve.margin[at] })));
  tables.belief.show(["prior", "low", "high"].map((key) => ({ name: say(`planner.table_${key}`), key, number: true, show: (value) => share(value) })), posterior.curve.prior.map((prior, at) => ({ prior, low: posterior.curve.low[at], high: posterior.curve.high[at] })));
  by.replaceChildren(...["auto", ...found.mechanisms.map(({ mechanism }) => mechanism)].map((value) => element("option", { value, selected: value === plan.mechanism }, nameOf({ mechanism: value }))));
}

const by = element("select", { autocomplete: "off", onchange: ({ target }) => { plan.mechanism = target.value; changed(); } });

// The survey.

const [made, file] = [element("ul", { class: "list" }), element("pre", { class: "yaml", id: "yaml", tabindex: 0 })];

function add() {
  const { kind, text: asked, low, high, estimate, max_bytes, mechanism, epsilon } = plan;
  survey.questions.push({ kind, text: asked.trim() || say("planner.example"), values: options(), low, high, estimate, max_bytes, mechanism, epsilon });
  drawSurvey();
  document.getElementById("survey").scrollIntoView({ behavior: "smooth", block: "nearest" });
}

/** The file as it would be saved. */
const written = () => yaml({ ...survey, title: survey.title.trim() || say("planner.untitled") });

function drawSurvey() {
  const total = survey.questions.reduce((sum, { epsilon }) => sum + epsilon, 0);
  made.replaceChildren(...survey.questions.map((question, at) => element("li", {}, element("span", {}, theirs(question.text), element("span", { class: "soft" }, ` ${say(`planner.kind_${question.kind}`)}, ε = ${number(question.epsilon)}`)),
    element("button", { type: "button", class: "plain", "aria-label": say("planner.remove_this", { text: question.text }), onclick: () => { survey.questions.splice(at, 1); drawSurvey(); } }, say("planner.remove")))));
  const empty = !survey.questions.length;
  put("total", empty ? say("planner.empty") : say("planner.total", { epsilon: number(Number(total.toPrecision(9))), factor: number(Math.exp(total), 3) }));
  file.textContent = empty ? "" : written();
  const name = `${slug(survey.title, "my-survey")}.yaml`;
  put("commands", `sotto survey check ${name}\nsotto serve ${name}`);
  file.hidden = empty;
  for (const button of document.querySelectorAll("#survey .actions button")) button.toggleAttribute("disabled", empty);
}

function surveyCard() {
  const minimum = element("input", { type: "number", min: 1, step: 1, value: "50", autocomplete: "off", oninput: ({ target }) => { survey.minimum = Math.max(1, Math.round(Number(target.value) || 1)); drawSurvey(); } });
  return element("section", { class: "card", id: "survey" }, element("h2", {}, say("planner.survey")), made, element("p", { id: "total" }),
    field("survey_title", text(survey, "title", { placeholder: say("planner.untitled"), maxlength: 200 })), field("contact", text(survey, "contact", { maxlength: 200 })), field("minimum", minimum, "planner.minimum_help"),
    element("div", { class: "actions" }, element("button", { type: "button", id: "save", onclick: () => save(`${slug(survey.title, "my-survey")}.yaml`, written(), "application/yaml") }, say("planner.save"))), file,
    element("p", { class: "soft" }, say("planner.then")), element("pre", { id: "commands" }));
}

const card = (key, ...parts) => element("section", { class: "card" }, element("h2", {}, say(key)), ...parts);

put("switch", switcher(element));
put("main", element("h1", {}, say("planner.title")), element("p", { class: "lead" }, say("planner.lead")),
  element("div", { class: "plan" }, element("div", { class: "side" }, form()),
    element("div", {}, card("planner.sharp", answer, findings, margins.place, element("p", { class: "legend" }, element("span", {}, element("span", { class: "key dot", "aria-hidden": "true" }), say("planner.legend_margin")), element("span", {}, element("span", { class: "key open", "aria-hidden": "true" }), say("planner.legend_open")), element("span", {}, element("span", { class: "key target", "aria-hidden": "true" }), say("planner.legend_target"))), tables.needs.node, tables.curve.node),
      card("planner.compare", element("label", { class: "inline" }, say("planner.mechanism"), " ", by), compared.place, tables.compare.node),
      card("planner.attacker", odds, belief, attack.place, tables.belief.node), surveyCard())));
drawSurvey();
ask();
