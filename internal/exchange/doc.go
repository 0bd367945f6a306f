// Package exchange decides what happens to a question and to a call that
// waits for one.
//
// It holds two state machines, one of an Ask and one of a Call. Each is a pure
// function from a state, a time and an event to a new state and the effects
// that follow. The same input gives the same output, so every path can be
// written down as a script and replayed.
//
// It performs nothing: no clock, no goroutine, no input or output, no lock.
// Whoever runs a machine serialises its steps, and performs the effects of
// each step in the order in which they stand: what persists, then what acts,
// then what replies.
package exchange
