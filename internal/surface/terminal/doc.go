// Package terminal puts a question to a person at a terminal, line by line,
// and gives what they decided: to send an answer, to decline, to cancel, or
// nothing.
//
// Only what the person typed in full after they were asked for it is a
// decision. The end of the input, an interrupt, a deadline, a missing
// terminal and what was typed ahead are none: then there is an error, whose
// message says so, and nothing to send. What servers and clients wrote is
// shown as text and nothing else: no control character of theirs reaches the
// terminal, and none of their lines can be taken for one of ours.
//
// It sends nothing, and does not know where questions come from or where
// answers go.
package terminal
