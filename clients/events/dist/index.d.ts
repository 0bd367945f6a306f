export { Call, CallLost, Events, Refused } from "./client.js";
export type { ElicitationAnswer, Options, SamplingAnswer, Start } from "./client.js";
export { isKnown } from "./event.js";
export type * from "./event.js";
export { parse } from "./sse.js";
export type { Message } from "./sse.js";
