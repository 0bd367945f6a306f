package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/answerback/answerback/ask"
)

func TestViewKeepsItemsAsTheyAre(t *testing.T) {
	first := `{ "title":"x", "name" : "ech\u006f", "big":12345678901234567890, "x":[1, 2] }`
	second := `{"name":"b","inputSchema":{"name":"not me"}}`
	v, err := NewView("srv", Tools,
		[]byte(` {"ttlMs":5,"tools":[`+first+`,`+second+`],"nextCursor":"n","_meta":{"tools":1}} `),
		[]byte(`{"tools":[{"name":"c"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if v.Len() != 3 || !v.Has("echo") || !v.Has("b") || !v.Has("c") || v.Has("not me") {
		t.Fatalf("items %+v", v.items)
	}
	if got := string(v.Item("echo")); got != first {
		t.Errorf("Item = %s", got)
	}
	if v.Item("nope") != nil {
		t.Error("an item that is not there is found")
	}
	if v.Match("echo") {
		t.Error("a list of tools matches URIs")
	}
}

func TestViewLeavesOutWhatHasNoOneName(t *testing.T) {
	for _, item := range []string{
		`{}`, `1`, `null`, `"a"`, `["name","a"]`, `{"name":1}`, `{"name":null}`, `{"name":""}`, `{"uri":"a"}`,
		`{"name":"a","name":"b"}`, `{"name":"a","n\u0061me":"b"}`, `{"Name":"a"}`, `{"name":"a","NAME":"b"}`,
	} {
		v, err := NewView("srv", Tools, []byte(`{"tools":[`+item+`,{"name":"good"}]}`))
		if err != nil {
			t.Errorf("%s: %v", item, err)
		} else if v.Len() != 1 || !v.Has("good") {
			t.Errorf("%s: %d items", item, v.Len())
		}
	}
}

func TestViewKeepsTheFirstOfOneName(t *testing.T) {
	v, err := NewView("srv", Prompts, []byte(`{"prompts":[{"name":"a","v":1},{"name":"\u0061","v":2}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if v.Len() != 1 || string(v.Item("a")) != `{"name":"a","v":1}` {
		t.Fatalf("items %+v", v.items)
	}
}

func TestViewTakesEmptyLists(t *testing.T) {
	for _, result := range []string{`{}`, `{"tools":null}`, `{"tools":[]}`} {
		if v, err := NewView("srv", Tools, []byte(result)); err != nil || v.Len() != 0 {
			t.Errorf("%s: %v", result, err)
		}
	}
}

func TestViewRefusesBrokenResults(t *testing.T) {
	many := func(l List, n int) string {
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprint(i)
		}
		return string(page(l, names...))
	}
	for _, tt := range []struct {
		list   List
		result string
	}{
		{Tools, ``}, {Tools, `{`}, {Tools, `[]`}, {Tools, `null`}, {Tools, `{"tools":{}}`}, {Tools, `{"tools":1}`},
		{Tools, `{"tools":[],"tools":[]}`}, {Tools, `{"tools":[],"Tools":[]}`},
		{Tools, `{"tools":[],"nextCursor":1}`}, {Tools, `{"tools":[],"nextCursor":"a","nextCursor":"b"}`},
		{Tools, many(Tools, MaxItems+1)}, {Templates, many(Templates, MaxTemplates+1)},
		{Tools, `{"tools":[]` + strings.Repeat(" ", MaxBytes) + `}`},
	} {
		_, err := NewView("srv", tt.list, []byte(tt.result))
		wantCode(t, err, ask.BackendBroken)
		if msg := ask.From(err).Message; !strings.Contains(msg, "backend srv") || !strings.Contains(msg, tt.list.Method()) {
			t.Errorf("the message %q does not say who and what", msg)
		}
	}
	if v, err := NewView("srv", Tools, []byte(many(Tools, MaxItems))); err != nil || v.Len() != MaxItems {
		t.Errorf("%d items are refused: %v", MaxItems, err)
	}
}

// scripted serves pages by the raw cursor token.
func scripted(pages map[string]string) func(context.Context, []byte) ([]byte, error) {
	return func(_ context.Context, cursor []byte) ([]byte, error) {
		page, ok := pages[string(cursor)]
		if !ok {
			return nil, errors.New("no page " + string(cursor))
		}
		return []byte(page), nil
	}
}

func TestAllPagesFollowsCursors(t *testing.T) {
	v, err := AllPages(t.Context(), "srv", Tools, scripted(map[string]string{
		"":         `{"tools":[{"name":"a"}],"nextCursor":""}`,
		`""`:       `{"tools":[{"name":"b"}],"nextCursor":"\u0032"}`,
		`"\u0032"`: `{"tools":[{"name":"a"},{"name":"c"}],"nextCursor":null}`,
	}))
	if err != nil {
		t.Fatal(err)
	}
	if v.Len() != 3 || v.items[0].key+v.items[1].key+v.items[2].key != "abc" {
		t.Fatalf("items %+v", v.items)
	}
}

func TestAllPagesTakesAnEmptyCursorForTheEndWhenItComesBack(t *testing.T) {
	v, err := AllPages(t.Context(), "srv", Tools, func(context.Context, []byte) ([]byte, error) {
		return []byte(`{"tools":[{"name":"a"}],"nextCursor":""}`), nil
	})
	if err != nil || v.Len() != 1 {
		t.Fatalf("%v, %v", v, err)
	}
}

func TestAllPagesEnds(t *testing.T) {
	t.Run("when the cursor comes back", func(t *testing.T) {
		_, err := AllPages(t.Context(), "srv", Tools, func(context.Context, []byte) ([]byte, error) {
			return []byte(`{"tools":[],"nextCursor":"x"}`), nil
		})
		wantCode(t, err, ask.BackendBroken)
	})
	t.Run("after the last page", func(t *testing.T) {
		calls := 0
		_, err := AllPages(t.Context(), "srv", Tools, func(context.Context, []byte) ([]byte, error) {
			calls++
			return fmt.Appendf(nil, `{"tools":[],"nextCursor":"%d"}`, calls), nil
		})
		wantCode(t, err, ask.BackendBroken)
		if calls != MaxPages {
			t.Errorf("%d pages were fetched", calls)
		}
	})
	t.Run("when a page is broken", func(t *testing.T) {
		_, err := AllPages(t.Context(), "srv", Tools, scripted(map[string]string{"": `[]`}))
		wantCode(t, err, ask.BackendBroken)
	})
	t.Run("when fetching fails", func(t *testing.T) {
		_, err := AllPages(t.Context(), "srv", Tools, scripted(nil))
		if err == nil || err.Error() != "no page " {
			t.Errorf("error %v", err)
		}
	})
	t.Run("with its context", func(t *testing.T) {
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		calls := 0
		_, err := AllPages(ctx, "srv", Tools, func(context.Context, []byte) ([]byte, error) {
			calls++
			cancel(why)
			return fmt.Appendf(nil, `{"tools":[],"nextCursor":"%d"}`, calls), nil
		})
		if !errors.Is(err, why) || calls != 1 {
			t.Errorf("error %v after %d pages", err, calls)
		}
	})
}
