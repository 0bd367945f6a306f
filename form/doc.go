// Package form is a language for forms that people fill in: what is asked, in
// which order, which answers are acceptable, and how an answer is read.
//
// A form is written as JSON or as a [Definition], and made ready by [Parse] or
// [New]. Definitions are checked in full before a person sees them: unknown
// keys, constraints that contradict each other, defaults that would not be
// accepted, conditions over unknown fields and cycles of conditions are
// refused, all at once and each with its path.
//
// A [Form] then reads answers. [Form.Read] takes strings, as an HTML form or a
// terminal has them; [Form.Decode] takes JSON; [Form.Validate] takes typed
// values. The three agree: the same answer means the same whichever way it
// came. All faults are reported together, in the order of the fields, each
// with the constraint, what was expected and what was found; what was typed
// into a sensitive field is never part of a report.
//
// A form can be published as JSON Schema 2020-12 ([Form.Schema]) and, where
// that can say it, as the requestedSchema of an MCP elicitation
// ([Form.Requested]; [FromRequested] is the way back). [Sensitive] says which
// fields of somebody else's requestedSchema ask for a secret.
//
// The package draws nothing, stores nothing and does no I/O: it resolves no
// names and fetches no addresses, so whoever opens the address of a url field
// must check again what the name resolves to ([PublicAddr]). It keeps no
// clock: timeouts are carried, not run.
//
// A Form and everything reached from it is immutable and may be used by any
// number of goroutines.
package form
