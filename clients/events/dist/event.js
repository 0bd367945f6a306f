// The events of a call, as docs/events.schema.json describes them. Times are
// in milliseconds since 1970. Every event may have members that are not named
// here, and there may be types that are not: both are passed on as they came.
const known = {
    "call-started": true,
    progress: true,
    log: true,
    notification: true,
    "elicitation-request": true,
    "elicitation-settled": true,
    "elicitation-complete": true,
    "sampling-request": true,
    "sampling-settled": true,
    "timeout-warning": true,
    "data-tool-auth-required": true,
    "events-lost": true,
    "tool-result": true,
    error: true,
};
/** Tells an event of a known type, so that `event.type` narrows it further. */
export function isKnown(event) {
    return Object.hasOwn(known, event.type);
}
