//go:build crash

package crash

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/answerback/answerback/test/crash/lossyfs"
)

// recovers is how soon the store must work again after the disk does: its
// attempts are at most ten seconds apart.
const recovers = 12 * time.Second

// bench is a gateway with one question that somebody has before them.
type bench struct {
	*world
	g     *gateway
	disk  *drive
	who   *browser
	asker *client
	call  *stream
	open  item
	token string // of its page
}

func newBench(t *testing.T) *bench {
	w := newWorld(t)
	b := &bench{world: w, disk: newDrive(w.site), asker: &client{http: w.http}}
	b.g = w.site.up(w.site.start())
	var err error
	if b.who, err = b.g.visit(w.life, w.http); err != nil {
		t.Fatal(err)
	}
	if err := b.asker.open(w.life, b.g); err != nil {
		t.Fatal(err)
	}
	b.open, b.call = b.ask(t)
	if b.token, _, _, err = b.who.page(w.life, w.book, b.open); err != nil || b.token == "" {
		t.Fatalf("the page: %q %v", b.token, err)
	}
	return b
}

// ask makes a call whose question its client is shown.
func (b *bench) ask(t *testing.T) (item, *stream) {
	t.Helper()
	n := b.book.next()
	s, err := b.asker.call(b.life, b.g, "ask", n)
	if err != nil {
		t.Fatal(err)
	}
	q, err := s.next()
	if err != nil {
		t.Fatal(err)
	}
	if q.Method != "elicitation/create" {
		t.Fatalf("instead of a question came %+v: %v", q, q.failure())
	}
	var id string
	if err := json.Unmarshal(q.ID, &id); err != nil {
		t.Fatal(err)
	}
	return item{id, n}, s
}

// goesOn checks that what needs no store works: a plain call, and a question
// that passes through between its backend and its client.
func (b *bench) goesOn(t *testing.T) {
	t.Helper()
	s, err := b.asker.call(b.life, b.g, "plain", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer s.body.Close()
	if m, err := s.next(); err != nil || m.failure() != nil || m.Result.Content[0].Text != "done" {
		t.Errorf("a plain call: %+v %v", m, err)
	}
	passing, s := b.ask(t)
	value := newValue(passing.n, "client")
	if err := b.asker.answer(b.life, b.g, fmt.Appendf(nil, "%q", passing.id), value); err != nil {
		t.Errorf("the client's answer: %v", err)
	}
	if m, err := s.next(); err != nil {
		t.Error(err)
	} else if got, _ := m.value(); got != value {
		t.Errorf("a question that passes through: %+v: %v", m, m.failure())
	}
}

// refuses checks that nobody is promised anything.
func (b *bench) refuses(t *testing.T) {
	t.Helper()
	status, body, err := b.who.submit(b.life, b.book, b.open, b.token, newValue(b.open.n, "refused"))
	switch {
	case err != nil:
		t.Fatal(err)
	case status < 500 || !strings.Contains(body, "It is not known whether your answer was taken"):
		t.Errorf("the answer: %d %s", status, shorten(body))
	}
	n := b.book.next()
	m, err := (&client{http: b.http}).modern(b.life, b.g, n, "")
	switch {
	case err != nil:
		t.Fatal(err)
	case m.failure() == nil || !strings.Contains(m.failure().Error(), "store"):
		t.Errorf("a question that would have to be kept got %+v, want a refusal that names the store", m)
	}
	if log := b.g.log(); !strings.Contains(log, "code=journal_unavailable") && !strings.Contains(log, "code=store_full") {
		t.Error("the refusals carry no code")
	}
}

// Whatever the disk does, nobody is told that something is kept that is not;
// what needs no store goes on; and when the disk is well again, so is the
// gateway, without a restart.
func TestDiskFaultsAreToldAndOvercome(t *testing.T) {
	for name, fault := range map[string]lossyfs.Fault{
		"full":        {Write: syscall.ENOSPC, Full: true},
		"read-only":   {Write: syscall.EROFS},
		"writes fail": {Write: syscall.EIO},
		"syncs fail":  {Sync: syscall.EIO},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.disk.Fail(fault)
			b.refuses(t)
			b.goesOn(t)
			b.disk.Fail(lossyfs.Fault{})

			// The person does as the page says: waits a moment, and sends it again.
			began := time.Now()
			for again := time.Tick(100 * time.Millisecond); ; <-again {
				status, body, err := b.who.submit(b.life, b.book, b.open, b.token, newValue(b.open.n, "again"))
				if err != nil {
					t.Fatal(err)
				}
				// A write that failed may have been stored all the same: then
				// the first answer counts.
				if status == http.StatusOK || status == http.StatusGone && strings.Contains(body, "You have answered this question") {
					break
				}
				if time.Since(began) > recovers {
					t.Fatalf("the store does not recover: %d %s", status, shorten(body))
				}
			}
			t.Logf("recovered within %v", time.Since(began).Round(100*time.Millisecond))
			if m, err := b.call.next(); err != nil || m.failure() != nil {
				t.Errorf("the call ended with %+v %v", m, err)
			} else {
				b.collect(b.open.n, m)
			}
			b.outlasts(t)
		})
	}
}

// A disk that takes two seconds to sync holds promises up, and nothing else.
func TestASlowDiskHoldsPromisesUp(t *testing.T) {
	const slow = 2 * time.Second
	t.Parallel()
	b := newBench(t)
	b.disk.Fail(lossyfs.Fault{Delay: slow})
	done := make(chan struct{})
	go func() {
		defer close(done)
		began := time.Now()
		status, body, err := b.who.submit(b.life, b.book, b.open, b.token, newValue(b.open.n, "slow"))
		took := time.Since(began)
		switch {
		case err != nil || status == http.StatusOK && took < slow:
			t.Errorf("acknowledged after %v: %d %v", took, status, err)
		case status != http.StatusOK && !strings.Contains(body, "It is not known whether your answer was taken"):
			t.Errorf("after %v: %d %s", took, status, shorten(body))
		}
	}()
	began := time.Now()
	b.goesOn(t)
	if took := time.Since(began); took > slow {
		t.Errorf("what needs no store took %v", took)
	}
	<-done
	b.disk.Fail(lossyfs.Fault{})
	b.outlasts(t)
}

// outlasts cuts the power, and holds what was acknowledged against what is
// there afterwards.
func (b *bench) outlasts(t *testing.T) {
	t.Helper()
	b.disk.cut(b.g, nil)
	g := b.site.up(b.site.start())
	b.serve(g)
	b.crew(0, 0, 1)
	b.finish()
	b.book.settle(t)
}
