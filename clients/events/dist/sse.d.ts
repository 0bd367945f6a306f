/** One message of a stream. */
export interface Message {
    id?: string;
    event?: string;
    data?: string;
    /** How long to wait before coming back, in milliseconds. */
    retry?: number;
}
/**
 * Gives the messages of a stream, however its bytes are cut. A message that is
 * not finished when the stream ends or breaks is not given.
 */
export declare function parse(body: ReadableStream<Uint8Array>): AsyncGenerator<Message, void, undefined>;
