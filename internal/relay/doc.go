// Package relay carries one client request to its one backend and the
// response back: it finds the backend, holds the lines to it, pumps what
// comes before the response, keeps the deadline, cancels, and hands the
// questions of a backend to the desk.
//
// It stands between a surface and a backend (see package contract) and belongs
// to neither: it knows no HTTP streams, no processes and no pages. Sessions for
// callers who have none are kept by package lease, and the client's end of a
// call that outlives its request by package parking. Messages pass through here
// as bytes; what is changed is a closed list: ids, progress tokens, names, the
// ids of tasks, requestState, and capabilities that nobody can serve.
//
// Where to find what:
//
//   - the doors: relay.go (the set of backends), session.go (a legacy client),
//     modern.go (a modern request), formapi.go (forms that clients create)
//   - the endpoint that joins several backends: route.go (whose a name is),
//     list.go, join.go and joincall.go (its sessions), listen.go (its
//     subscriptions)
//   - one call: call.go, clock.go; a question in it: question.go, pages.go (who
//     is asked, and how they are reached), policy.go (what may be asked),
//     manner.go (how clients are treated beyond what they declare)
//   - between modern peers: state.go, task.go (what is sealed before a client
//     gets it), takeover.go (where the gateway takes a call over)
//   - a legacy backend for a modern client: cross.go, crosslisten.go, leased.go
//   - lines that the sessions of a conversation share: converse.go
//   - calls that outlive their requests: aside.go (of legacy sessions),
//     errand.go (the backend's end of them), visit.go (pages that a backend
//     wants opened first), revive.go (after a restart)
package relay
