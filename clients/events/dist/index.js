// Calls tools through Answerback's event stream. See docs/events.md.
export { Call, CallLost, Events, Refused } from "./client.js";
export { isKnown } from "./event.js";
export { parse } from "./sse.js";
