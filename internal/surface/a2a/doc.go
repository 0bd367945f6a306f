// Package a2a is the gateway as an agent: programs that speak A2A 1.0 send it
// messages, and each message that names a tool becomes a task.
//
// It is a modern client of the relay and nothing else. A result that wants
// input is the task's input-required or auth-required, the next message of the
// task is the retried request, and the requestState between the two is kept
// with the task. What is asked, who may be asked and until when is decided
// behind it.
//
// The wire formats are those of a2a-go; the life of a task is this package's
// own, because a task must be waited for at the end of the process, must
// outlive a restart, and must be answerable while it goes on by itself.
//
// It does not know backends, and it never answers for a person.
package a2a
