/** A personal key: 256 secret bits from which a person's draws follow, on any device and after lost storage. */

import type { DrawKey, Source } from "./sottovoce.js";

/** HMAC with SHA-256, for keys of at most 64 bytes. */
export declare function hmac(key: Uint8Array, data: Uint8Array): Uint8Array;

/** The one spelling of an answer for deriving draws: canonical JSON, and `null` for a missing answer. */
export declare function answerText(answer: unknown): string;

/** The secret of one person, for all surveys. Who has it and the reports can take the noise off. */
export declare class PersonalKey implements DrawKey {
  /** From 32 bytes. */
  constructor(bytes: Uint8Array);
  static generate(): PersonalKey;
  /** From `sottovoce-key:1:` and 43 characters of base64url. */
  static fromText(text: string): PersonalKey;
  /** The secret itself. */
  toText(): string;
  /** The key for one survey, by its digest. */
  forSurvey(digest: string): SurveyKey;
  source(digest: string, question: string, wave: number, answer: unknown): Source;
  reportId(digest: string, wave: number): string;
  name(digest: string): string;
}

/** A person's key for one published survey: all that a page of that survey is given. */
export declare class SurveyKey implements DrawKey {
  readonly digest: string;
  /** From 32 bytes. */
  constructor(bytes: Uint8Array, digest: string);
  /** A key for one survey that belongs to no personal key. */
  static generate(digest: string): SurveyKey;
  /** From 43 characters of base64url. */
  static fromText(text: string, digest: string): SurveyKey;
  /** The secret itself, for the fragment `#key=...` of the address of the survey's page. */
  toText(): string;
  source(digest: string, question: string, wave: number, answer: unknown): Source;
  reportId(digest: string, wave: number): string;
  /** A name by which a store knows the key again. The key does not follow from it. */
  name(digest: string): string;
}
