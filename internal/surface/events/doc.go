// Package events is the way in for chat front ends: one HTTP request starts
// one tool call, and what happens to it comes back as server-sent events with
// names that a front end can act on: progress, a question, its end, the
// result. Answers are posted beside the stream.
//
// It translates at the edge and nowhere else. A call is a session of the relay
// with one request on it; questions come from the relay and answers go back to
// it, with the limits, deadlines and audit that every other surface has. What
// is held here belongs to the transport: whose call it is, the events that a
// consumer which lost its connection can still fetch, and the keys under which
// a call that was started already is found again.
//
// It does not know backends, and nothing of a call outlives the process.
package events
