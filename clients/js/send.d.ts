/** Sending what a device made, until it is acknowledged. */

export interface Sending {
  /** How often to try; 8 unless given. */
  attempts?: number;
  /** Milliseconds until an attempt counts as failed; 10,000 unless given. */
  timeout?: number;
  /** In the place of the browser's or Node's own. */
  fetch?: typeof globalThis.fetch;
  /** How to wait for so many milliseconds, for tests. */
  sleep?: (milliseconds: number) => Promise<void>;
}

/** The collector refused; sending the same again would not help. */
export declare class Rejected extends Error {
  constructor(status: number, code: string, message: string);
  /** 0 for a redirect, which is not followed. */
  readonly status: number;
  readonly code: string;
}

/** No acknowledgement came. It may have arrived all the same: send the same text again later. */
export declare class Undelivered extends Error {
  constructor(message: string);
}

/**
 * Send a submission to a survey at `url`, such as https://host/v1/surveys/sleep, or the bytes of an envelope to the
 * address of a shuffler, until it is acknowledged.
 */
export declare function send(
  url: string,
  body: string | Uint8Array,
  options?: Sending & { invitation?: string },
): Promise<{ accepted: number; duplicates: number }>;

/** The text of the published survey at `url`. */
export declare function fetchSurvey(url: string, options?: Sending): Promise<string>;
