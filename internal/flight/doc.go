// Package flight knows the calls that are in flight at a surface, what each of
// them calls, and which of them only wait for a question that a person will
// answer. A gateway that is told to stop waits for the calls that work, and not
// for those whose questions are kept: they go on after the next start.
//
// It carries nothing and ends nothing: surfaces begin and end trips, the relay
// notes the questions that are asked on them.
package flight
