/** Sottovoce for browsers and Node: exact local differential privacy on the device of the person who answers. */

// The built file follows this order, in which it compresses best.
export { sha256 } from "./sha256.js";
export { DomainError, ParameterError, Refusal, ReportError, SottovoceError, StoreError } from "./errors.js";
export { Mechanism, mechanism } from "./mechanisms.js";
export { dumps, loads } from "./canonical.js";
export { IndexedStore, MemoryStore } from "./stores.js";
export { encode } from "./wire.js";
export { Respondent } from "./respondent.js";
export { Survey } from "./survey.js";
export { logAbove } from "./exact.js";
export { Source } from "./random.js";
