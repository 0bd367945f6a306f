package catalog

import (
	"bytes"
	"context"
	"fmt"
)

// AllPages makes a view of a list by asking for its pages, one after the other.
// fetch gets the raw token of the cursor to send, nil for the first page, and
// gives the raw result object, which is kept and must not change afterwards.
//
// It ends at MaxPages, MaxBytes and MaxItems with an *ask.Error of the code
// BackendBroken, as NewView does; errors of fetch are passed on as they are.
func AllPages(ctx context.Context, backend string, l List, fetch func(ctx context.Context, cursor []byte) (result []byte, err error)) (*View, error) {
	b := newBuilder(backend, l)
	var cursor []byte
	for range MaxPages {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		page, err := fetch(ctx, cursor)
		if err != nil {
			return nil, err
		}
		next, err := b.add(page)
		switch {
		case err != nil:
			return nil, err
		case next == nil:
			return b.view, nil
		case bytes.Equal(next, cursor) && string(next) == `""`:
			// An empty cursor is a cursor, but servers of the legacy era
			// also write it for the end; what came twice is there once.
			return b.view, nil
		case bytes.Equal(next, cursor):
			return nil, b.broken("leads back to the same page for ever", nil)
		}
		cursor = next
	}
	return nil, b.broken(fmt.Sprintf("has more than %d pages", MaxPages), nil)
}
