package catalog

import (
	"errors"
	"strings"
	"testing"

	"github.com/answerback/answerback/ask"
)

func TestRoute(t *testing.T) {
	noDelete, err := NewFilter(nil, []string{"delete*"})
	if err != nil {
		t.Fatal(err)
	}
	parts := []Part{
		{Backend: "a", View: view(t, "a", Tools, "echo", "delete", "b__odd"), Filter: noDelete},
		{Backend: "b", View: view(t, "b", Tools, "echo", "add", "delete_b")},
	}
	down := []Part{parts[0], {Backend: "b"}}
	locked := []Part{parts[0], {Backend: "b", Filter: noDelete}}
	for _, tt := range []struct {
		what         string
		list         List
		parts        []Part
		name         string
		prefix       bool
		backend, own string
		code         ask.Code
	}{
		{"prefixed", Tools, parts, "b__echo", true, "b", "echo", ""},
		{"prefixed, not listed", Tools, parts, "b__hidden", true, "b", "hidden", ""},
		{"prefixed, not fetched", Tools, down, "b__echo", true, "b", "echo", ""},
		{"prefixed, name with a separator", Tools, parts, "a__b__odd", true, "a", "b__odd", ""},
		{"prefixed, no such backend", Tools, parts, "c__echo", true, "", "", ask.UnknownName},
		{"prefixed, no prefix", Tools, parts, "echo", true, "", "", ask.UnknownName},
		{"prefixed, filtered", Tools, parts, "a__delete", true, "", "", ask.UnknownName},
		{"prefixed, not filtered by another's filter", Tools, parts, "b__delete_b", true, "b", "delete_b", ""},
		{"prompts are not filtered", Prompts, parts, "a__delete", true, "a", "delete", ""},
		{"plain, first wins", Tools, parts, "echo", false, "a", "echo", ""},
		{"plain, second", Tools, parts, "add", false, "b", "add", ""},
		{"plain, looks prefixed", Tools, parts, "b__odd", false, "a", "b__odd", ""},
		{"plain, unknown", Tools, parts, "nope", false, "", "", ask.UnknownName},
		{"plain, filtered", Tools, parts, "delete", false, "", "", ask.UnknownName},
		{"plain, second not filtered", Tools, parts, "delete_b", false, "b", "delete_b", ""},
		{"plain, perhaps on one that is down", Tools, down, "add", false, "", "", ask.BackendUnreachable},
		{"plain, filtered on the one that is down", Tools, locked, "delete_x", false, "", "", ask.UnknownName},
		{"plain, found though one is down", Tools, down, "echo", false, "a", "echo", ""},
		{"one backend, not listed", Tools, parts[:1], "hidden", false, "a", "hidden", ""},
		{"one backend, filtered", Tools, parts[:1], "delete", false, "", "", ask.UnknownName},
		{"one backend, prefixed", Tools, parts[:1], "a__echo", true, "a", "echo", ""},
		{"no backend", Tools, nil, "echo", false, "", "", ask.UnknownName},
		{"no backend, prefixed", Tools, nil, "a__echo", true, "", "", ask.UnknownName},
		{"empty name, prefixed", Tools, []Part{{Backend: ""}}, "", true, "", "", ask.UnknownName},
	} {
		t.Run(tt.what, func(t *testing.T) {
			backend, own, err := Route(tt.list, tt.parts, tt.name, tt.prefix)
			wantCode(t, err, tt.code)
			if backend != tt.backend || own != tt.own {
				t.Errorf("%q, %q", backend, own)
			}
		})
	}
}

func TestAFilteredToolLooksUnknown(t *testing.T) {
	f, _ := NewFilter([]string{"x"}, nil)
	parts := []Part{{Backend: "a", View: view(t, "a", Tools, "secret"), Filter: f}, {Backend: "b", View: view(t, "b", Tools)}}
	for _, prefix := range []bool{false, true} {
		name, other := "secret", "nope"
		if prefix {
			name, other = "a__secret", "a__nope"
		}
		_, _, err := Route(Tools, parts, name, prefix)
		_, _, none := Route(Tools, parts, other, prefix)
		if got, want := ask.From(err).Message, strings.Replace(ask.From(none).Message, "nope", "secret", 1); got != want {
			t.Errorf("%q differs from %q", got, want)
		}
		if !errors.Is(err, errFiltered) {
			t.Errorf("the log is not told why: %v", err)
		}
	}
}

func TestMessagesStayShort(t *testing.T) {
	_, _, err := Route(Tools, nil, strings.Repeat("é", 1<<20), false)
	if msg := ask.From(err).Message; len(msg) > 200 || !strings.Contains(msg, "cut off") {
		t.Errorf("message of %d bytes", len(msg))
	}
}

func TestLocate(t *testing.T) {
	resources := []Part{
		{Backend: "a", View: view(t, "a", Resources, "x://1", "db://users")},
		{Backend: "b", View: view(t, "b", Resources, "x://1", "x://2")},
	}
	templates := []Part{
		{Backend: "a", View: view(t, "a", Templates, "{+x}all", "same://{a}")},
		{Backend: "b", View: view(t, "b", Templates, "db://{table}", "search://s{?q}", "same://{b}", "db://{+x}s")},
		{Backend: "c", View: view(t, "c", Templates, "db://{table}/rows", "{+x}ows")},
	}
	for _, tt := range []struct {
		uri, backend string
		code         ask.Code
	}{
		{"x://1", "a", ""},
		{"x://2", "b", ""},
		{"db://users", "a", ""}, // listed by a, though b's template matches
		{"db://orders", "b", ""},
		{"db://orders/rows", "c", ""},
		{"db://all", "b", ""},       // more literal than a's catch-all
		{"any://all", "a", ""},      // the catch-all
		{"same://1", "a", ""},       // equals: the first
		{"search://s{?q}", "b", ""}, // a template itself, as completions name it
		{"nope://1", "", ask.UnknownName},
		{"", "", ask.UnknownName},
	} {
		backend, err := Locate(resources, templates, tt.uri)
		if backend != tt.backend || ask.CodeOf(err) != tt.code {
			t.Errorf("Locate(%q) = %q, %v", tt.uri, backend, err)
		}
	}
}

func TestLocateWithFewBackends(t *testing.T) {
	a := Part{Backend: "a", View: view(t, "a", Resources, "x://1")}
	for _, tt := range []struct {
		what                 string
		resources, templates []Part
		backend              string
		code                 ask.Code
	}{
		{"one serves what it does not list", []Part{a}, []Part{{Backend: "a"}}, "a", ""},
		{"one that was not fetched", nil, []Part{{Backend: "a"}}, "a", ""},
		{"none", nil, nil, "", ask.UnknownName},
		{"two, one of them down", []Part{a, {Backend: "b"}}, nil, "", ask.BackendUnreachable},
		{"two, templates of one down", []Part{a}, []Part{{Backend: "b"}}, "", ask.BackendUnreachable},
	} {
		backend, err := Locate(tt.resources, tt.templates, "x://other")
		if backend != tt.backend || ask.CodeOf(err) != tt.code {
			t.Errorf("%s: %q, %v", tt.what, backend, err)
		}
	}
}
