/**
 * Charts as SVG, drawn for the width that there is. Each has a title and a description for those who do not see it, and
 * no style of its own: colours come from the style sheet by classes.
 */

import { svg } from "./elements.js";

let count = 0;
const canvas = document.createElement("canvas").getContext("2d");

function measure(text, size) {
  canvas.font = `${size}px system-ui, sans-serif`;
  return canvas.measureText(text).width * 1.03;
}

/** Text that fits into so many pixels, cut if it must be. */
export function fitted(text, pixels, size = 13) {
  if (measure(text, size) <= pixels) return text;
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (measure(`${text.slice(0, middle)}…`, size) <= pixels) low = middle;
    else high = middle - 1;
  }
  return `${[...text.slice(0, low)].filter((letter) => letter.isWellFormed?.() ?? true).join("").trimEnd()}…`;
}

function frame(width, height, title, description, ...children) {
  const id = `chart-${count++}`;
  return svg("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-labelledby": `${id} ${id}-desc` },
    svg("title", { id }, title), svg("desc", { id: `${id}-desc` }, description), ...children);
}

/** Round numbers from a to b, about so many. */
export function ticks(a, b, about = 5) {
  const raw = (b - a) / about || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((part) => part * power).find((size) => size >= raw * 0.999);
  const made = [];
  for (let at = Math.ceil(a / step - 1e-9); at * step <= b + step * 1e-9; at++) made.push(Number((at * step).toPrecision(12)));
  return made;
}

/** The powers of ten, and what is between where there is room. */
function logTicks(a, b) {
  const made = [];
  for (let power = Math.floor(Math.log10(a)); power <= Math.ceil(Math.log10(b)); power++)
    for (const part of Math.log10(b / a) > 3 ? [1] : [1, 2, 5]) made.push(Number((part * 10 ** power).toPrecision(12)));
  return made.filter((tick) => tick >= a * 0.999 && tick <= b * 1.001);
}

/** @type {(domain: number[], ends: number[]) => (value: number) => number} */
const linear = ([a, b], [from, to]) => (value) => from + ((value - a) / (b - a || 1)) * (to - from);
/** @type {(domain: number[], ends: number[]) => (value: number) => number} */
const logarithmic = ([a, b], ends) => {
  const scale = linear([Math.log(a), Math.log(b)], ends);
  return (value) => scale(Math.log(value));
};
const clamp = (value, [a, b]) => Math.min(Math.max(value, a), b);

const axis = (scale, marks, y, format) =>
  marks.flatMap((mark) => [
    svg("line", { class: "grid", x1: scale(mark), x2: scale(mark), y1: 0, y2: y }),
    svg("text", { class: "tick", x: scale(mark), y: y + 16, "text-anchor": "middle" }, format(mark)),
  ]);

/**
 * A dot and its interval for each row, and what was sent as a diamond. Rows are `{ label, estimate, low, high, raw, odd }`;
 * `ends` is what can be, and beyond it the ground is shaded.
 */
export function dots({ rows, domain, ends, format, title, description, width, large = false }) {
  const [step, size] = large ? [64, 22] : [40, 14];
  const longest = Math.max(...rows.map(({ label }) => measure(label, size))) + 14;
  const beside = width > 480 ? Math.min(longest, width * 0.4) : 0;
  const after = Math.max(0, ...rows.map(({ said }) => (said ? measure(said, size) + 18 : 0)));
  const height = rows.length * (beside ? step : step + size + 2);
  const inner = [beside + 12, width - (large ? 40 : 24) - (beside ? after : 0)];
  const x = linear(domain, inner);
  const edge = (value) => clamp(x(value), [inner[0] - 4, inner[1] + 4]);
  const beyond = [[domain[0], ends[0]], [ends[1], domain[1]]].filter(([a, b]) => b > a + 1e-9);
  const drawn = rows.map((row, at) => {
    const top = at * (beside ? step : step + size + 2);
    const y = beside ? top + step / 2 : top + size + 4 + step / 2;
    const label = fitted(row.label, beside ? beside - 4 : width - after, size);
    return svg("g", { class: row.odd ? "row odd" : "row" },
      svg("title", {}, row.tip ?? row.label),
      svg("text", { class: "label", x: beside ? beside - 4 : 0, y: beside ? y + size * 0.35 : top + size + 2, "text-anchor": beside ? "end" : "start", "font-size": size }, label),
      row.said && svg("text", { class: "label said", x: width - 4, y: beside ? y + size * 0.35 : top + size + 2, "text-anchor": "end", "font-size": size }, row.said),
      svg("line", { class: "track", x1: inner[0], x2: inner[1], y1: y, y2: y }),
      row.low !== undefined && [
        svg("line", { class: "interval", x1: edge(row.low), x2: edge(row.high), y1: y, y2: y }),
        ...[row.low, row.high].filter((end) => end >= domain[0] && end <= domain[1])
          .map((end) => svg("line", { class: "interval", x1: x(end), x2: x(end), y1: y - 5, y2: y + 5 }))],
      row.raw !== undefined && row.raw !== null && svg("path", { class: "raw", d: `M${edge(row.raw)} ${y - 6}l6 6l-6 6l-6 -6z` }),
      row.estimate !== undefined && svg("circle", { class: "dot", cx: edge(row.estimate), cy: y, r: large ? 9 : 5.5 }));
  });
  return frame(width, height + 24, title, description,
    beyond.map(([a, b]) => svg("rect", { class: "beyond", x: x(a), width: x(b) - x(a), y: 0, height })),
    axis(x, ticks(...domain, Math.max(2, Math.floor((inner[1] - inner[0]) / 90))), height, format), drawn);
}

/** Bars from zero for each row, for counts. */
export function bars({ rows, most, format, title, description, width, large = false }) {
  const [step, size] = large ? [74, 24] : [40, 13];
  const x = linear([0, most || 1], [0, width - (large ? 130 : 70)]);
  return frame(width, rows.length * (step + size), title, description,
    rows.map(({ label, value }, at) => {
      const y = at * (step + size) + size + 8;
      return svg("g", {},
        svg("text", { class: "label", x: 0, y: y - 6, "font-size": size }, fitted(label, width, size)),
        svg("rect", { class: "bar", x: 0, y, width: Math.max(x(value), 1), height: step - 22, rx: 4 }),
        svg("text", { class: "label strong", x: x(value) + 10, y: y + (step - 22) / 2 + size * 0.36, "font-size": size }, format(value)));
    }));
}

/**
 * Lines over a number: `lines` are `{ points: [[x, y]], kind }`, `marks` single points, `target` a level to reach, `at` an
 * x of note. Axes are logarithmic if `log` says so.
 */
export function lines({ lines: drawn, marks = [], target = null, at = null, domain, range, log = false, formatX, formatY, nameX, nameY, title, description, width, height = 260, band = null }) {
  const left = 56;
  const ends = [[left, width - 20], [height - 46, 26]];
  const scale = log ? logarithmic : linear;
  const [x, y] = [scale(domain, ends[0]), scale(range, ends[1])];
  const [marksX, marksY] = log ? [logTicks(...domain), logTicks(...range)] : [ticks(...domain, Math.max(3, width / 110)), ticks(...range)];
  const inside = ([a, b]) => `${x(clamp(a, domain)).toFixed(1)} ${y(clamp(b, range)).toFixed(1)}`;
  const path = (points) => `M${points.map(inside).join("L")}`;
  const room = Math.max(1, Math.ceil((marksX.length * 58) / (ends[0][1] - left)));
  return frame(width, height, title, description,
    marksX.map((tick) => svg("line", { class: "grid", x1: x(tick), x2: x(tick), y1: ends[1][1], y2: ends[1][0] })),
    marksY.map((tick) => svg("line", { class: "grid", x1: left, x2: width - 20, y1: y(tick), y2: y(tick) })),
    marksX.filter((_, place) => place % room === 0).map((tick) => svg("text", { class: "tick", x: x(tick), y: height - 30, "text-anchor": x(tick) > width - 40 ? "end" : "middle" }, formatX(tick))),
    marksY.map((tick) => svg("text", { class: "tick", x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, formatY(tick))),
    svg("text", { class: "tick strong", x: width - 20, y: height - 8, "text-anchor": "end" }, nameX),
    svg("text", { class: "tick strong", x: 0, y: 13 }, nameY),
    band && svg("path", { class: "band", d: `${path(band[0])}L${[...band[1]].reverse().map(inside).join("L")}z` }),
    drawn.map(({ points, kind }) => svg("path", { class: `line ${kind}`, d: path(points) })),
    target !== undefined && svg("line", { class: "target", x1: left, x2: width - 20, y1: y(clamp(target, range)), y2: y(clamp(target, range)) }),
    at !== undefined && svg("line", { class: "here", x1: x(clamp(at, domain)), x2: x(clamp(at, domain)), y1: ends[1][1], y2: ends[1][0] }),
    marks.map(([a, b, kind = "mark"]) => svg("circle", { class: kind, cx: x(clamp(a, domain)), cy: y(clamp(b, range)), r: kind === "now" ? 6 : 3 })));
}

/** Bars side by side with their intervals, and what was sent as a line. `places` are labels below some of the bars. */
export function histogram({ shares, low, high, raw, places, format, title, description, width, height = 240 }) {
  const left = 48;
  const most = Math.max(0.01, ...high, ...(raw ?? [])) * 1.05;
  const least = Math.min(0, ...low) * 1.05;
  const y = linear([least, most], [height - 34, 10]);
  const step = (width - left - 8) / shares.length;
  const x = (at) => left + at * step;
  const thin = Math.min(step * 0.16, 4);
  return frame(width, height, title, description,
    ticks(least, most, 4).flatMap((tick) => [
      svg("line", { class: "grid", x1: left, x2: width - 8, y1: y(tick), y2: y(tick) }),
      svg("text", { class: "tick", x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, format(tick))]),
    shares.map((share, at) => svg("rect", { class: "bar", x: x(at) + step * 0.1, width: step * 0.8, y: Math.min(y(share), y(0)), height: Math.abs(y(share) - y(0)) })),
    shares.map((_, at) => svg("path", { class: "interval", d: `M${x(at + 0.5)} ${y(low[at])}V${y(high[at])}M${x(at + 0.5) - thin} ${y(low[at])}h${2 * thin}M${x(at + 0.5) - thin} ${y(high[at])}h${2 * thin}` })),
    raw && svg("path", { class: "line raw", d: `M${raw.map((share, at) => `${x(at)} ${y(share)}H${x(at + 1)}`).join("L")}` }),
    places.map(({ at, label, anchor = "middle" }) => svg("text", { class: "tick", x: x(at), y: height - 12, "text-anchor": anchor }, fitted(label, 120, 12))));
}

/** An element that draws anew whenever there is another width, and when it is told to. */
export function responsive(element, draw) {
  const place = element("div", { class: "drawing" });
  let [known, wanted] = [0, null];
  const again = () => {
    if (wanted && known) place.replaceChildren(draw(wanted, known) ?? "");
  };
  new ResizeObserver(([entry]) => {
    const width = Math.floor(entry.contentRect.width);
    if (width && width !== known) {
      known = width;
      again();
    }
  }).observe(place);
  return { place, show(data) { wanted = data; again(); } };
}
