// Package notify tells somebody outside the pages that a question waits on
// one: it posts to one configured address, signed, with a link and without a
// word of the question.
//
// It is a hint and no part of what is promised: a post may come twice, late or
// never, and nothing waits for it. Who may open the link is decided where it
// leads.
package notify
