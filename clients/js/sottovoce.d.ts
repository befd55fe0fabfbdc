/** Sottovoce for browsers and Node: exact local differential privacy on the device of the person who answers. */

/** A report: a whole number (a bigint from 2^53 on), or bytes that hold bits. */
export type Report = number | bigint | Uint8Array;
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

export declare class SottovoceError extends Error {}
/** A mechanism or a survey asks for something impossible. */
export declare class ParameterError extends SottovoceError {}
/** An answer lies outside its domain, or is missing where that is refused. */
export declare class DomainError extends SottovoceError {}
/** A report could not have come from the mechanism it is for. */
export declare class ReportError extends SottovoceError {}
/** A device will not answer: the survey is not what was pinned, has expired, or costs more than is left. */
export declare class Refusal extends SottovoceError {}
/** What a device remembers cannot be read or written. */
export declare class StoreError extends SottovoceError {}

/** Random bits from crypto.getRandomValues. Only tests have reason to override `draw`. */
export declare class Source {
  /** A whole number, uniform over 0 .. 2^53 - 1. */
  draw(): number;
  /** The source for one purpose (cohort, permanent, instantaneous), and for the value of this name; here, itself. */
  role(name: string, code?: number | string): Source;
  /** True with probability p, a multiple of 2^-53. */
  coin(p: number): boolean;
  /** A whole number, uniform over 0 .. k - 1. */
  below(k: number): number;
  /** The draws of one role: here the same for all of them, under a personal key each role has its own. */
  role(name: string, code?: number | string): Source;
  /** How a memory names what it remembers: here as it is, under a personal key so that nobody can tell. */
  hide(name: string): string;
}

/** The 32 bytes of the SHA-256 digest of some bytes, at once: inside a transaction nothing can be waited for. */
export declare function sha256(data: Uint8Array): Uint8Array;

/** Where draws and ids come from instead of crypto.getRandomValues: see "sottovoce/personal-key". */
export interface DrawKey {
  source(digest: string, question: string, wave: number, answer: unknown): Source;
  reportId(digest: string, wave: number): string;
  /** A name by which a store knows the key again. */
  name(digest: string): string;
  /** The secret itself. */
  toText(): string;
}

export interface Step {
  report: Report;
  /** What this report adds to the person's loss. */
  epsilon: number;
  /** What to give to the next step, if the mechanism remembers. */
  memory?: Json;
}

/** A randomizer for one answer. */
export declare class Mechanism {
  constructor(data: Json);
  readonly name: string;
  /** What one report costs, recomputed from the exact probabilities and rounded up. */
  readonly epsilon: number;
  /** Bits in a report. */
  readonly bits: number;
  /** How many bits a report holds; undefined if it is a number. */
  readonly length?: number;
  /** How many reports there are, if they are numbers. */
  readonly outcomes?: number | bigint;
  /** The code of an answer, or a DomainError. */
  encode(value: unknown, source?: Source): any;
  randomize(value: unknown, source?: Source): Report;
  /**
   * Which wave it is, counted from 0, matters to mechanisms that count them; if nothing is said, it is the next. Answers
   * are remembered under what `hide` makes of the names of their values.
   */
  step(value: unknown, memory?: Json, source?: Source, wave?: number, hide?: (name: string) => string): Step;
}

/** A mechanism from its written form. One that claims another cost than its own is refused. */
export declare function mechanism(data: Json): Mechanism;

/** The natural logarithm of n / d, for n >= d > 0, rounded up to a double. */
export declare function logAbove(n: bigint, d: bigint): number;

/** Canonical JSON by RFC 8785. */
export declare function dumps(value: Json): string;
/** A value from JSON that has one reading. */
export declare function loads(data: string | Uint8Array): Json;

export interface Question {
  readonly id: string;
  readonly text: string;
  readonly kind: "yes_no" | "choice" | "multiple" | "ordered" | "number" | "text";
  readonly epsilon: number;
  readonly mechanism: Mechanism;
  readonly [field: string]: unknown;
}

export interface Covariate {
  readonly id: string;
  readonly text?: string;
  readonly values: readonly string[];
}

/** A published survey: checked, its costs recomputed, known by its digest. */
export declare class Survey {
  /** From the text or the bytes of JSON, or from what JSON.parse gives. */
  constructor(given: string | Uint8Array | object);
  readonly id: string;
  readonly title: string;
  readonly description?: string;
  readonly contact?: string;
  readonly trust: "local" | "shuffle" | "federated" | "central";
  /** How reports are sealed and mixed; taken only if the module "sottovoce/seal" is loaded. */
  readonly shuffle?: {
    readonly analyst: string;
    readonly shuffler: string;
    readonly address: string;
    readonly minimum: number;
    readonly honest: number;
    readonly delta: number;
  };
  readonly budget: number;
  readonly minimum: number;
  readonly expires: Date | null;
  readonly waves: number;
  readonly questions: readonly Question[];
  readonly covariates: readonly Covariate[];
  /** What all questions and all waves may cost a person, rounded up. */
  readonly epsilon: number;
  readonly canonical: string;
  /** "sha256:" and 64 hexadecimal digits. */
  readonly digest: string;
  /** Fields that "sottovoce/seal" knows, and its check of them. */
  static more: string;
  static also: (data: object) => void;
}

export interface Submission {
  id: string;
  survey: string;
  wave: number;
  reports: { [question: string]: Report | null };
  covariates: { [covariate: string]: string };
}

/** The text that is sent; its bytes are those of UTF-8. */
export declare function encode(submission: Submission): string;

/** Where a device keeps what it remembers: one value that can be cloned. */
export interface Store {
  /**
   * Call `change` with the value (undefined at first), once and with no other change in between. Keep the first of what
   * it gives, and hand out the second when the first is safe. If it throws, keep nothing.
   */
  update<T>(change: (state: any) => [state: any, result: T]): Promise<T>;
}

/** In the browser's database, shared by all pages of one origin. */
export declare class IndexedStore implements Store {
  constructor(name?: string);
  update<T>(change: (state: any) => [state: any, result: T]): Promise<T>;
}

/** In memory, until the program ends: for tests, and for programs that keep `state` themselves. */
export declare class MemoryStore implements Store {
  constructor(state?: unknown);
  state: unknown;
  update<T>(change: (state: any) => [state: any, result: T]): Promise<T>;
}

export interface Charge {
  at: string;
  survey: string;
  wave: number;
  question: string;
  epsilon: number;
}

export interface Review {
  survey: Survey;
  /** The most that the next wave of each question costs, with what is owed for permanent answers that were not sent. */
  costs: { [question: string]: number };
  /** The least that the next wave costs in all: where something is remembered, a value held before costs nothing more. */
  least: number;
  /** The most that all waves cost together. */
  epsilon: number;
  left: number;
  /** Why the survey would not be answered, or null. If only new values cost more than is left, it is null. */
  refusal: string | null;
}

/** A survey, or what one can be made of. */
export type Given = Survey | string | Uint8Array | object;

export interface Options {
  wave?: number;
  covariates?: { [covariate: string]: string };
}

/** A person's device: it answers surveys from a durable store, within the person's budget. */
export declare class Respondent {
  /** All draws follow from it, if there is one. A page sets it when a person brings one. */
  key?: DrawKey;
  /**
   * The store is an IndexedStore unless one is given; the budget, 10 unless given, is set when the store is new. With a
   * key all draws follow from it.
   */
  constructor(options?: {
    store?: Store;
    budget?: number;
    key?: DrawKey;
    pins?: { [survey: string]: string };
    clock?: () => Date;
  });
  /** What the survey would cost and whether it would be answered. Nothing is drawn, charged or pinned. */
  review(survey: Given): Promise<Review>;
  /**
   * The very text that `answer` will give in this wave, whatever the answers are by then: with it they are final. It is
   * drawn and kept, but not charged.
   */
  preview(survey: Given, answers: { [question: string]: unknown }, options?: Options): Promise<string>;
  /** The text to send: randomized, charged and kept before it is handed out. A wave is answered once. */
  answer(survey: Given, answers: { [question: string]: unknown }, options?: Options): Promise<string>;
  /** What has been spent, on what and when. */
  ledger(): Promise<{ budget: number; spent: number; left: number; charges: Charge[] }>;
  /** The owner's decision, never a survey's. */
  setBudget(budget: number): Promise<void>;
}
