package desk

import (
	"bytes"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/exchange"
	"github.com/answerback/answerback/internal/journal"
)

// fill gives everything in v a value that is not zero and that nothing else
// has.
func fill(t *testing.T, v reflect.Value, n *int) {
	t.Helper()
	*n++
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), n)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1_700_000_000, int64(*n)).UTC()))
			return
		}
		for i := range v.NumField() {
			if v.Type() == reflect.TypeFor[ask.Error]() && i > 1 {
				continue // code and message are what anybody is told later
			}
			fill(t, v.Field(i), n)
		}
	case reflect.String:
		v.SetString(strings.Repeat("x", *n))
	case reflect.Slice:
		v.SetBytes(bytes.Repeat([]byte{0, 0xff}, *n))
	case reflect.Uint8:
		v.SetUint(uint64(*n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(-*n))
	default:
		t.Fatalf("there is a %s in what is stored: teach the codec", v.Type())
	}
}

func fullBody(t *testing.T) body {
	t.Helper()
	var a ask.Ask
	var k exchange.Kept
	n := 0
	fill(t, reflect.ValueOf(&a).Elem(), &n)
	fill(t, reflect.ValueOf(&k).Elem(), &n)
	a.ID, a.Deadline = "", k.Deadline // the one is the record's, the other the state's
	return body{ask: a, kept: k, group: "a group", resume: []byte("a handle")}
}

// Whatever is added to an ask or to its state is stored, or this fails.
func TestEverythingAboutAnAskIsStored(t *testing.T) {
	for name, b := range map[string]body{"full": fullBody(t), "empty": {}} {
		for _, known := range []*words{nil, {}} {
			got, err := decodeBody(b.encode(), known)
			if err != nil || !reflect.DeepEqual(got, b) {
				t.Errorf("%s: %v\ngot  %+v\nwant %+v", name, err, got, b)
			}
		}
	}
}

func TestABodyThatIsNotWholeIsRefused(t *testing.T) {
	b := fullBody(t)
	plain := b.encode()
	for n := range plain {
		if _, err := decodeBody(plain[:n:n], nil); err == nil {
			t.Errorf("cut to %d of %d bytes: read", n, len(plain))
		}
	}
	if _, err := decodeBody(append(plain, 0), nil); err == nil {
		t.Error("with a byte too many: read")
	}
	// Something that is neither there nor missing.
	none := (&body{}).encode()
	none[len(none)-5] = 2
	if _, err := decodeBody(none, nil); err == nil {
		t.Errorf("%x: read", none)
	}
}

func FuzzDecodeBody(f *testing.F) {
	f.Add([]byte{})
	f.Add((&body{}).encode())
	f.Add((&body{ask: question(), kept: exchange.Kept{Outcome: &ask.Outcome{Answer: accept}, Undelivered: errTooLate}}).encode())
	f.Fuzz(func(t *testing.T, plain []byte) {
		b, err := decodeBody(plain, &words{})
		if err != nil {
			return
		}
		again, err := decodeBody(b.encode(), nil)
		if err != nil || !reflect.DeepEqual(again, b) {
			t.Errorf("%+v comes back as %+v, %v", b, again, err)
		}
	})
}

func TestWordsAreKeptOnceAndNotWithoutEnd(t *testing.T) {
	var w words
	for i := range maxWords + 10 {
		w.get([]byte(strings.Repeat("w", i)))
	}
	if len(w.all) != maxWords {
		t.Errorf("%d words are kept, want %d", len(w.all), maxWords)
	}
}

// What is stored in another format is refused by its number, before anything
// is opened.
func TestAnotherFormatIsRefused(t *testing.T) {
	k := newKit(t, nil)
	id := kept(t, k, newResult(t))
	key, _ := k.cfg.Key(id)
	rec, err := k.store.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		body []byte
		want string
	}{
		"a newer one":        {append([]byte{99}, rec.Body[1:]...), "has the format 99, and this version reads 2"},
		"a header cut off":   {rec.Body[:1], "cannot be read"},
		"a body cut off":     {rec.Body[:len(rec.Body)-1], "cannot be read"},
		"sealed for another": {append(rec.Body[:headerSize:headerSize], "sealed for ask-x:"...), "cannot be opened with the keys at hand"},
	} {
		next, h := newHooked(t)
		bad := rec
		bad.Body = c.body
		h.all = func(yield func(journal.Record, error) bool) { yield(bad, nil) }
		if _, err := next.Restore(t.Context(), "home", lost); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), id) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
	k.End(id, ask.Abandoned, nil)
}

// TestReasonsAreNotModified: many asks can end for one reason, which is a
// value that is not modified: writing them at the same time is no race.
func TestReasonsAreNotModified(t *testing.T) {
	why := ask.Errorf(ask.ClientCancelled, "The call was cancelled.")
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			b := body{ask: question(), kept: exchange.Kept{Outcome: &ask.Outcome{Ending: ask.Abandoned, Err: why}, Undelivered: why}}
			if got, err := decodeBody(b.encode(), nil); err != nil || got.kept.Undelivered.Code != why.Code {
				t.Errorf("what was written is read as %v: %v", got.kept.Undelivered, err)
			}
		})
	}
	wg.Wait()
}
