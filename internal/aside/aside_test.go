package aside

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/journal/memjournal"
)

type kit struct {
	*List
	log     strings.Builder
	counted map[Kind]int
}

func newStore(t *testing.T) journal.Journal {
	t.Helper()
	store, err := memjournal.New(memjournal.Config{Now: time.Now, MaxBytes: 64 << 20, MaxAudit: 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close(context.Background()) })
	return store
}

func open(t *testing.T, store journal.Journal, home string) *kit {
	t.Helper()
	k := &kit{counted: map[Kind]int{}}
	var err error
	k.List, err = Open(t.Context(), Config{
		Shelf: store.Shelf("aside"), Home: home, Epoch: 3, Now: time.Now, Log: slog.New(slog.NewTextHandler(&k.log, nil)),
		Count: func(kind Kind) { k.counted[kind]++ },
	})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

var errBroken = errors.New("it is broken")

func fails() error { return errBroken }

func TestWhatFailsTwiceIsLeftAloneUntilItsOperatorSaysSo(t *testing.T) {
	store := newStore(t)
	call, other := Thing{Kind: Call, Name: "session/1", Backend: "one", Asks: []string{"a", "b"}}, Thing{Kind: Task, Name: "session/1"}
	tried := 0
	counts := func() error { tried++; return errBroken }
	for start := 1; start <= 4; start++ {
		k := open(t, store, "home")
		if err := k.TakeUp(call, counts); err == nil || err.Error() != errBroken.Error() {
			t.Errorf("start %d: %v", start, err)
		}
		if err := k.TakeUp(other, func() error { return nil }); err != nil {
			t.Errorf("start %d: what is in order: %v", start, err)
		}
		all := k.All()
		if want := min(start, 2); tried != want || len(all) != 1 || all[0].Failures != want || k.counted[Call] != 1 || k.counted[Task] != 0 {
			t.Errorf("start %d: tried %d times, listed %+v, counted %v", start, tried, all, k.counted)
		}
	}
	k := open(t, store, "home")
	it := k.All()[0]
	if it.Name != call.Name || it.Backend != "one" || len(it.Asks) != 2 || it.Epoch != 3 || it.Tried() {
		t.Errorf("%+v", it)
	}
	if _, err := k.Retry("unknown"); !errors.Is(err, ErrUnknown) {
		t.Errorf("an unknown key: %v", err)
	}
	if again, err := k.Retry(it.Key); err != nil || !again.Tried() {
		t.Errorf("%+v, %v", again, err)
	}
	k = open(t, store, "home")
	if _ = k.TakeUp(call, counts); tried != 3 || k.All()[0].Tried() {
		t.Errorf("after retry it was tried %d times: %+v", tried, k.All())
	}
	if _, err := k.Retry(it.Key); err != nil {
		t.Fatal(err)
	}
	k = open(t, store, "home")
	if err := k.TakeUp(call, func() error { return nil }); err != nil || len(k.All()) != 0 {
		t.Errorf("%v, listed %+v", err, k.All())
	}
	if k = open(t, store, "home"); len(k.All()) != 0 {
		t.Errorf("what was taken up comes back: %+v", k.All())
	}
}

func TestAPanicIsAFailureWithAStack(t *testing.T) {
	k := open(t, newStore(t), "home")
	err := k.TakeUp(Thing{Kind: Call, Name: "x"}, func() error { panic("on purpose") })
	it, found := k.Get(key(Call, "x"))
	if err == nil || found != nil || it.Reason != "panicked: on purpose" || !strings.Contains(it.Stack, "aside_test.go") || !strings.Contains(k.log.String(), "aside_test.go") {
		t.Errorf("%v, %+v, %v", err, it, found)
	}
	var none *List
	if err := none.TakeUp(Thing{Kind: Call, Name: "x"}, func() error { panic("on purpose") }); err == nil {
		t.Error("without a list nothing failed")
	}
}

// Two homes in one store have a list each, and an entry that cannot be read is
// passed over.
func TestListsOfTwoHomes(t *testing.T) {
	store := newStore(t)
	one := open(t, store, "one")
	_ = one.TakeUp(Thing{Kind: Ask, Name: "x"}, fails)
	if _, err := store.Shelf("aside").Put(t.Context(), "one.bad", journal.Rev{}, []byte("garbage"), 0); err != nil {
		t.Fatal(err)
	}
	one = open(t, store, "one")
	two := open(t, store, "two")
	if len(one.All()) != 1 || len(two.All()) != 0 || !strings.Contains(one.log.String(), "one.bad") {
		t.Errorf("%+v, %+v", one.All(), two.All())
	}
	if it, err := one.Forget(one.All()[0].Key); err != nil || it.Name != "x" || len(one.All()) != 0 {
		t.Errorf("%+v, %v", it, err)
	}
}

func TestTheListIsBounded(t *testing.T) {
	k := open(t, newStore(t), "home")
	for n := range maxItems + 10 {
		_ = k.TakeUp(Thing{Kind: Ask, Name: fmt.Sprint(n)}, fails)
	}
	if len(k.All()) != maxItems || k.counted[Ask] != maxItems+10 || strings.Count(k.log.String(), "more was set aside than is listed") != 1 {
		t.Errorf("%d are listed, %d counted", len(k.All()), k.counted[Ask])
	}
}
