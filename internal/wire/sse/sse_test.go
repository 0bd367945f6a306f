package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/answerback/answerback/ask"
)

// readAll gives all events of a stream, each as a line of text, and its error.
func readAll(r *Reader) ([]string, error) {
	var list []string
	for {
		ev, err := r.Next()
		if err != nil {
			return list, err
		}
		s := fmt.Sprintf("%s|%q", ev.Name, ev.Data)
		if ev.Data == nil {
			s = ev.Name + "|nil"
		}
		if ev.HasID {
			s += fmt.Sprintf("|id %q", ev.ID)
		}
		if ev.HasRetry {
			s += "|retry " + ev.Retry.String()
		}
		list = append(list, s)
	}
}

func TestReaderFollowsTheStandard(t *testing.T) {
	for _, c := range []struct{ name, stream, want string }{
		{"one event", "event: message\nid: 7\ndata: {}\n\n", `message|"{}"|id "7"`},
		{"no space after the colon, only one is cut", "data:a\ndata:  b\n\n", `|"a\n b"`},
		{"carriage returns", "data: a\r\rdata: b\r\r", `|"a" |"b"`},
		{"both", "data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", `|"a\nb" |"c"`},
		{"mixed line ends", "data: a\n\r\ndata: b\r\n\ndata: c\r\n\rdata: d\n\n", `|"a" |"b" |"c" |"d"`},
		{"byte order mark", "\ufeffdata: a\n\n", `|"a"`},
		{"only the first byte order mark", "data: a\n\n\ufeffdata: b\n\n", `|"a"`},
		{"comments and unknown fields", ": hi\nfoo: bar\nDATA: x\ndata: a\n:\n\n: end\n\n", `|"a"`},
		{"field without a colon", "data\n\ndata\ndata\n\n", `|"" |"\n"`},
		{"priming event", "id: p1\nretry: 1500\n\n", `|nil|id "p1"|retry 1.5s`},
		{"priming event with empty data", "id: p1\ndata: \n\n", `|""|id "p1"`},
		{"retry alone", "retry: 0\n\n", `|nil|retry 0s`},
		{"bad retry", "retry: 1s\nretry: -1\nretry:\nretry: 99999999999999999999\nretry: 9999999999999999\ndata: a\n\n", `|"a"`},
		{"the last id and name count", "id: 1\nid: 2\nevent: a\nevent: b\ndata: x\n\n", `b|"x"|id "2"`},
		{"empty id", "id\ndata: x\n\n", `|"x"|id ""`},
		{"id with NUL is ignored", "id: a\x00b\ndata: x\n\n", `|"x"`},
		{"a name alone is no event, and does not stay", "event: a\n\ndata: x\n\n", `|"x"`},
		{"unfinished at the end", "data: a\n\ndata: b\n", `|"a"`},
		{"unfinished line at the end", "data: a\n\ndata: b", `|"a"`},
		{"blank lines", "\n\n\r\n\r", ``},
		{"nothing", "", ``},
	} {
		for kind, src := range map[string]io.Reader{
			"whole":          strings.NewReader(c.stream),
			"bytewise":       iotest.OneByteReader(strings.NewReader(c.stream)),
			"with its error": iotest.DataErrReader(strings.NewReader(c.stream)),
		} {
			got, err := readAll(NewReader(src, 1<<10))
			if err != io.EOF || strings.Join(got, " ") != c.want {
				t.Errorf("%s, %s: %s, %v; want %s", c.name, kind, strings.Join(got, " "), err, c.want)
			}
		}
	}
}

func TestReaderGivesAnEventAtItsBlankLine(t *testing.T) {
	for _, end := range []string{"\n", "\r", "\r\n"} {
		src, w := io.Pipe()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = io.WriteString(w, "data: a"+end+end)
		}()
		// Nothing follows and the pipe stays open: a reader that looked for
		// what comes after the blank line would hang here.
		ev, err := NewReader(src, 100).Next()
		if err != nil || string(ev.Data) != "a" {
			t.Errorf("end %q: %q, %v", end, ev.Data, err)
		}
		_ = src.Close()
		<-done
	}
}

func TestReaderRemembersTheLastID(t *testing.T) {
	r := NewReader(strings.NewReader("id: 1\ndata: a\n\ndata: b\n\nid: 2\n\nid: 3\ndata: unfinished"), 100)
	for _, want := range []string{"1", "1", "2"} {
		if _, err := r.Next(); err != nil || r.LastID() != want {
			t.Errorf("last id %q, %v; want %q", r.LastID(), err, want)
		}
	}
	if _, err := r.Next(); err != io.EOF || r.LastID() != "2" {
		t.Errorf("last id %q after the end, %v: that event never came whole", r.LastID(), err)
	}
	if r.Partial() != nil {
		t.Error("a partial event without one that is too large")
	}
}

func TestReaderLimits(t *testing.T) {
	within := "data: 0123456789\n\n: a long comment\ndata: 01234\ndata: 6789\n\n"
	got, err := readAll(NewReader(strings.NewReader(within), 10))
	if err != io.EOF || len(got) != 2 {
		t.Errorf("events just within the limit: %q, %v", got, err)
	}
	for stream, partial := range map[string]string{
		"data: 0123456789a\n\ndata: b\n\n":                   "0123456789a",
		"data:0123456789a\n\n":                               "0123456789a",
		"data: 01234\ndata: 6789a\n\n":                       "01234\n6789a",
		"data:\ndata: " + strings.Repeat("x", 500):           "\n" + strings.Repeat("x", 10),
		"data: {\"id\":5," + strings.Repeat(" ", 100) + "\n": "{\"id\":5,   ",
		"id: " + strings.Repeat("x", 500):                    "",
		strings.Repeat("x", 500) + "\n\n":                    "",
	} {
		for _, src := range []io.Reader{strings.NewReader(stream), iotest.OneByteReader(strings.NewReader(stream))} {
			r := NewReader(src, 10)
			_, err := r.Next()
			if ask.CodeOf(err) != ask.TooLarge {
				t.Errorf("%.40q: %v", stream, err)
			}
			if !bytes.HasPrefix(r.Partial(), []byte(partial)) {
				t.Errorf("%.40q: partial %q, want %q", stream, r.Partial(), partial)
			}
			if _, again := r.Next(); again != err {
				t.Errorf("%.40q: then %v", stream, again)
			}
		}
	}
}

func TestReaderPassesErrorsOn(t *testing.T) {
	broke := errors.New("broke")
	r := NewReader(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broke)), 100)
	if got, err := readAll(r); len(got) != 1 || err != broke {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := r.Next(); err != broke {
		t.Errorf("then %v", err)
	}
	if _, err := NewReader(idle{}, 100).Next(); err != io.ErrNoProgress {
		t.Errorf("a reader that gives nothing: %v", err)
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

func TestReaderLetsLargeBuffersGo(t *testing.T) {
	stream := Append(nil, "", "", bytes.Repeat([]byte("x"), 10*keepBuffer))
	stream = append(stream, "data: small\n\n"...)
	r := NewReader(iotest.HalfReader(bytes.NewReader(stream)), 1<<30)
	for _, want := range []int{10 * keepBuffer, len("small")} {
		if ev, err := r.Next(); err != nil || len(ev.Data) != want {
			t.Fatalf("%d bytes, %v; want %d", len(ev.Data), err, want)
		}
	}
	if _, err := r.Next(); err != io.EOF {
		t.Fatal(err)
	}
	if cap(r.buf) > keepBuffer || cap(r.data) > keepBuffer {
		t.Errorf("%d and %d bytes are held by a quiet stream", cap(r.buf), cap(r.data))
	}
}

// A stream may be quiet for hours while a person thinks, and there are many.
func TestAQuietReaderHoldsLittle(t *testing.T) {
	in, out := io.Pipe()
	defer in.Close()
	r := NewReader(in, 1<<20)
	for range 2 {
		go out.Write(Append(nil, "1", "", bytes.Repeat([]byte("x"), readBuffer-100)))
		if ev, err := r.Next(); err != nil || len(ev.Data) != readBuffer-100 {
			t.Fatalf("%d bytes, %v", len(ev.Data), err)
		}
		// What waits is what Next leaves behind when it finds nothing.
		r.src = iotest.ErrReader(io.ErrNoProgress)
		if _, err := r.Next(); err != io.ErrNoProgress {
			t.Fatal(err)
		}
		if cap(r.buf) > waitBuffer || r.pooled != nil || r.data != nil {
			t.Errorf("a quiet stream holds buffers of %d and %d bytes, want one of %d", cap(r.buf), cap(r.data), waitBuffer)
		}
		r.src, r.err = in, nil
	}
}

// Two streams that take their buffers from one pool do not see each other's
// bytes, and data without text is data wherever the stream pauses.
func TestReadersShareNothing(t *testing.T) {
	stream := func(letter string) io.Reader {
		return strings.NewReader(strings.Repeat("data: "+strings.Repeat(letter, 200)+"\n\ndata:\n\n", 3))
	}
	x := NewReader(iotest.OneByteReader(stream("x")), 1<<20)
	y := NewReader(iotest.HalfReader(stream("y")), 1<<20)
	for i := range 6 {
		a, err := x.Next()
		if err != nil {
			t.Fatal(err)
		}
		b, err := y.Next()
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		if i%2 == 0 {
			want = strings.Repeat("x", 200)
		}
		if a.Data == nil || string(a.Data) != want || b.Data == nil || string(b.Data) != strings.ReplaceAll(want, "x", "y") {
			t.Errorf("event %d: %q and %q", i, a.Data, b.Data)
		}
	}
}

// What is counted is what two Readers of one pool hold, at every event and when
// they are quiet; and a refusal, wherever it comes, ends the stream.
func TestCountIsWhatIsHeld(t *testing.T) {
	sizes := []int{1, waitBuffer, readBuffer - 20, 3 * readBuffer, 2, 3 * keepBuffer, 0, 40}
	var stream []byte
	for _, n := range sizes {
		stream = Append(stream, "1", "", bytes.Repeat([]byte("x"), n))
		stream = append(stream, ": "+strings.Repeat("c", n)+"\n"...)
	}
	held := func(r *Reader) int {
		n := cap(r.wait) + cap(r.data)
		if cap(r.buf) > waitBuffer {
			n += cap(r.buf)
		}
		return n
	}
	full := errors.New("full")
	takings := 0
	begin := func(refuse int) (*Reader, *int) {
		r, counted, taken := NewReader(iotest.HalfReader(bytes.NewReader(stream)), 1<<20), new(int), 0
		r.Count(func(change int) error {
			if change > 0 {
				if taken++; taken == refuse {
					return full
				}
			}
			takings = max(takings, taken)
			if *counted += change; *counted < 0 {
				t.Errorf("%d bytes are counted", *counted)
			}
			return nil
		})
		return r, counted
	}
	x, ofX := begin(0)
	y, ofY := begin(0)
	for _, n := range sizes {
		for r, counted := range map[*Reader]*int{x: ofX, y: ofY} {
			if ev, err := r.Next(); err != nil || len(ev.Data) != n {
				t.Fatalf("%d bytes, %v; want %d", len(ev.Data), err, n)
			}
			if *counted != held(r) {
				t.Errorf("after %d bytes %d are counted, %d held", n, *counted, held(r))
			}
		}
	}
	for r, counted := range map[*Reader]*int{x: ofX, y: ofY} {
		if _, err := r.Next(); err != io.EOF || *counted != waitBuffer || held(r) != waitBuffer {
			t.Errorf("quiet: %v, %d bytes are counted, %d held, want %d", err, *counted, held(r), waitBuffer)
		}
	}
	if takings < len(sizes) {
		t.Fatalf("memory was taken %d times only", takings)
	}
	for refuse := range takings {
		r, counted := begin(refuse + 1)
		_, err := readAll(r)
		if err != full || *counted != held(r) {
			t.Errorf("refused at taking %d: %v, %d bytes are counted, %d held", refuse+1, err, *counted, held(r))
		}
		if _, err := r.Next(); err != full {
			t.Errorf("refused at taking %d, then %v", refuse+1, err)
		}
	}
}

func TestAppend(t *testing.T) {
	for _, c := range []struct{ id, name, data, want string }{
		{"", "", `{"a":1}`, "data: {\"a\":1}\n\n"},
		{"7", "message", "x", "id: 7\nevent: message\ndata: x\n\n"},
		{"p", "", "", "id: p\ndata: \n\n"},
		{"", "", "a\nb\r\nc\rd\n", "data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n"},
		{"1\ndata: evil\r\n\n", "e\x00\nid: 2", "x", "id: 1data: evil\nevent: eid: 2\ndata: x\n\n"},
	} {
		if got := Append([]byte("^"), c.id, c.name, []byte(c.data)); string(got) != "^"+c.want {
			t.Errorf("Append(%q, %q, %q) = %q, want %q", c.id, c.name, c.data, got[1:], c.want)
		}
	}
	got := AppendComment(AppendRetry(AppendRetry(nil, 1500*time.Millisecond), -time.Second), "ping\n\ndata: x")
	if want := "retry: 1500\nretry: 0\n: pingdata: x\n"; string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// FuzzReader holds that how a stream is cut into reads makes no difference,
// and that what is appended is read back.
func FuzzReader(f *testing.F) {
	f.Add([]byte("data: a\n\nid: 1\r\ndata: b\r\rretry: 5\n\n"), "id", "name")
	f.Add([]byte("\ufeffdata: a\r\n\r\n:c\nevent\ndata\n\n"), "", "")
	f.Add([]byte("{\"a\":\r\n1}\r"), "a\x00\n", "x")
	f.Add(bytes.Repeat([]byte("data: 0123456789\n"), 30), "1", "")
	f.Fuzz(func(t *testing.T, stream []byte, id, name string) {
		whole, wholeErr := readAll(NewReader(bytes.NewReader(stream), 200))
		bytewise, err := readAll(NewReader(iotest.OneByteReader(bytes.NewReader(stream)), 200))
		if strings.Join(whole, "\n") != strings.Join(bytewise, "\n") || ask.CodeOf(wholeErr) != ask.CodeOf(err) {
			t.Errorf("%q read at once: %q, %v; by bytes: %q, %v", stream, whole, wholeErr, bytewise, err)
		}

		clean := strings.NewReplacer("\r", "", "\n", "", "\x00", "")
		id, name = clean.Replace(id), clean.Replace(name)
		out := Append(AppendComment(nil, string(stream)), id, name, stream)
		out = Append(out, "", "", nil)
		r := NewReader(bytes.NewReader(out), len(out))
		ev, err := r.Next()
		want := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(stream))
		if err != nil || string(ev.Data) != want || ev.ID != id || ev.HasID != (id != "") || ev.Name != name || ev.HasRetry {
			t.Errorf("%q with id %q, name %q came back as %+v, %v", stream, id, name, ev, err)
		}
		if ev, err := r.Next(); err != nil || len(ev.Data) != 0 || ev.Name != "" || ev.HasID {
			t.Errorf("%q: the next event is %+v, %v", stream, ev, err)
		}
		if _, err := r.Next(); err != io.EOF {
			t.Errorf("%q: at the end %v", stream, err)
		}
	})
}
