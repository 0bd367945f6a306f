package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/answerback/answerback/internal/surface/api"
)

// ids gives those of the questions that wait.
func (k *asksKit) ids() []string {
	k.t.Helper()
	out, _, err := k.run("", "list", "-o", "json")
	var p api.Page
	if err == nil {
		err = json.Unmarshal([]byte(out), &p)
	}
	if err != nil {
		k.t.Fatalf("%v: %s", err, out)
	}
	var ids []string
	for i := range p.Asks {
		ids = append(ids, p.Asks[i].ID)
	}
	return ids
}

// tail is the end of an id, which must not look like a flag.
func tail(id string) string {
	n := 6
	for id[len(id)-n] == '-' {
		n++
	}
	return id[len(id)-n:]
}

func TestAsksTakeShortIDs(t *testing.T) {
	k := newAsksKit(t, detailsForm)
	first := k.id()
	k.client.Tool("ask", "{}").Next()
	ids := k.ids()
	if len(ids) != 2 {
		t.Fatalf("there are %d questions", len(ids))
	}
	second := ids[0]
	if second == first {
		second = ids[1]
	}
	same := 0
	for first[same] == second[same] {
		same++
	}

	for _, args := range [][]string{{"show", first[:same]}, {"extend", first[:same]}, {"answer", first[:same], "--set", "city=Bern"}, {"decline", first[:same]}, {"cancel", first[:same]}} {
		if _, _, err := k.run("", args...); err == nil || !strings.Contains(err.Error(), "stands for 2 open questions") {
			t.Errorf("%v: %v", args, err)
		}
	}
	if got := k.ids(); len(got) != 2 {
		t.Fatalf("an ambiguous id ended a question: %v", got)
	}
	for _, short := range []string{first[:same+1], tail(first)} {
		out, _, err := k.run("", "show", short, "-o", "json")
		if err != nil || !strings.Contains(out, first) {
			t.Errorf("%s shows %s, %v", short, out, err)
		}
	}
	if out, _, err := k.run("", "extend", tail(first)); err != nil {
		t.Errorf("extend: %q %v", out, err)
	}
	if _, _, err := k.run("", "decline", tail(second)); err != nil {
		t.Errorf("decline: %v", err)
	}
	// With the other gone, less is enough.
	if _, _, err := k.run("", "answer", first[:same], "--set", "city=Bern", "--set", "n=7"); err != nil {
		t.Errorf("answer: %v", err)
	}
	if got := k.ids(); len(got) != 0 {
		t.Errorf("open: %v", got)
	}
	if _, _, err := k.run("", "show", "none-such"); err == nil {
		t.Error("an id that stands for nothing is shown")
	}
}

func TestAsksAloneLists(t *testing.T) {
	k := newAsksKit(t, detailsForm)
	out, _, err := k.run("")
	if err != nil || !strings.Contains(out, k.id()) {
		t.Errorf("%q, %v", out, err)
	}
}
