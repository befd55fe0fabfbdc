/** The other way: submissions that come in, checked. A device has no use for it, and `sottovoce.js` leaves it out. */

import { loads } from "./canonical.js";
import { isWhole } from "./checks.js";
import { demand, ReportError, SottovoceError, within } from "./errors.js";
import { GRID } from "./exact.js";
import { checkCovariates, justThose, written } from "./wire.js";

const need = (holds, rule, value) => demand(ReportError, holds, rule, value);

/** The submission in a text or its bytes. Whatever the survey does not allow is refused as a whole. */
export function decode(data, survey) {
  const document = parse(data);
  justThose(document, ["covariates", "id", "reports", "survey", "wave"].map((id) => ({ id })));
  const { id, wave, reports, covariates } = document;
  need(typeof id === "string" && /^[0-9a-f]{32}$/.test(id), "an id must be 32 hexadecimal digits", id);
  need(document.survey === survey.digest, `the submission must be for ${survey.digest}`, document.survey);
  need(isWhole(wave, 0, survey.waves - 1), `a wave must be from 0 to ${survey.waves - 1}`, wave);
  justThose(reports, survey.questions);
  checkCovariates(covariates, survey);
  const read = {};
  for (const { id: name, mechanism } of survey.questions) {
    read[name] = within(name, () => parsed(mechanism, reports[name]));
  }
  return { id, survey: survey.digest, wave, reports: read, covariates };
}

function parse(data) {
  try {
    return loads(data);
  } catch (error) {
    throw error instanceof SottovoceError ? new ReportError(`a submission must be JSON: ${error.message}`) : error;
  }
}

/** A report as the mechanism takes it. It must be written the one way that `encode` writes it. */
function parsed(mechanism, text) {
  let report = text;
  if (typeof text === "string") {
    const pattern = mechanism.length ? /^[\w-]*$/ : /^[1-9]\d{15,400}$/;
    need(pattern.test(text), "a report must be base64url or a number", text);
    report = mechanism.length ? unbase64(text) : BigInt(text);
  }
  need(written(checkReport(mechanism, report)) === text, "a report must be written in its one form", text);
  return report;
}

function unbase64(text) {
  need(text.length % 4 !== 1, "a report must be base64url", text);
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (byte) => byte.charCodeAt(0));
}

/** A report, or an error if it cannot be one of a mechanism. */
export function checkReport(mechanism, report) {
  const { length, outcomes } = mechanism;
  const whole = typeof report === "bigint" ? report >= GRID : Number.isInteger(report);
  const fits = length ? isPacked(report, mechanism) : whole && report >= 0 && report < outcomes;
  return need(fits, `a report must be ${length ? `${length} bits` : `below ${outcomes}`}`, report);
}

/** Whether bytes hold so many bits and nothing beyond, the last of them a cohort if there are any. */
function isPacked(report, { length, cohorts = 1, wide = 0 }) {
  const sized = report instanceof Uint8Array && report.length === Math.ceil(length / 8);
  const bits = sized ? [...report].flatMap((byte) => [0, 1, 2, 3, 4, 5, 6, 7].map((at) => (byte >> at) & 1)) : [];
  const cohort = bits.slice(length - wide, length).reduceRight((sum, bit) => 2 * sum + bit, 0);
  return sized && !bits.slice(length).includes(1) && cohort < cohorts;
}
