/** What any event has. */
export interface Any {
    type: string;
    [more: string]: unknown;
}
/** The first event of every call. */
export interface CallStarted extends Any {
    type: "call-started";
    /** What the gateway speaks. A higher number than 1 is no reason to stop. */
    schemaVersion: number;
    callId: string;
    tool: string;
    backend?: string;
    elicitation: boolean;
    sampling: boolean;
    at: number;
}
export interface Progress extends Any {
    type: "progress";
    progress?: number;
    total?: number;
    message?: string;
}
export interface Log extends Any {
    type: "log";
    level?: string;
    logger?: string;
    data?: unknown;
}
/** Any other notification of the server. */
export interface Notification extends Any {
    type: "notification";
    method: string;
    params?: Record<string, unknown>;
}
/** The server asks the person. Show who asks, and answer with `respond`. */
export interface ElicitationRequest extends Any {
    type: "elicitation-request";
    id: string;
    mode: "form" | "url";
    /** The server's words. They prove nothing. */
    message: string;
    /** Who asks: the server's name in the gateway's configuration. */
    backend: string;
    tool?: string;
    /** In mode form: MCP's restricted JSON Schema of what is asked for. */
    requestedSchema?: Record<string, unknown>;
    /** In mode form: fields that seem to ask for a secret. */
    sensitive?: string[];
    /** In mode url: what to open once the person agreed. */
    url?: string;
    elicitationId?: string;
    deadline: number;
}
export type Outcome = "answered" | "expired" | "withdrawn" | "abandoned";
/** A question has ended: take it off the screen. */
export interface ElicitationSettled extends Any {
    type: "elicitation-settled";
    id: string;
    outcome: Outcome;
    action?: "accept" | "decline" | "cancel";
    reason?: Reason;
}
/** What the person was sent away for in mode url is done. */
export interface ElicitationComplete extends Any {
    type: "elicitation-complete";
    elicitationId: string;
}
/** The server asks the front end's model. */
export interface SamplingRequest extends Any {
    type: "sampling-request";
    id: string;
    backend: string;
    tool?: string;
    /** The params of MCP's sampling/createMessage. */
    params: Record<string, unknown>;
    deadline: number;
}
export interface SamplingSettled extends Any {
    type: "sampling-settled";
    id: string;
    outcome: Outcome;
    reason?: Reason;
}
/** A question will soon end by itself. */
export interface TimeoutWarning extends Any {
    type: "timeout-warning";
    id: string;
    deadline: number;
}
/** Something is missing that this front end did not say it can be asked for. */
export interface ToolAuthRequired extends Any {
    type: "data-tool-auth-required";
    data: {
        callId: string;
        tool: string;
        backend?: string;
        mode: "form" | "url" | "sampling";
        message: string;
        url?: string;
        elicitationId?: string;
        requestedSchema?: Record<string, unknown>;
        [more: string]: unknown;
    };
}
/** Some events after this number are no longer kept. */
export interface EventsLost extends Any {
    type: "events-lost";
    after: number;
}
/** The last event of a call that has a result: MCP's CallToolResult. */
export interface ToolResult extends Any {
    type: "tool-result";
    result: {
        content?: Array<{
            type: string;
            [more: string]: unknown;
        }>;
        structuredContent?: unknown;
        isError?: boolean;
        [more: string]: unknown;
    };
}
/** The last event of a call that has none. */
export interface CallError extends Any {
    type: "error";
    code: string;
    message: string;
    backendError?: {
        code?: number;
    };
    data?: unknown;
}
export interface Reason {
    code: string;
    message: string;
}
export type KnownEvent = CallStarted | Progress | Log | Notification | ElicitationRequest | ElicitationSettled | ElicitationComplete | SamplingRequest | SamplingSettled | TimeoutWarning | ToolAuthRequired | EventsLost | ToolResult | CallError;
/** An event of a call: one that is known, or any other. */
export type CallEvent = KnownEvent | Any;
/** Tells an event of a known type, so that `event.type` narrows it further. */
export declare function isKnown(event: CallEvent): event is KnownEvent;
