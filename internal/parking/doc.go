// Package parking holds calls that outlive the request that began them.
//
// The client of such a call is attached, when a request of its waits in Serve,
// or away: sent off with a question (requestState), with a task to poll, or
// with the words to make the same call again. The Lot finds the call for
// whoever comes back, once; what the call says meanwhile is kept, and so is
// its result, on a shelf that outlives the gateway.
//
// It does not do the call's work. Who began the call runs it, has its questions
// put to people, and says here what comes of it: see Call.
package parking
