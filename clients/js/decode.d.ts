import type { Mechanism, Report, Submission, Survey } from "./sottovoce.js";

/** The submission in a text or its bytes. Whatever the survey does not allow is refused as a whole. */
export declare function decode(data: string | Uint8Array, survey: Survey): Submission;
/** A report, or an error if it cannot be one of a mechanism. */
export declare function checkReport(mechanism: Mechanism, report: unknown): Report;
