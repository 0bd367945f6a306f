// Package events is the way in for chat front ends: one HTTP request starts
// one tool call, and what happens to it comes back as server-sent events with
// names that a front end can act on: progress, a question, its end, the
// result. Answers are posted beside the stream.
//
// It translates at the edge and nowhere else. A call is a session of the relay
// with one request on it, over lines that the relay leases to the call's
// conversation; questions come from the relay and answers go back to it, with
// the limits, deadlines and audit that every other surface has. What is held
// here belongs to the transport: whose call it is, the events that a consumer
// which lost its connection can still fetch, and the keys under which a call
// that was started already is found again.
//
// A call whose question is open when the gateway dies is taken up by the relay,
// from the thread that is kept with the question (see Return). Beside that a
// shelf has one small record of a call with a key or a question: that it
// started, and how it ended. The other events do not outlive the process.
//
// It does not know backends.
package events
