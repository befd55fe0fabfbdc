/** Sottovoce for browsers and Node: exact local differential privacy on the device of the person who answers. */

export { dumps, loads } from "./canonical.js";
export { DomainError, ParameterError, Refusal, ReportError, SottovoceError, StoreError } from "./errors.js";
export { logAbove } from "./exact.js";
export { sha256 } from "./hash.js";
export { Mechanism, mechanism } from "./mechanisms.js";
export { Source } from "./random.js";
export { Respondent } from "./respondent.js";
export { IndexedStore, MemoryStore } from "./stores.js";
export { Survey } from "./survey.js";
export { encode } from "./wire.js";
