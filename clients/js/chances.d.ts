/** What a report tells: how likely it speaks for the answer it was made of, and for which values it speaks. */

import type { Json, Report } from "./sottovoce.js";

/** How many values a domain in its written form has, with that of no answer. */
export declare function sizeOf(domain: { values: number | readonly unknown[]; missing?: string }): number;

/** The chance p that a report speaks for its answer, and q for another; null for mechanisms of another shape. */
export declare function chances(written: Json): { p: number; q: number } | null;

/** Whether a report speaks for the value with a code; null if that is not known, or takes too long. */
export declare function supporter(written: Json, report: Report | string): ((code: number) => boolean) | null;
