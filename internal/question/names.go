package question

import (
	"context"
	"net/netip"
	"net/url"
	"time"

	"github.com/answerback/answerback/form"
)

// Names finds out what the names in the addresses of an answer stand for, so
// that a public name does not lead to a private place. Nil looks nothing up.
// It is called from many goroutines.
type Names func(ctx context.Context, host string) ([]netip.Addr, error)

const (
	// lookupTime bounds the lookups of one answer.
	lookupTime = 3 * time.Second
	// maxLookups bounds their number: whoever gives more addresses than that
	// has the rest judged by their text alone.
	maxLookups = 16
)

// Check refuses the addresses among the values of an answer whose names stand
// for a private, local or otherwise special address, but where the form may
// allow that. A name that nobody knows is no reason: it may be known to whoever
// asked. What it stands for later is for whoever opens it to check again.
func (n Names) Check(ctx context.Context, f *form.Form, values form.Values) (errs form.Errors) {
	if n == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	looked := 0
	for i := range f.Fields() {
		fd := &f.Fields()[i]
		text, ok := values[fd.ID].(string)
		if fd.Type != form.URL || !ok || fd.Constraints.AllowPrivate || looked == maxLookups {
			continue
		}
		u, err := url.Parse(text)
		if err != nil {
			continue // the form judged it
		}
		looked++
		if host := u.Hostname(); n.special(ctx, host) {
			errs = append(errs, form.Error{
				Field: fd.ID, Code: form.Code, Path: []string{fd.ID}, Constraint: "blockPrivateIPs", Expected: true, Actual: host,
				Message: "Enter an address on the public internet. This name leads to a private one.",
			})
		}
	}
	return errs
}

// special reports whether a name stands for an address that is not public,
// if only among others.
func (n Names) special(ctx context.Context, host string) bool {
	addrs, err := n(ctx, host)
	if err != nil {
		return false
	}
	for _, a := range addrs {
		if !form.PublicAddr(a.Unmap()) {
			return true
		}
	}
	return false
}
