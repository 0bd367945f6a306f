package desk

import (
	"bytes"
	"fmt"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/exchange"
)

// A stored body has a header that can be read without opening the rest: the
// format, and whether the asker was told. What follows is sealed.
const (
	// bodyFormat is raised when what is stored about an ask changes its form
	// or its meaning.
	bodyFormat = 2
	headerSize = 2
	// flagRestored is in the second byte of the header, beside the delivery: the
	// ask comes from a backup, and has not ended since.
	flagRestored = 0x80
)

// StepBack gives a stored body as a backup is restored with: marked, so that
// nothing that may have happened after the backup is done a second time. What
// is too short to be a body stays as it is.
func StepBack(stored []byte) []byte {
	if len(stored) < headerSize {
		return stored
	}
	marked := bytes.Clone(stored)
	marked[1] |= flagRestored
	return marked
}

// steppedBack reports whether the ask of a stored body was restored from a
// backup, and has not ended since.
func steppedBack(stored []byte) bool {
	return len(stored) >= headerSize && stored[1]&flagRestored != 0
}

// body is what is stored about an ask, beside its id.
type body struct {
	ask    ask.Ask
	kept   exchange.Kept
	group  string
	resume []byte
}

func bodyOf(a *ask.Ask, k exchange.Kept, group string, resume []byte, keep func([]byte) []byte) body {
	b := body{ask: *a, kept: k, group: group, resume: resume}
	if k.Outcome == nil || k.Delivery != exchange.DeliveryDone {
		return b
	}
	out := *k.Outcome
	b.kept.Outcome = &out
	if keep != nil {
		out.Answer.Result = keep(out.Answer.Result)
		return b
	}
	// The asker has the values: nobody else needs them. What was asked stays,
	// for whoever comes back to the question.
	out.Answer.Result, out.Answer.Error = nil, nil
	return b
}

// encode gives the bytes of b.
func (b *body) encode() []byte {
	c := codec{buf: make([]byte, 0, bodySize+len(b.ask.Params)+len(b.resume))}
	b.code(&c)
	return c.buf
}

// bodySize is room for what most bodies have beside their bulk.
const bodySize = 512

// decodeBody reads what encode gave. Words that many asks share are taken
// from known.
func decodeBody(plain []byte, known *words) (body, error) {
	var b body
	c := codec{buf: plain, reading: true, known: known}
	b.code(&c)
	if c.bad || len(c.buf) > 0 {
		return body{}, errBody
	}
	b.ask.Deadline = b.kept.Deadline
	return b, nil
}

// code is both directions: what is not named here is not stored.
func (b *body) code(c *codec) {
	a, k := &b.ask, &b.kept
	enum(c, &a.Kind)
	c.word(&a.Method)
	c.word(&a.Backend)
	c.word(&a.During)
	c.word(&a.Name)
	c.word(&a.Client)
	c.text(&a.Session)
	c.principal(&a.Addressee.Principal)
	c.word(&a.Addressee.Group)
	c.time(&a.Asked)
	c.terms(&a.Terms)
	c.text(&b.group)

	c.time(&k.Deadline)
	number(c, &k.Warn)
	enum(c, &k.Phase)
	number(c, &k.Extensions)
	number(c, &k.Attempts)
	optional(c, &k.Outcome, codeOutcome)
	enum(c, &k.Delivery)
	optional(c, &k.Undelivered, codeReason)

	c.data(&a.Params)
	c.data(&b.resume)
}

func codeOutcome(c *codec, out *ask.Outcome) {
	enum(c, &out.Ending)
	enum(c, &out.Answer.Action)
	c.data(&out.Answer.Result)
	c.data(&out.Answer.Error)
	optional(c, &out.Err, codeReason)
	c.principal(&out.By)
	c.word(&out.Surface)
	c.time(&out.At)
}

// codeReason leaves the cause of an error to the log.
func codeReason(c *codec, e *ask.Error) {
	code := string(e.Code)
	message := e.Message
	c.word(&code)
	c.word(&message)
	if c.reading { // many asks can have one reason, which is never modified
		e.Code, e.Message = ask.Code(code), message
	}
}

func (c *codec) terms(t *ask.Terms) {
	number(c, &t.Timeout)
	number(c, &t.Warn)
	number(c, &t.Extension)
	number(c, &t.Extensions)
	flag(c, &t.NoExtension)
	number(c, &t.Attempts)
}

func (c *codec) principal(p *ask.Principal) {
	c.word(&p.Issuer)
	c.text(&p.Subject)
}

// seal gives a body as it is stored.
func (d *Desk) seal(id string, b body) []byte {
	header := [headerSize]byte{bodyFormat, byte(b.kept.Delivery)}
	return append(header[:], d.cfg.Seal(id, b.encode())...)
}

// told reads from the header of a stored body whether there is nothing left
// to do for its ask: its asker was told, or never will be.
func told(id string, stored []byte) (bool, error) {
	if stored[0] != bodyFormat {
		return false, fmt.Errorf("the stored ask %s has the format %d, and this version reads %d: start the version that wrote it, or begin with an empty store", id, stored[0], bodyFormat)
	}
	if len(stored) < headerSize {
		return false, fmt.Errorf("the stored ask %s cannot be read: %w", id, errBody)
	}
	return stored[1]&^flagRestored != 0, nil
}

// unseal is the reverse of seal.
func (d *Desk) unseal(id string, stored []byte, known *words) (body, error) {
	if _, err := told(id, stored); err != nil {
		return body{}, err
	}
	plain, err := d.cfg.Unseal(id, stored[headerSize:])
	if err != nil {
		return body{}, fmt.Errorf("the stored ask %s cannot be opened with the keys at hand: %w", id, err)
	}
	b, err := decodeBody(plain, known)
	if err != nil {
		return body{}, fmt.Errorf("the stored ask %s cannot be read: %w", id, err)
	}
	b.ask.ID = id
	return b, nil
}
