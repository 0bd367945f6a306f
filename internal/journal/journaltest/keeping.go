package journaltest

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/journal"
)

func audit(t *testing.T, o Opened) {
	ctx := t.Context()
	began := time.Now().Add(-time.Minute)
	if none := collect(t, o.Journal.ReadAudit(ctx, 0)); len(none) != 0 {
		t.Fatalf("a new audit has %d entries", len(none))
	}
	var want []string
	for i := range 20 {
		a, b := fmt.Sprint("entry ", i, "a"), fmt.Sprint("entry ", i, "b")
		if err := o.Journal.Append(ctx, []byte(a), []byte(b)); err != nil {
			t.Fatal(err)
		}
		want = append(want, a, b)
	}
	all := collect(t, o.Journal.ReadAudit(ctx, 0))
	if len(all) != len(want) {
		t.Fatalf("the audit has %d entries, want %d", len(all), len(want))
	}
	for i, e := range all {
		if string(e.Data) != want[i] || e.At.Before(began) || e.At.After(time.Now().Add(time.Minute)) {
			t.Fatalf("entry %d is %+v, want %q", i, e, want[i])
		}
		if i > 0 && e.Pos < all[i-1].Pos || (i%2 == 1) != (i > 0 && e.Pos == all[i-1].Pos) {
			t.Fatalf("entry %d is at %d, the one before at %d", i, e.Pos, all[i-1].Pos)
		}
	}
	rest := collect(t, o.Journal.ReadAudit(ctx, all[30].Pos))
	if len(rest) != 10 || string(rest[0].Data) != want[30] {
		t.Errorf("from the 31st entry on there are %d", len(rest))
	}
	if none := collect(t, o.Journal.ReadAudit(ctx, all[39].Pos+1)); len(none) != 0 {
		t.Errorf("after the last entry there are %d", len(none))
	}
	for range o.Journal.ReadAudit(ctx, 0) {
		break // giving up must not hang
	}
}

func auditLimits(t *testing.T, o Opened) {
	ctx := t.Context()
	wantErr(t, o.Journal.Append(ctx), journal.Invalid)
	wantErr(t, o.Journal.Append(ctx, make([]byte, journal.MaxBody), []byte{1}), journal.TooLarge)
	wantErr(t, o.Journal.Append(ctx, make([][]byte, journal.MaxAppend+1)...), journal.TooLarge)
	largest := bytes.Repeat([]byte{7}, journal.MaxBody)
	if err := o.Journal.Append(ctx, largest, nil); err != nil {
		t.Fatal(err)
	}
	if err := o.Journal.Append(ctx, make([][]byte, journal.MaxAppend)...); err != nil {
		t.Fatal(err)
	}
	all := collect(t, o.Journal.ReadAudit(ctx, 0))
	if len(all) != 2+journal.MaxAppend || !bytes.Equal(all[0].Data, largest) || len(all[1].Data) != 0 {
		t.Errorf("the audit has %d entries", len(all))
	}
}

func restart(t *testing.T, o Opened) {
	if o.Reopen == nil {
		t.Skip("the store does not outlive its process")
	}
	ctx, j := t.Context(), o.Journal
	want := map[string]journal.Record{}
	for i := range 20 {
		r := record(fmt.Sprint("ask-", i))
		r.Shard = uint16(i)
		r = create(t, j, r)
		if i%3 == 0 {
			r = settled(r, "answered")
			r.Rev = must(j.Update(ctx, r))(t)
		}
		want[r.ID] = r
	}
	s := j.Shelf("grants")
	kept := must(s.Put(ctx, "kept", journal.Rev{}, []byte("value"), 0))(t)
	must(s.Put(ctx, "short", journal.Rev{}, []byte("value"), 2*time.Second))(t)
	dropped := must(s.Put(ctx, "dropped", journal.Rev{}, []byte("value"), 0))(t)
	if err := s.Delete(ctx, "dropped", dropped); err != nil {
		t.Fatal(err)
	}
	if err := j.Append(ctx, []byte("entry")); err != nil {
		t.Fatal(err)
	}

	for range 3 {
		j = o.Reopen(t)
		s = j.Shelf("grants")
		all := collect(t, j.Open(ctx, home))
		if len(all) != len(want) {
			t.Fatalf("%d of %d records are there", len(all), len(want))
		}
		for _, r := range all {
			wantRecord(t, r, want[r.ID])
		}
		wantItem(t, s, "kept", kept, "value")
		if log := collect(t, j.ReadAudit(ctx, 0)); len(log) != 1 || string(log[0].Data) != "entry" {
			t.Fatalf("the audit has %d entries", len(log))
		}
		// Revisions mean the same as before.
		r := want["ask-1"]
		old := r
		r.Body = append(r.Body, '!')
		r.Rev = must(j.Update(ctx, r))(t)
		want[r.ID] = r
		_, err := j.Update(ctx, old)
		wantErr(t, err, journal.Conflict)
	}
	gone(t, s, "short")
	must(s.Put(ctx, "dropped", journal.Rev{}, []byte("again"), 0))(t)
}
