// Package relay carries one client request to its one backend and the
// response back: it finds the backend, holds the lines to it, pumps what
// comes before the response, keeps the deadline, cancels, and hands the
// questions of a backend to the desk.
//
// It declares what a surface and a backend are (see contract.go) and belongs
// to neither: it knows no HTTP streams, no processes and no pages. Messages
// pass through it as bytes; what it changes is a closed list: ids, progress
// tokens, names, the ids of tasks, requestState, and capabilities that nobody
// can serve.
package relay
