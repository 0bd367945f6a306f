package observe

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/desk"
)

// story is one record of each transition, with everything that it can have.
func story() []desk.Record {
	begin := desk.Record{
		At: when, Ask: "ask-1", Kind: ask.Form, Backend: "files", Name: "delete_file",
		Addressee: ask.Addressee{Principal: ada},
	}
	var all []desk.Record
	add := func(transition string, after time.Duration, change func(*desk.Record)) {
		r := begin
		r.Transition, r.At, r.Since = transition, when.Add(after), after
		if change != nil {
			change(&r)
		}
		all = append(all, r)
	}
	by := func(surface string) func(*desk.Record) {
		return func(r *desk.Record) { r.By, r.Surface = ada, surface }
	}
	answered := func(r *desk.Record) {
		by("page")(r)
		r.Action, r.Digest = ask.Accept, strings.Repeat("0a", 32)
	}
	add("asked", 0, nil)
	add("show_failed", time.Millisecond, func(r *desk.Record) { r.Rung, r.Code = "client", ask.NoClient })
	add("shown", 2*time.Millisecond, func(r *desk.Record) { r.Rung = "page" })
	add("opened", time.Second, by("page"))
	add("consented", time.Second, by("mcp"))
	add("warned", 2*time.Minute, nil)
	add("extended", 3*time.Minute, by("page"))
	add("attempted", 4*time.Minute, by("page"))
	add("restarted", 5*time.Minute, nil)
	add("adopted", 6*time.Minute, nil)
	add("not_yours", 7*time.Minute, func(r *desk.Record) {
		r.By, r.Surface, r.Code = ask.Principal{Issuer: "https://issuer.example", Subject: "eve"}, "page", ask.NotYours
	})
	add("settled", 8*time.Minute, func(r *desk.Record) { answered(r); r.Ending = ask.Answered })
	add("late", 9*time.Minute, func(r *desk.Record) { answered(r); r.Code = ask.TooLate })
	add("delivered", 9*time.Minute, nil)
	add("undeliverable", 9*time.Minute, func(r *desk.Record) { r.Code = ask.BackendLost })
	add("settled", 10*time.Minute, func(r *desk.Record) {
		r.Ask, r.Ending, r.Code, r.Reason = "ask-2", ask.Expired, ask.Timeout, ask.TimedOut
		r.Addressee = ask.Addressee{Group: "operators"}
	})
	// An answer to a question that is no longer held: nothing is known of it.
	return append(all, desk.Record{At: when, Transition: "late", Ask: "ask-3", By: ada, Surface: "mcp", Code: ask.TooLate, Digest: "00", Action: ask.NoAction})
}

func TestAuditLinesAreStable(t *testing.T) {
	var got strings.Builder
	for _, r := range story() {
		line := appendLine(nil, &r)
		if !json.Valid(line) {
			t.Errorf("not JSON: %s", line)
		}
		got.Write(append(line, '\n'))
	}
	for _, r := range []AccountRecord{
		{At: when, Transition: "grant_connected", Ask: "ask-1", Backend: "files", By: ada, Issuer: "https://login.example"},
		{At: when, Transition: "grant_lost", Backend: "files", By: ada, Reason: "expired"},
	} {
		got.Write(append(appendAccount(nil, &r), '\n'))
	}
	golden(t, "audit.golden.jsonl", got.String())
}

// Whatever others call themselves, a record stays one line of JSON of bounded
// length.
func TestHostileNamesStayInTheirLine(t *testing.T) {
	for _, name := range []string{"a\nb", `","code":"x`, "\x00\x1b[31m", "\xff\xfe", strings.Repeat("\x01", 1<<20), strings.Repeat("ü", 1<<20)} {
		r := settled(name, ask.Answered, "")
		r.Backend, r.Name, r.Surface = name, name, name
		r.By = ask.Principal{Issuer: name, Subject: name}
		r.Addressee = ask.Addressee{Principal: r.By}
		line := appendLine(nil, &r)
		var read struct {
			Code string `json:"code"`
			Name string `json:"name"`
		}
		if err := json.Unmarshal(line, &read); err != nil || read.Code != "" || read.Name == "" {
			t.Errorf("%.20q: %+.40v, %v", name, read, err)
		}
		if strings.ContainsAny(string(line), "\n\r\x00\x1b") || len(line) > 40<<10 {
			t.Errorf("%.20q: %d bytes", name, len(line))
		}
	}
	if got := clip("aü", 2); got != "a" {
		t.Errorf("cut within a character: %q", got)
	}
}
