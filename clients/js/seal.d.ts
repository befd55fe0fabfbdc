/** Sealing reports for surveys with a shuffler. Loading it makes `Survey` take the field `shuffle`. */

import type { Given } from "./sottovoce.js";

/** The bytes to send to `survey.shuffle.address` + "/reports", with the type application/octet-stream. */
export declare function seal(survey: Given, body: string): Promise<Uint8Array>;

/** Bytes of the longest submission to a survey, to which all are padded. */
export declare function paddedLength(survey: object): number;

/** Bytes that sealing adds to a message. */
export declare const OVERHEAD: number;

/** A message sealed to a public key of 32 bytes by HPKE in base mode. */
export declare function sealTo(
  recipient: Uint8Array,
  message: Uint8Array,
  info: Uint8Array,
  options?: { extra?: Uint8Array; ephemeral?: Uint8Array },
): Promise<Uint8Array>;

/** What was sealed, by the private key of 32 bytes. */
export declare function openWith(
  key: Uint8Array,
  sealed: Uint8Array,
  info: Uint8Array,
  options?: { extra?: Uint8Array },
): Promise<Uint8Array>;

/** The secrets that both sides have, from what they share. */
export declare function schedule(
  dh: Uint8Array,
  enc: Uint8Array,
  recipient: Uint8Array,
  info: Uint8Array,
): Promise<{ secret: Uint8Array; key: Uint8Array; nonce: Uint8Array }>;
