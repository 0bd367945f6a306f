import type { CallEvent } from "./event.js";
type MaybePromise<T> = T | Promise<T>;
export interface Options {
    /** The gateway's address, such as https://mcp.example.com. */
    url: string;
    /** Headers of every request, such as Authorization; a function is asked each time. */
    headers?: Record<string, string> | (() => MaybePromise<Record<string, string>>);
    /** Whether the person can be asked. Without it no call ever waits. */
    elicitation?: boolean;
    /** Whether the front end's model can be asked. */
    sampling?: boolean;
    /** What the front end calls itself, shown beside its questions. */
    client?: string;
    /**
     * The conversation that calls belong to. Its calls share sessions, and the
     * state that servers keep in them. Without it there is one for each person
     * and client.
     */
    conversation?: string;
    /** How often in a row a connection may fail before the call is given up; 8. */
    attempts?: number;
    /** Milliseconds before the first new attempt; what the gateway says, or 1000. */
    delay?: number;
    fetch?: typeof fetch;
}
export interface Start {
    name: string;
    arguments?: Record<string, unknown>;
    /** The server to call; without it the tool is looked for in all. */
    backend?: string;
    _meta?: Record<string, unknown>;
    /** In place of the conversation of the options. */
    conversation?: string;
    /** The Idempotency-Key: the same key never runs the call twice. Made up where it is left out. */
    key?: string;
    /** Ends following the call, not the call: see Call.cancel. */
    signal?: AbortSignal;
}
export interface ElicitationAnswer {
    action: "accept" | "decline" | "cancel";
    /** The values of a form, with accept only. */
    content?: Record<string, unknown>;
}
export type SamplingAnswer = {
    result: Record<string, unknown>;
} | {
    error: {
        code: number;
        message: string;
        data?: unknown;
    };
};
/** The gateway said no. `errors` says what is wrong with each field of an answer. */
export declare class Refused extends Error {
    readonly status: number;
    readonly code: string;
    readonly errors: Array<{
        field: string;
        message: string;
        [more: string]: unknown;
    }>;
    /** How often an answer did not fit; allowed says whether there may be another. */
    readonly retry?: {
        allowed: boolean;
        limit: number;
        count: number;
    } | undefined;
    name: string;
    constructor(status: number, code: string, message: string, errors?: Array<{
        field: string;
        message: string;
        [more: string]: unknown;
    }>, 
    /** How often an answer did not fit; allowed says whether there may be another. */
    retry?: {
        allowed: boolean;
        limit: number;
        count: number;
    } | undefined);
}
/** The gateway could not be reached any more. The call may go on without us. */
export declare class CallLost extends Error {
    name: string;
}
/** A gateway's event stream. */
export declare class Events {
    readonly options: Options;
    constructor(options: Options);
    /** Prepares a call. It starts when its events are first asked for. */
    call(start: Start): Call;
}
/** One call. Iterate over it, once, for its events. */
export declare class Call implements AsyncIterable<CallEvent> {
    #private;
    /** The Idempotency-Key. */
    readonly key: string;
    /** The gateway's id, once the first event is there. */
    id: string | undefined;
    constructor(options: Options, start: Start);
    /** Each event once, in order, across broken connections, up to the last. */
    [Symbol.asyncIterator](): AsyncGenerator<CallEvent, void, undefined>;
    /** Answers an elicitation-request. A Refused with status 422 means: try again. */
    respond(id: string, answer: ElicitationAnswer): Promise<void>;
    /** Answers a sampling-request. */
    respondSampling(id: string, answer: SamplingAnswer): Promise<void>;
    /** Cancels the call. Its last event says so. */
    cancel(): Promise<void>;
}
export {};
