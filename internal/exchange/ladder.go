package exchange

// Rung is one way of putting an ask before somebody. A ladder holds each rung
// at most once, so within one ask a rung also names its showing: the one
// attempt to show the ask that way.
type Rung uint8

// The rungs, best first. NoRung is the absence of one.
const (
	NoRung     Rung = iota
	RungClient      // the client's own form or model, over its live connection
)

// String gives the rung's name as it stands in logs and in the audit.
func (r Rung) String() string {
	switch r {
	case NoRung:
		return "none"
	case RungClient:
		return "client"
	}
	return "unknown"
}

// Reach says over what the addressee of an ask can be reached now.
type Reach struct {
	Client bool // a client is connected that takes this kind of ask
}

// Ladder says where to show an ask, best rung first. It is empty where nobody
// can be reached: such an ask is refused at once.
func Ladder(reach Reach) []Rung {
	var rungs []Rung
	if reach.Client {
		rungs = append(rungs, RungClient)
	}
	return rungs
}
