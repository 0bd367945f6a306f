package a2a

import (
	"encoding/binary"
	"encoding/json"
	"strings"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/seal"
)

// want is what a task waits for.
type want string

const (
	wantForm  want = "form"  // the answer to a form of the agent's
	wantText  want = "text"  // an answer in words
	wantURL   want = "url"   // consent to open a page
	wantPage  want = "page"  // that a page is finished which somebody opened
	wantGrant want = "grant" // another credential
)

// state is what a call goes on from. It is sealed, and opened only for the
// same person at the same backend.
type state struct {
	Task    string `json:"t"`
	Context string `json:"c,omitempty"`
	Want    want   `json:"w"`
	// Asked tells the status in which the task asked from others.
	Asked string `json:"q,omitempty"`
	// Message is the id of the message that answers, so that an answer which
	// is given twice is known to the agent as one.
	Message string `json:"m"`
}

const maxID = 512

// validID reports whether an id of the agent's can be sent back to it, also as
// a part of a path.
func validID(id string) bool {
	odd := func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`/\?#%`, r) }
	return id != "" && len(id) <= maxID && !strings.ContainsFunc(id, odd) && id != "." && id != ".."
}

func (l line) bound() []byte {
	b := []byte("a2a")
	for _, w := range []string{l.b.cfg.Name, l.who.Issuer, l.who.Subject} {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(w))), w...)
	}
	return b
}

func (l line) seal(s state) string {
	plain, _ := json.Marshal(s) // texts can always be written
	return l.b.cfg.Ring.Seal(seal.Resume, l.bound(), plain)
}

func (l line) unseal(text string) (state, error) {
	var s state
	plain, err := l.b.cfg.Ring.Unseal(seal.Resume, l.bound(), text)
	if err == nil {
		err = json.Unmarshal(plain, &s)
	}
	if err != nil || !validID(s.Task) {
		return state{}, ask.Wrap(ask.BadState, "The requestState is not one that was given out for this call.", err)
	}
	return s, nil
}
