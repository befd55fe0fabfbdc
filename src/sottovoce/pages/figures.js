/** One question of the results: a card with its charts and tables, which is filled anew with every event. */

import { dots, histogram, lines, responsive } from "./charts.js";
import { element, theirs } from "./elements.js";
import { between, digitsFor, duration, measured, share } from "./number-format.js";
import { has, number, say } from "./language.js";
import { dataTable } from "./table.js";

const MOST_ROWS = 25;
/** A table of so few rows is open at first. */
const MOST_OPEN_ROWS = 8;

/** The rows of a question as objects, with the interval of a kind; of another kind if there is none of this. */
export function rowsOf({ rows, measure, impossible }, kind) {
  const used = rows[kind] ? kind : "population";
  const error = used === "respondents" ? rows.stderr : rows.population_stderr;
  return rows.labels.map((label, at) => ({
    label: measure === "mean" ? say("figures.mean") : label,
    estimate: rows.estimate[at], stderr: error[at], low: rows[used][0][at], high: rows[used][1][at],
    raw: rows.raw?.[at] ?? null, odd: impossible.includes(label),
  }));
}

/** What a mechanism is called. */
export const nameOf = ({ mechanism }) => (has(`mechanism.${mechanism}`) ? say(`mechanism.${mechanism}`) : mechanism);

/** The kind of interval that is really shown. */
export const usedKind = ({ rows }, kind) => (rows[kind] ? kind : "population");

/** What an axis must hold: all that can be, or the part of it that the intervals reach, in steps that seldom change. */
export function domainOf(rows, { measure }, { low, high }) {
  const lows = rows.map((row) => Math.min(row.low, row.raw ?? row.low));
  const highs = rows.map((row) => Math.max(row.high, row.raw ?? row.high));
  const [least, most] = [Math.min(...lows), Math.max(...highs)];
  if (measure === "mean") return [Math.min(low, least), Math.max(high, most)];
  const top = [0.1, 0.2, 0.5, 1].find((end) => most <= end) ?? Math.min(Math.ceil(most * 5) / 5, 3);
  return [least < -0.005 ? Math.max(Math.floor(least * 10) / 10, -2) : 0, top];
}

/** A sentence for each of the first rows, for those who do not see the chart. */
const described = (rows, measure) =>
  rows.slice(0, 8).map(({ label, estimate, low, high }) =>
    say("figures.spoken", { label, estimate: measured(estimate, measure), interval: between(low, high, measure) })).join(" ") +
  (rows.length > 8 ? ` ${say("figures.rest", { n: rows.length - 8 })}` : "");

function drawDots({ question, rows, state }, width) {
  const { measure } = state;
  const most = [...rows].sort((a, b) => b.estimate - a.estimate).slice(0, MOST_ROWS);
  const shown = rows.length > MOST_ROWS ? most : rows;
  const digits = digitsFor(Math.min(...rows.map(({ stderr }) => stderr)));
  return dots({
    rows: shown.map((row) => ({ ...row, said: measured(row.estimate, measure, digits), tip: `${row.label}: ${measured(row.estimate, measure, digits)} (${between(row.low, row.high, measure, digits)})` })),
    domain: domainOf(shown, state, question), ends: measure === "mean" ? [question.low, question.high] : [0, 1],
    format: (value) => (measure === "mean" ? number(value) : share(value, 0)), width,
    title: say("figures.dots_title", { question: question.text }), description: described(shown, measure),
  });
}

function drawHistogram({ question, rows, state }, width) {
  const { edges, rows: { labels } } = state;
  const count = rows.length;
  const marks = edges ? edges.map((edge, at) => ({ at, label: number(edge) })) : labels.map((label, at) => ({ at: at + 0.5, label }));
  const every = Math.ceil(marks.length / Math.max(2, Math.floor(width / 90)));
  return histogram({
    shares: rows.map(({ estimate }) => estimate), low: rows.map(({ low }) => low), high: rows.map(({ high }) => high),
    raw: state.rows.raw, places: marks.filter((_, at) => at % every === 0), format: (value) => share(value, 0), width,
    title: say("figures.histogram_title", { question: question.text }),
    description: `${say("figures.bins", { n: count })} ${described([...rows].sort((a, b) => b.estimate - a.estimate), "frequency")}`,
  });
}

/** Cumulative shares with the quantiles. Noise may make them fall: they are drawn as they are. */
function drawCumulative({ question, rows, state }, width) {
  const { edges, quantiles } = state;
  let total = 0;
  const sums = rows.map(({ estimate }) => (total += estimate));
  const ends = edges ?? rows.map((_, at) => at).concat(rows.length);
  const points = [[ends[0], 0], ...sums.map((sum, at) => [ends[at + 1], sum])];
  const place = (value) => (edges ? value : placeOf(rows, value));
  return lines({
    lines: [{ points, kind: "estimate" }], marks: quantiles.map(({ q, value }) => [place(value), q, "mark"]),
    domain: [ends[0], ends.at(-1)], range: [Math.min(0, ...sums), Math.max(1, ...sums)], width, height: 220,
    formatX: (value) => (edges ? number(value) : rows[Math.min(Math.floor(value), rows.length - 1)]?.label ?? ""), formatY: (value) => share(value, 0),
    nameX: "", nameY: say("figures.cumulative"), title: say("figures.cumulative_title", { question: question.text }),
    description: quantiles.map((one) => say("figures.quantile", { q: share(one.q, 0), value: shown(one.value), interval: say("format.between", { low: shown(one.low), high: shown(one.high) }) })).join(" "),
  });
}

const shown = (value) => (typeof value === "number" ? number(value, 3) : value);

/** Where an ordered value ends among rows that may stand for ranges of whole numbers, such as "20 .. 24". */
function placeOf(rows, value) {
  for (const [at, { label }] of rows.entries()) {
    const [first, last] = label.includes(" .. ") ? label.split(" .. ").map(Number) : [label, label];
    if (first === value) return at + 1 / (last - first + 1 || 1);
    if (first <= Number(value) && Number(value) <= last) return at + (Number(value) - first + 1) / (last - first + 1);
  }
  return rows.length;
}

/** Half the width of the widest interval, over the number of reports: expected, seen, wanted. */
function drawWidth({ state, kind, target, seen, question }, width) {
  const { curve, n, measure } = state;
  const half = curve[kind] ?? curve.population;
  const points = curve.n.map((count, at) => [count, half[at]]).filter(([, value]) => value > 0);
  const now = points.reduce((best, point) => (Math.abs(Math.log(point[0] / n)) < Math.abs(Math.log(best[0] / n)) ? point : best));
  const values = points.map(([, value]) => value);
  return lines({
    lines: [{ points, kind: "estimate" }], marks: [...seen.map(([count, value]) => [count, value]), [n, now[1], "now"]],
    target, domain: [points[0][0], points.at(-1)[0]], range: [Math.min(target, ...values) * 0.8, Math.max(target, ...values) * 1.2], log: true, width, height: 210,
    formatX: (value) => number(value), formatY: (value) => (measure === "mean" ? number(value, 2) : share(value, value < 0.01 ? 1 : 0)),
    nameX: say("figures.reports"), nameY: say("figures.half"), title: say("figures.width_title", { question: question.text }),
    description: say("figures.width_spoken", { n, half: measured(now[1], measure), target: measured(target, measure) }),
  });
}

/** How many reports the target takes, by the expected curve; nothing if it is farther than that goes. */
export function neededFor(curve, kind, target) {
  const half = curve[kind] ?? curve.population;
  const at = half.findIndex((value) => value <= target);
  if (at < 0) return null;
  if (!at) return curve.n[0];
  const part = Math.log(half[at - 1] / target) / Math.log(half[at - 1] / half[at]);
  return Math.ceil(curve.n[at - 1] * (curve.n[at] / curve.n[at - 1]) ** part);
}

function projection({ n, curve, measure }, kind, target, rate) {
  const needed = neededFor(curve, kind, target);
  const wanted = measured(target, measure);
  if (needed === null) return say("figures.far", { target: wanted });
  if (needed <= n) return say("figures.reached", { target: wanted, needed });
  const more = say("figures.needed", { target: wanted, needed });
  if (!rate) return more;
  const minutes = (needed - n) / rate;
  const when = minutes > 1440 ? "" : ` (${new Date(Date.now() + 60_000 * minutes).toLocaleTimeString(document.documentElement.lang, { hour: "2-digit", minute: "2-digit" })})`;
  return `${more} ${say("figures.finish", { rate: number(rate, 2), time: duration(minutes) })}${when}`;
}

const columns = ({ measure }) => {
  const show = (value) => measured(value, measure, 2);
  return [{ name: say("table.value"), key: "label" },
    ...["raw", "estimate", "stderr", "low", "high"].map((key) => ({ name: say(`table.${key}`), key, number: true, show }))];
};

/** The card of a question: `show` fills it with how things stand. */
export function questionCard(survey, question) {
  const main = responsive(element, (data, width) => ("quantiles" in data.state ? drawHistogram : drawDots)(data, width));
  const cumulative = responsive(element, drawCumulative);
  const progress = responsive(element, drawWidth);
  const [lead, note, legend, outlook, quantiles] = ["p", "p", "p", "p", "div"].map((name) => element(name));
  const table = dataTable(`${survey.id}-${question.id}`, question.text);
  const widths = dataTable(`${survey.id}-${question.id}-width`, say("figures.width_title", { question: question.text }), say("table.widths"));
  const numeric = question.kind === "number" && question.estimate === "mean";
  const target = element("input", { type: "number", min: 0, step: "any", value: String(numeric ? (question.high - question.low) / 20 : 5), inputmode: "decimal", oninput: () => last && show(last.state, last.kind, last.rate) });
  const seen = [];
  let [last, started] = [null, false];

  const wanted = () => {
    const value = Number(target.value);
    return value > 0 ? (numeric ? value : value / 100) : numeric ? (question.high - question.low) / 20 : 0.05;
  };
  const figure = element("div", { class: "two" },
    element("div", {}, main.place, legend, cumulative.place, quantiles, table.node),
    element("details", { class: "progress", open: innerWidth > 900 }, element("summary", {}, say("figures.progress")),
      element("label", { class: "inline" }, say(numeric ? "figures.target_number" : "figures.target"), " ", target),
      outlook, progress.place, widths.node));
  const node = element("section", { class: "card figure", id: `question-${question.id}` },
    element("h2", {}, theirs(question.text)), lead, note, figure);

  function show(state, kind, rate) {
    last = { state, kind, rate };
    lead.className = "soft";
    lead.textContent = say("figures.lead", { n: state.n, epsilon: number(question.epsilon, 4), mechanism: nameOf(question) });
    const withheld = state.withheld;
    note.hidden = !withheld && !state.impossible.length;
    figure.hidden = Boolean(withheld);
    note.className = withheld ? "note" : "note bad";
    if (withheld) {
      note.textContent = withheld === "minimum" ? say("figures.minimum", { n: state.n, minimum: survey.minimum }) : withheld;
      return;
    }
    note.textContent = state.impossible.length ? say("figures.impossible", { labels: state.impossible.slice(0, 5).join(", ") }) : "";
    const rows = rowsOf(state, kind);
    const used = usedKind(state, kind);
    main.show({ question, rows, state });
    legend.className = "legend";
    legend.replaceChildren(...legendOf(state, used, kind, survey.level));
    cumulative.place.hidden = !state.quantiles;
    if (state.quantiles) cumulative.show({ question, rows, state });
    quantiles.replaceChildren(...(state.quantiles ? [quantileList(state)] : []));
    table.show(columns(state), rows);
    if (!started && rows.length <= MOST_OPEN_ROWS) table.node.open = innerWidth > 900;
    started = true;
    const half = Math.max(...rows.map(({ low, high }) => high - low)) / 2;
    if (seen.at(-1)?.[0] !== state.n) seen.push([state.n, half]);
    outlook.textContent = projection(state, used, wanted(), rate);
    progress.show({ state, kind: used, target: wanted(), seen: seen.slice(-200), question });
    widths.show([{ name: say("figures.reports"), key: "n", number: true, show: number }, { name: say("figures.half"), key: "half", number: true, show: (value) => measured(value, state.measure, 2) }],
      state.curve.n.map((n, at) => ({ n, half: (state.curve[used] ?? state.curve.population)[at] })));
  }
  return { node, show };
}

function legendOf({ rows, quantiles, more }, used, kind, level) {
  const entry = (key, ...text) => element("span", {}, key && element("span", { class: `key ${key}`, "aria-hidden": "true" }), ...text);
  return [
    entry(quantiles ? "block" : "dot", say(`figures.legend_${used}`, { level: share(level, 0) })),
    rows.raw && entry(quantiles ? "line" : "raw", say("figures.legend_raw")),
    used !== kind && entry("", element("strong", {}, say("figures.not_anytime"))),
    (more > 0 || rows.labels.length > MOST_ROWS) && entry("", say("figures.most", { shown: Math.min(MOST_ROWS, rows.labels.length), all: rows.labels.length + more })),
  ].filter(Boolean);
}

function quantileList({ quantiles, mean }) {
  const line = (name, value, low, high) => [element("dt", {}, name), element("dd", { class: "number" }, `${shown(value)} (${say("format.between", { low: shown(low), high: shown(high) })})`)];
  return element("dl", { class: "pairs" },
    mean && line(say("figures.mean"), mean.value, mean.value - 1.96 * mean.stderr, mean.value + 1.96 * mean.stderr),
    quantiles.map(({ q, value, low, high }) => line(say("figures.up_to", { q: share(q, 0) }), value, low, high)));
}
