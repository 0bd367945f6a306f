// Starts calls, follows them across broken connections, and answers.
import { parse } from "./sse.js";
/** The gateway said no. `errors` says what is wrong with each field of an answer. */
export class Refused extends Error {
    status;
    code;
    errors;
    retry;
    name = "Refused";
    constructor(status, code, message, errors = [], 
    /** How often an answer did not fit; allowed says whether there may be another. */
    retry) {
        super(message);
        this.status = status;
        this.code = code;
        this.errors = errors;
        this.retry = retry;
    }
}
/** The gateway could not be reached any more. The call may go on without us. */
export class CallLost extends Error {
    name = "CallLost";
}
/** A gateway's event stream. */
export class Events {
    options;
    constructor(options) {
        this.options = options;
    }
    /** Prepares a call. It starts when its events are first asked for. */
    call(start) {
        return new Call(this.options, start);
    }
}
const last = new Set(["tool-result", "error"]);
const passing = new Set([408, 425, 429, 500, 502, 503, 504]);
/** One call. Iterate over it, once, for its events. */
export class Call {
    /** The Idempotency-Key. */
    key;
    /** The gateway's id, once the first event is there. */
    id;
    #options;
    #start;
    #seen = 0;
    #asked = new Set();
    #begun = false;
    constructor(options, start) {
        this.#options = options;
        this.#start = start;
        this.key = start.key ?? randomKey();
    }
    /** Each event once, in order, across broken connections, up to the last. */
    async *[Symbol.asyncIterator]() {
        if (this.#begun)
            throw new Error("The events of a call can be followed once.");
        this.#begun = true;
        const signal = this.#start.signal;
        const { attempts = 8, delay } = this.#options;
        let wait = delay ?? 1000;
        for (let failures = 0;;) {
            let cause;
            try {
                const response = await this.#connect();
                for await (const message of parse(response.body)) {
                    if (message.retry !== undefined)
                        wait = delay ?? message.retry;
                    if (message.data === undefined || this.#known(message.id))
                        continue;
                    failures = 0;
                    const event = JSON.parse(message.data);
                    if (this.#repeated(event))
                        continue;
                    if (event.type === "call-started" && typeof event["callId"] === "string")
                        this.id = event["callId"];
                    yield event;
                    if (last.has(event.type))
                        return;
                }
            }
            catch (error) {
                if (signal?.aborted || (error instanceof Refused && !passing.has(error.status)))
                    throw error;
                cause = error;
            }
            if (failures++ >= attempts)
                throw new CallLost("The gateway cannot be reached any more.", { cause });
            await sleep(Math.min(wait * 2 ** (failures - 1), 30_000), signal);
        }
    }
    /** Answers an elicitation-request. A Refused with status 422 means: try again. */
    async respond(id, answer) {
        await this.#post("/respond", { type: "elicitation-response", id, ...answer });
    }
    /** Answers a sampling-request. */
    async respondSampling(id, answer) {
        await this.#post("/respond", { type: "sampling-response", id, ...answer });
    }
    /** Cancels the call. Its last event says so. */
    async cancel() {
        await this.#post("/cancel");
    }
    // known notes the number of an event, and tells one that was there before.
    #known(id) {
        if (id === undefined)
            return false;
        const n = Number(id);
        if (n <= this.#seen)
            return true;
        this.#seen = n;
        return false;
    }
    // repeated tells what a gateway that was restarted says again: that the call
    // started, and what is still asked.
    #repeated(event) {
        if (event.type === "call-started")
            return this.id !== undefined;
        if (event.type !== "elicitation-request" && event.type !== "sampling-request")
            return false;
        const known = this.#asked.has(event["id"]);
        this.#asked.add(event["id"]);
        return known;
    }
    // connect starts the call, or goes on with it where its id is known. Before
    // that the key alone makes sure that it is not started twice.
    async #connect() {
        const { elicitation, sampling, client } = this.#options;
        const { name, backend, signal, conversation = this.#options.conversation } = this.#start;
        const headers = { accept: "text/event-stream" };
        if (this.#seen > 0)
            headers["last-event-id"] = String(this.#seen);
        if (this.id !== undefined)
            return this.#send("GET", this.#at(), headers, undefined, signal);
        headers["idempotency-key"] = this.key;
        if (elicitation)
            headers["x-supports-elicitation"] = "true";
        if (sampling)
            headers["x-supports-sampling"] = "true";
        const path = backend === undefined ? "/events/call" : `/events/${encodeURIComponent(backend)}/call`;
        return this.#send("POST", path, headers, { name, arguments: this.#start.arguments, _meta: this.#start._meta, client, conversation }, signal);
    }
    #at() {
        if (this.id === undefined)
            throw new Error("The call has not started yet: read its first event.");
        return `/events/calls/${encodeURIComponent(this.id)}`;
    }
    async #post(tail, body) {
        const response = await this.#send("POST", this.#at() + tail, {}, body);
        await response.body?.cancel();
    }
    async #send(method, path, headers, body, signal) {
        const own = this.#options.headers;
        const init = { method, headers: { ...(typeof own === "function" ? await own() : own), ...headers } };
        if (signal)
            init.signal = signal;
        if (body !== undefined) {
            init.body = JSON.stringify(body);
            init.headers["content-type"] = "application/json";
        }
        const response = await (this.#options.fetch ?? fetch)(this.#options.url.replace(/\/+$/, "") + path, init);
        if (response.ok)
            return response;
        const said = await response.json().catch(() => undefined);
        const { code = "internal", message = `The gateway answered with ${response.status}.`, errors, retry } = said?.error ?? {};
        throw new Refused(response.status, code, message, errors, retry);
    }
}
function randomKey() {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    return Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
}
function sleep(ms, signal) {
    return new Promise((resolve, reject) => {
        const stop = () => {
            clearTimeout(timer);
            reject(signal.reason);
        };
        const timer = setTimeout(() => {
            signal?.removeEventListener("abort", stop);
            resolve();
        }, ms);
        if (signal?.aborted)
            stop();
        else
            signal?.addEventListener("abort", stop, { once: true });
    });
}
