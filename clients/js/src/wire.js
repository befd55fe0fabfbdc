/** The text that leaves a device, byte for byte that of Python. */

import { base64 } from "./bytes.js";
import { dumps, isObject } from "./canonical.js";
import { demand, ReportError } from "./errors.js";

/** Numbers as numbers, from 2^53 on as text, bits as base64url. */
export const written = (report) =>
  report instanceof Uint8Array ? base64(report) : typeof report === "bigint" ? String(report) : report;

/** The text of a submission { id, survey, wave, reports, covariates }. */
export function encode({ reports, ...rest }) {
  const texts = Object.entries(reports).map(([question, report]) => [question, written(report)]);
  return dumps({ ...rest, reports: Object.fromEntries(texts) });
}

/** An object with just the ids of some questions or covariates. */
export function justThose(given, asked) {
  const names = String(isObject(given) ? Object.keys(given).sort() : null);
  const ids = String(asked.map(({ id }) => id).sort());
  demand(ReportError, names === ids, `there must be just ${ids}`, names);
}

/** Public answers, each one of its listed values. */
export function checkCovariates(given, { covariates }) {
  justThose(given, covariates);
  for (const { id, values } of covariates) {
    demand(ReportError, values.includes(given[id]), `${id} must be one of its values`, given[id]);
  }
  return given;
}
