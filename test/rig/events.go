package rig

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/answerback/answerback/internal/wire/sse"
)

// Front is a chat front end at the event stream, byte by byte.
type Front struct {
	URL    string // up to and including /events
	Header http.Header
	// Check is told of every event, where it is set. Set it before the first
	// use.
	Check func(raw []byte) error

	t    testing.TB
	http *http.Client
}

// NewFront makes a front end of a gateway that sends these headers, given in
// pairs, with everything.
func NewFront(t testing.TB, g *Gateway, headers ...string) *Front {
	f := &Front{URL: strings.TrimSuffix(g.URL, "/mcp") + "/events", Header: http.Header{}, t: t, http: httpClient(t)}
	for i := 0; i+1 < len(headers); i += 2 {
		f.Header.Set(headers[i], headers[i+1])
	}
	return f
}

// Do sends a request to a path below /events; more headers come in pairs.
func (f *Front) Do(method, path, body string, headers ...string) *http.Response {
	f.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	f.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, method, f.URL+path, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	r.Header = f.Header.Clone()
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := f.http.Do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// Say is Do that reads the response to its end.
func (f *Front) Say(method, path, body string, headers ...string) (status int, text string) {
	f.t.Helper()
	resp := f.Do(method, path, body, headers...)
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(b))
}

// Call starts a call at a backend and reads its first event.
func (f *Front) Call(backend, body string, headers ...string) *Feed {
	f.t.Helper()
	return f.Open(http.MethodPost, "/"+backend+"/call", body, headers...)
}

// Open sends a request that is answered with events, and reads the first.
func (f *Front) Open(method, path, body string, headers ...string) *Feed {
	f.t.Helper()
	resp := f.Do(method, path, body, headers...)
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		b, _ := io.ReadAll(resp.Body)
		f.t.Fatalf("%s %s was answered with %d: %s", method, path, resp.StatusCode, b)
	}
	s := &Feed{t: f.t, check: f.Check, body: resp.Body, events: sse.NewReader(resp.Body, 64<<20)}
	first := s.Next()
	s.ID, _ = first["callId"].(string)
	return s
}

// Feed is the stream of one call.
type Feed struct {
	ID     string // the call's, where its first event was read
	LastID string // of the newest event
	Raw    []string
	Seen   []Event

	t      testing.TB
	check  func([]byte) error
	body   io.Closer
	events *sse.Reader
}

// Event is one event's data.
type Event map[string]any

// Type is the event's type.
func (e Event) Type() string { return fmt.Sprint(e["type"]) }

// Path gives a member of members.
func (e Event) Path(keys ...string) any {
	var v any = map[string]any(e)
	for _, k := range keys {
		m, _ := v.(map[string]any)
		v = m[k]
	}
	return v
}

// Next reads the next event, nil at the end of the stream.
func (s *Feed) Next() Event {
	s.t.Helper()
	for {
		ev, err := s.events.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			s.t.Fatal(err)
		}
		if ev.Data == nil {
			continue
		}
		if ev.HasID {
			s.LastID = ev.ID
		}
		var e Event
		if err := json.Unmarshal(ev.Data, &e); err != nil {
			s.t.Fatalf("an event is not JSON: %v: %s", err, ev.Data)
		}
		if e.Type() != ev.Name {
			s.t.Fatalf("the event %s has the type %v", ev.Name, e["type"])
		}
		if s.check != nil {
			if err := s.check(ev.Data); err != nil {
				s.t.Error(err)
			}
		}
		s.Raw, s.Seen = append(s.Raw, string(ev.Data)), append(s.Seen, e)
		return e
	}
}

// Until reads on until an event of a type.
func (s *Feed) Until(kind string) Event {
	s.t.Helper()
	for e := s.Next(); e != nil; e = s.Next() {
		if e.Type() == kind {
			return e
		}
	}
	s.t.Fatalf("the stream ended without %s: %s", kind, s.Raw)
	return nil
}

// Rest reads to the end of the stream, and gives the types of all events.
func (s *Feed) Rest() []string {
	s.t.Helper()
	for s.Next() != nil {
	}
	types := make([]string, len(s.Seen))
	for i, e := range s.Seen {
		types[i] = e.Type()
	}
	return types
}

// Leave closes the connection.
func (s *Feed) Leave() { s.body.Close() }
