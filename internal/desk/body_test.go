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
