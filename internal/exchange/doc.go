// Package exchange decides what happens to a question and to a call that
// waits for one.
//
// It holds two state machines, one of an Ask and one of a Call. Each is a pure
// function from a state, a time and an event to a new state and the effects
// that follow. The same input gives the same output, so every path can be
// written down as a script and replayed.
//
// An ask is passing or kept. A passing one lives and dies with its
// connections. It is kept from the moment in which somebody is to be told so,
// by a link, a page, the inbox, the API or a parked call, and what was told
// must survive the gateway.
//
// Persist comes before everything else by construction. A step that would
// change what must be durable of a kept ask yields one effect, Persist, and
// leaves the state as it was; what the step came to is put by. Persisted takes
// it out: the new state and its effects. PersistFailed drops it, Learned
// replaces what it was founded on. No effect that shows, acknowledges or
// replies can be had before the report. Whether a step needs this is not
// decided by its event but by comparing the state before and after it, so that
// no event can forget to. Calls that are told to come back work alike, with
// Shelve, Shelved and ShelveFailed.
//
// One outcome comes before a punctual one: the end of a kept ask without an
// answer that cannot be stored is tried again every second, and nobody is told
// of it before. The asker's own wait is bounded by the cap of its call.
//
// It performs nothing: no clock, no goroutine, no input or output, no lock.
// Whoever runs a machine serialises its steps, and performs the effects of
// each step in the order in which they stand. An event that arrives while a
// Persist or a Shelve is not reported on gets Again, and is brought again
// after that report.
package exchange
