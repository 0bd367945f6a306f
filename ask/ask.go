// Package ask is the vocabulary of Answerback: what a question is, what an
// answer is, how a question ends, and who is meant by it.
//
// It holds words and no behaviour: no transport, no storage, no clock, and
// nothing beyond the standard library, so that every other package can speak
// it without learning anything else.
package ask

import "time"

// Kind says what an Ask wants.
type Kind uint8

// The kinds of question that there are.
const (
	Form     Kind = iota + 1 // values typed into fields by a person
	URL                      // a visit to an address by a person
	Sampling                 // a completion from the client's model
	Roots                    // the client's list of roots
	Connect                  // an account of a person's, connected by them at its own server; the gateway asks for it
)

// String gives the kind's name as it stands in logs, metrics and pages.
func (k Kind) String() string {
	switch k {
	case Form:
		return "form"
	case URL:
		return "url"
	case Sampling:
		return "sampling"
	case Roots:
		return "roots"
	case Connect:
		return "connect"
	}
	return "unknown"
}

// ForPeople reports whether a person answers asks of this kind. The others go
// to the client's model, or to the client itself.
func (k Kind) ForPeople() bool { return k == Form || k == URL || k == Connect }

// Principal is who somebody is: an issuer and that issuer's name for them.
// It is never an e-mail address. The zero Principal is nobody.
type Principal struct {
	Issuer  string
	Subject string
}

// IsZero reports whether p is nobody.
func (p Principal) IsZero() bool { return p == Principal{} }

// String joins issuer and subject for logs.
func (p Principal) String() string { return p.Issuer + "|" + p.Subject }

// Addressee is who may answer an Ask: one principal, or the members of one
// configured group. URL and Connect asks are never for a group.
type Addressee struct {
	Principal Principal
	Group     string
}

// Ask is one question from a backend, on its way to somebody who can answer.
// Params and what it points to are never modified after the Ask was made.
type Ask struct {
	ID        string
	Kind      Kind
	Method    string // the method towards a client, such as "elicitation/create"
	Params    []byte // the question's parameters, as the backend wrote them
	Backend   string
	During    string // the method of the call that caused it, "" where unknown
	Name      string // the tool, prompt or resource that was called, "" where unknown
	Client    string // what the client that called calls itself, "" where unknown; proves nothing
	Session   string // the client session it belongs to, "" where there is none
	Addressee Addressee
	Asked     time.Time
	Deadline  time.Time
	Terms     Terms
}

// Terms are how long a question waits, and how often somebody may try. Where a
// question is put to the desk, zero values leave that to the gateway; what the
// desk gives out has all of them.
type Terms struct {
	Timeout     time.Duration // how long it waits at first
	Warn        time.Duration // how long before its end somebody is warned
	Extension   time.Duration // what one extension gives
	Extensions  int           // how often it may be extended; people at a page never less often than they need
	NoExtension bool          // it may not be extended at all
	Attempts    int           // how many answers may fail validation before one more ends it
}

// Action is what somebody did with a question.
type Action uint8

// The three actions stay three different things from end to end. NoAction is
// the action of answers that have none: sampling, roots, and errors.
const (
	NoAction Action = iota
	Accept
	Decline
	Cancel
)

// String gives the action as MCP spells it.
func (a Action) String() string {
	switch a {
	case Accept:
		return "accept"
	case Decline:
		return "decline"
	case Cancel:
		return "cancel"
	}
	return "none"
}

// Answer is what came back for an Ask, kept raw. Exactly one of Result and
// Error is set: a client may answer a question with a JSON-RPC error of its
// own, and that too is passed on as it came.
type Answer struct {
	Action Action
	Result []byte // the result object
	Error  []byte // the error object
}

// Ending says how an Ask ended.
type Ending uint8

// An Ask ends in exactly one of these ways.
const (
	Answered  Ending = iota + 1
	Expired          // its deadline passed
	Withdrawn        // its asker took it back
	Abandoned        // nobody is left to answer it, or nobody to hear the answer
	Refused          // it was never shown
)

// String gives the ending's name as it stands in logs and metrics.
func (e Ending) String() string {
	switch e {
	case Answered:
		return "answered"
	case Expired:
		return "expired"
	case Withdrawn:
		return "withdrawn"
	case Abandoned:
		return "abandoned"
	case Refused:
		return "refused"
	}
	return "open"
}

// Outcome is how one Ask ended. An Ask has one Outcome, for ever.
type Outcome struct {
	Ending  Ending
	Answer  Answer    // set when Ending is Answered
	Err     *Error    // set when Ending is not Answered
	By      Principal // who answered
	Surface string    // where it was answered
	At      time.Time
}
