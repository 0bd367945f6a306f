package exchange

import (
	"math/bits"

	"github.com/answerback/answerback/ask"
)

// Rung is one way of putting an ask before somebody. A ladder holds each rung
// at most once, so within one ask a rung also names its showing: the one
// attempt to show the ask that way.
type Rung uint8

// The rungs, best first. NoRung is the absence of one.
const (
	NoRung     Rung = iota
	RungClient      // the client's own form or model, over its live connection
	RungLink        // the client offers a link to the ask's page: its accept is consent to open it, not an answer
	RungPage        // the page and the inbox, which can be open on several screens at once
)

// String gives the rung's name as it stands in logs and in the audit.
func (r Rung) String() string {
	switch r {
	case NoRung:
		return "none"
	case RungClient:
		return "client"
	case RungLink:
		return "link"
	case RungPage:
		return "page"
	}
	return "unknown"
}

// promises reports whether showing an ask on r tells somebody that it is kept.
func (r Rung) promises() bool { return r == RungLink || r == RungPage }

// Standing is what is known, when a question comes, of whoever is to answer
// it and of the client of the call in which it was asked.
type Standing struct {
	Kind   ask.Kind
	Group  bool // a group answers the backend's forms, on its pages
	Pages  bool // the caller can open pages
	Live   bool // there is a client to show a question to
	Takes  bool // that client declared that it takes questions of this kind
	Forms  bool // it declared forms
	Links  bool // it declared links
	Call   bool // a call of its own waits, which can end with the link to the page
	Doubts bool // what it shows may never reach a person: the page comes next
}

// Reach says over what somebody in this standing can be reached.
func (s Standing) Reach() Reach {
	if s.Kind == ask.Form && s.Group {
		return Reach{Page: true}
	}
	mute := !s.Forms && !s.Links
	ours := s.Kind == ask.Form || s.Kind == ask.Connect // a page of the gateway's can stand for it
	return Reach{
		Client: s.Live && s.Takes,
		Link:   s.Live && ours && s.Links && !s.Takes && s.Pages,
		Page:   s.Kind.ForPeople() && s.Call && s.Pages && (mute || s.Takes && s.Doubts),
	}
}

// Reach says over what the addressee of an ask can be reached now.
type Reach struct {
	Client bool // a client is connected that takes this kind of ask
	Link   bool // a client is connected that takes links, and the addressee can open the page behind one
	Page   bool // the addressee can open the page, and learns of it by themselves or by the end of a call
}

// Ladder says where to show an ask, best rung first. It is empty where nobody
// can be reached: such an ask is refused at once.
func Ladder(reach Reach) []Rung {
	var rungs []Rung
	for r, there := range [...]bool{RungClient: reach.Client, RungLink: reach.Link, RungPage: reach.Page} {
		if there {
			rungs = append(rungs, Rung(r))
		}
	}
	return rungs
}

// Rungs is a set of rungs. The zero value is empty.
type Rungs uint8

// Has reports whether r is in the set.
func (s Rungs) Has(r Rung) bool { return s&(1<<r) != 0 }

func (s Rungs) with(r Rung) Rungs    { return s | 1<<r }
func (s Rungs) without(r Rung) Rungs { return s &^ (1 << r) }

// best is the lowest rung of a set that is not empty.
func (s Rungs) best() Rung { return Rung(bits.TrailingZeros8(uint8(s))) }

// rungSet makes a set of the rungs that exist.
func rungSet(rungs []Rung) Rungs {
	var s Rungs
	for _, r := range rungs {
		if r >= RungClient && r <= RungPage {
			s = s.with(r)
		}
	}
	return s
}
