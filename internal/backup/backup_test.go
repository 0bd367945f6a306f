package backup_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/backup"
	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/seal"
)

var update = flag.Bool("update", false, "make the backup of the current format in testdata again")

// store is a Saver with these records, and then an error, if there is one.
type store struct {
	n      int
	record func(i int) journal.Saved
	err    error
}

func (s *store) Info(context.Context) (journal.StoreInfo, error) {
	return journal.StoreInfo{ID: "the-store", Now: 42}, nil
}

func (s *store) Save(_ context.Context, audit bool) iter.Seq2[journal.Saved, error] {
	return func(yield func(journal.Saved, error) bool) {
		for i := range s.n {
			r := s.record(i)
			if (audit || r.Kind != journal.SavedAudit) && !yield(r, nil) {
				return
			}
		}
		if s.err != nil {
			yield(journal.Saved{}, s.err)
		}
	}
}

var at = time.Date(2026, 11, 15, 12, 0, 0, 5, time.UTC)

// some has a record of every kind.
var some = []journal.Saved{
	{Kind: journal.SavedAsk, Expires: 7, Until: 9, Ask: journal.Record{
		Key: journal.Key{Shard: 65535, Home: "home", ID: "id"}, Addressee: "ann", Asked: at, Settled: true, Keep: time.Hour, Body: []byte("body")}},
	{Kind: journal.SavedAsk, Expires: journal.Never, Until: journal.Never, Ask: journal.Record{
		Key: journal.Key{Home: "home", ID: "other"}, Asked: at, Deadline: at.Add(time.Hour), Body: []byte{}}},
	{Kind: journal.SavedItem, Expires: journal.Never, Until: journal.Never, Shelf: "grants", Key: "a.b", Value: []byte("value")},
	{Kind: journal.SavedEnd, Until: journal.Never, Shelf: "grants", Key: "gone", Value: []byte{}},
	{Kind: journal.SavedAudit, At: at, Value: []byte("entry")},
}

func of(records []journal.Saved) *store {
	return &store{n: len(records), record: func(i int) journal.Saved { return records[i] }}
}

func ringOf(t *testing.T, b byte) *seal.Ring {
	t.Helper()
	r, err := seal.New(bytes.Repeat([]byte{b}, seal.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func taken(t *testing.T, ring *seal.Ring, from journal.Saver) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := backup.Write(t.Context(), &b, ring, backup.Header{Home: "home", Epoch: 3, Audit: true}, from); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func all(t *testing.T, ring *seal.Ring, file []byte) (backup.Header, []journal.Saved) {
	t.Helper()
	r, err := backup.NewReader(bytes.NewReader(file), ring)
	if err != nil {
		t.Fatal(err)
	}
	var got []journal.Saved
	for s, err := range r.Records() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, s)
	}
	return r.Header, got
}

func TestWhatIsWrittenIsReadAgain(t *testing.T) {
	ring := ringOf(t, 1)
	file := taken(t, ring, of(some))
	h, got := all(t, ring, file)
	if h.Home != "home" || h.Epoch != 3 || h.Store != "the-store" || h.Now != 42 || h.At.IsZero() || !h.Audit {
		t.Errorf("the header is %+v", h)
	}
	if !reflect.DeepEqual(got, some) {
		t.Errorf("got %+v\nwant %+v", got, some)
	}
	if bytes.Contains(file, []byte("grants")) || bytes.Contains(file, []byte("body")) {
		t.Error("the file can be read without the key ring")
	}
	_, n, err := backup.Verify(bytes.NewReader(file), ring)
	if want := (backup.Count{Asks: 2, Items: 1, Ends: 1, Audit: 1}); err != nil || n != want || n.Records() != 5 {
		t.Errorf("%+v %v", n, err)
	}
	var without bytes.Buffer
	if n, err := backup.Write(t.Context(), &without, ring, backup.Header{}, of(some)); err != nil || n.Audit != 0 || n.Records() != 4 {
		t.Errorf("without the audit: %+v %v", n, err)
	}
}

// A file that is not a whole backup of this gateway is refused, and the words
// say why.
func TestOtherFilesAreRefused(t *testing.T) {
	ring := ringOf(t, 1)
	good := taken(t, ring, of(some))
	failing := of(some)
	failing.err = errors.New("the store is gone")
	var broken bytes.Buffer
	if _, err := backup.Write(t.Context(), &broken, ring, backup.Header{}, failing); !errors.Is(err, failing.err) {
		t.Fatal(err)
	}
	changed := bytes.Clone(good)
	changed[len(changed)/2] ^= 1
	const first = "answerback backup 1\n"
	for name, each := range map[string]struct {
		file []byte
		want string
	}{
		"empty":            {nil, "is not a backup"},
		"a text":           {[]byte("dear diary, today I have restored a backup"), "is not a backup"},
		"cut off":          {good[:len(good)-1], "changed or cut off"},
		"cut off early":    {good[:30], "changed or cut off"},
		"the first line":   {good[:len(first)], "changed or cut off"},
		"changed":          {changed, "changed or cut off"},
		"longer":           {append(bytes.Clone(good), 'x'), "changed or cut off"},
		"of a broken try":  {broken.Bytes(), "changed or cut off"},
		"another format":   {append([]byte("answerback backup 2\n"), good[len(first):]...), "newer version"},
		"an older format":  {append([]byte("answerback backup 0\n"), good[len(first):]...), "the version that made it"},
		"no format at all": {append([]byte("answerback backup x\n"), good[len(first):]...), "changed or cut off"},
		"another ring's":   {taken(t, ringOf(t, 2), of(some)), "a key that is not in this key ring: put the file keys"},
	} {
		if _, _, err := backup.Verify(bytes.NewReader(each.file), ring); err == nil || !strings.Contains(err.Error(), each.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A backup of every format that this version says it reads is kept.
func TestBackupsOfEveryReadableFormatAreRead(t *testing.T) {
	ring := ringOf(t, 7)
	name := func(format int) string {
		return filepath.Join("testdata", fmt.Sprintf("format-%d.backup", format))
	}
	if *update {
		if err := os.WriteFile(name(backup.Format), taken(t, ring, of(some)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for f := backup.OldestFormat; f <= backup.Format; f++ {
		file, err := os.ReadFile(name(f))
		if err != nil {
			t.Fatalf("there is no backup of this format: make it with -update: %v", err)
		}
		if h, got := all(t, ring, file); h.Home != "home" || !reflect.DeepEqual(got, some) {
			t.Errorf("format %d: %+v %+v", f, h, got)
		}
	}
}

// peak is what the heap holds at most while something runs, looked at between
// records.
type peak struct{ most uint64 }

func (p *peak) look() {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	p.most = max(p.most, m.HeapAlloc)
}

// The memory that a backup takes does not grow with the store: 10,000 records
// of 16 KB are taken and read with less than a tenth of them in memory.
func TestMemoryIsBounded(t *testing.T) {
	const records, size = 10_000, 16 << 10
	ring := ringOf(t, 1)
	var p peak
	big := &store{n: records, record: func(i int) journal.Saved {
		if i%1000 == 0 {
			p.look()
		}
		value := make([]byte, size)
		copy(value, fmt.Sprint(i))
		return journal.Saved{Kind: journal.SavedItem, Expires: journal.Never, Until: journal.Never, Shelf: "results", Key: fmt.Sprint("k", i), Value: value}
	}}
	f, err := os.Create(filepath.Join(t.TempDir(), "big.backup"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := backup.Write(t.Context(), f, ring, backup.Header{}, big); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	r, err := backup.NewReader(f, ring)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for s, err := range r.Records() {
		if err != nil || len(s.Value) != size {
			t.Fatal(len(s.Value), err)
		}
		if n++; n%1000 == 0 {
			p.look()
		}
	}
	if n != records || p.most > records*size/10 {
		t.Errorf("%d records with %d bytes in memory", n, p.most)
	}
}
