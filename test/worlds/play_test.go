//go:build worlds

package worlds

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/answerback/answerback/test/rig"
)

var acceptedIn = regexp.MustCompile(`accept \d+\.\d+:[A-Za-z0-9-]+|done \d+\.\d+`)

// The times of a world, in hours of the gateway, which are its seconds.
const (
	askHours    = 20 // how long a question waits for its answer
	keepHours   = 1
	retainHours = 26 // how long the store remembers what has ended, and some slack
)

const configuration = `asks: { timeout: %[1]dh, connect_timeout: %[1]dh, sampling_timeout: %[1]dh, rate_per_minute: 1000000, burst: 1000000 }
journal: { keep: %[2]dh, max_bytes: 256MiB }
audit: { max_bytes: 16MiB }
limits: { drain: 30m, away: 60h, round: 1h, call_timeout: 60h, call_cap: 100h, session_idle: 200h }
a2a: { enabled: true, keep: 60h }
events: { linger: 24h, keep: 24h }
identity:
  session_age: 30d
  issuers:
    corp: %[3]s
backends:
`

// world is a plan while it is played.
type world struct {
	t      testing.TB
	plan   *plan
	rng    *rand.Rand
	site   *site
	book   *ledger
	values atomic.Int64

	people   []*person
	clients  []*client
	backends map[string]*backend
	calls    map[int]*call
	running  sync.WaitGroup
	backup   string // the newest backup's file; "" for none
	closing  bool   // guarded by the ledger's lock: nothing new begins

	began time.Time
	logMu sync.Mutex
	log   strings.Builder
}

// play plays a plan, with a bug planted where one is named, and gives the
// broken promises and the story.
func play(t testing.TB, p *plan, bug string) (faults []string, story string) {
	w := &world{t: t, plan: p, rng: rand.New(rand.NewPCG(p.seed, 11)), book: newLedger(), backends: map[string]*backend{}, calls: map[int]*call{}, began: time.Now()}
	w.site = newSite(t, p.lossy, bug)
	issuer := rig.NewIssuer(t)
	transport := &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	w.site.yaml = fmt.Sprintf(configuration, askHours, keepHours, issuer.Config())
	for _, kind := range p.backends {
		b := newBackend(t, kind, w.book, w.site.life)
		w.backends[kind] = b
		w.site.yaml += "  " + kind + ": " + b.cfg + "\n"
	}
	for i := range people {
		w.people = append(w.people, &person{number: i, name: fmt.Sprintf("person-%d", i), site: w.site, book: w.book, issuer: issuer, http: &http.Client{Transport: transport}, cookies: map[string]string{}})
	}
	for i, kind := range p.clients {
		w.clients = append(w.clients, &client{number: i, kind: kind, solo: i%2 == 1, owner: w.people[i%people], world: w, http: &http.Client{Transport: transport}, sessions: map[string]string{}})
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.site.configure()
	w.start()
	for i := 0; i < len(p.steps) && len(w.faults()) == 0; i++ {
		s := p.steps[i]
		if s.fault() {
			w.trace("== %s", s)
			w.fault(ctx, s)
			continue
		}
		w.trace("-- %s", s)
		if i+1 < len(p.steps) && p.steps[i+1].fault() {
			// The fault comes while the action is under way.
			done := make(chan struct{})
			go func() { defer close(done); w.act(ctx, s) }()
			select {
			case <-done:
			case <-time.After(time.Duration(w.rng.IntN(60)) * time.Millisecond):
			}
			i++
			w.trace("== %s", p.steps[i])
			w.fault(ctx, p.steps[i])
			<-done
			continue
		}
		w.act(ctx, s)
	}
	if len(w.faults()) == 0 {
		w.finish(ctx)
	}
	w.trace("the end of the log:\n%s", tail(w.site.now.text(), 4000))
	cancel()
	w.running.Wait()
	w.end()
	return w.book.check(), w.story()
}

func (w *world) faults() []string {
	w.book.mu.Lock()
	defer w.book.mu.Unlock()
	return slices.Clone(w.book.faults)
}

// trace adds a line to the story.
func (w *world) trace(format string, args ...any) {
	w.logMu.Lock()
	defer w.logMu.Unlock()
	fmt.Fprintf(&w.log, "%7.3f "+format+"\n", append([]any{time.Since(w.began).Seconds()}, args...)...)
}

func (w *world) story() string {
	w.logMu.Lock()
	defer w.logMu.Unlock()
	return w.log.String()
}

// soon is a moment later, for what can only be looked at again.
func (w *world) soon() <-chan time.Time { return time.After(50 * time.Millisecond) }

// pause waits a moment before something is tried again.
func (w *world) pause(ctx context.Context) error {
	select {
	case <-w.soon():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *world) start() {
	if err := w.site.start(); err != nil {
		w.book.fault("P9: %v", err)
	}
}

// bounded gives an action a limit. Nothing is expected to reach it.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, patience)
}

// act plays an action.
func (w *world) act(ctx context.Context, s step) {
	n, _ := strconv.Atoi(s.args["n"])
	var err error
	switch s.verb {
	case callVerb:
		client, _ := strconv.Atoi(s.args["client"])
		w.call(ctx, n, w.clients[client], s.args["backend"])
	case repeatVerb:
		err = w.repeat(ctx, w.calls[n])
	case answerVerb:
		err = w.settle(ctx, w.calls[n], s.args["by"], "accept")
	case declineVerb:
		err = w.settle(ctx, w.calls[n], s.args["by"], "decline")
	case cancelVerb:
		w.cancel(w.calls[n])
	case leaveVerb, backupVerb:
		if s.verb == backupVerb {
			err = w.takeBackup()
		}
	case connectVerb:
		err = w.connect(ctx, w.calls[n])
	case revokeVerb:
		p, _ := strconv.Atoi(s.args["person"])
		limited, cancel := bounded(ctx)
		err = w.people[p].revoke(limited)
		cancel()
	}
	if err != nil {
		w.trace("   %s: %v", s.verb, err)
	}
}

// call makes a call and waits until its client knows more.
func (w *world) call(ctx context.Context, n int, c *client, backend string) {
	args := fmt.Sprintf(`{"n":%d}`, n)
	if backend == agentKind {
		args = fmt.Sprintf(`{"message":"n=%d"}`, n)
	}
	k := &call{n: n, client: c, backend: backend, args: args, own: make(chan string, 1), ended: make(chan struct{})}
	w.calls[n] = k
	w.book.begin(n, c.kind, backend, c.owner.number)
	w.running.Go(func() { k.run(ctx) })
	w.await(ctx, k, func() bool {
		key, ask, link := k.known()
		return key+ask+link != ""
	})
}

// await waits until something holds, or the call has ended, or the gateway has.
func (w *world) await(ctx context.Context, k *call, so func() bool) bool {
	life := w.site.now.done
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		ok, changed := w.book.is(so)
		if ok {
			return true
		}
		select {
		case <-changed:
		case <-k.ended:
			return so()
		case <-life:
			return false
		case <-timer.C:
			w.book.fault("hung: call %d of a %s client at backend %s came to nothing within %s", k.n, k.client.kind, k.backend, patience)
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// settle ends the question of a call on a surface.
func (w *world) settle(ctx context.Context, k *call, by, action string) error {
	key, id, _ := k.known()
	if key == "" {
		return fmt.Errorf("call %d was not asked anything", k.n)
	}
	value := key + ":" + action
	if action == "accept" {
		value = w.newValue(key, by)
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	if by == "client" {
		w.book.give(key, value)
		if action == "decline" {
			value = "decline"
		}
		select {
		case k.own <- value:
		default:
		}
		w.await(ctx, k, func() bool {
			return w.book.questions[key].done()
		})
		return nil
	}
	ids, err := k.client.owner.list(ctx)
	if err != nil {
		return err
	}
	if listed := ids[key]; listed != "" {
		id = listed
	}
	if id == "" {
		return fmt.Errorf("question %s is in no list", key)
	}
	w.people[(k.client.owner.number+1)%people].tries(ctx, key, id)
	var ok bool
	switch by {
	case "page":
		ok, err = k.client.owner.onPage(ctx, key, id, action, value)
	case "api":
		ok, err = w.twice(ctx, k, key, id, action, value)
	case "terminal":
		ok, err = k.client.owner.atTerminal(key, id, value)
	}
	w.trace("   %s of question %s at the %s: taken %t, %v", action, key, by, ok, err)
	if ok && k.n%2 == 0 {
		// A second answer must be told that it is late.
		again, err := k.client.owner.byAPI(ctx, key, id, "accept", w.newValue(key, "late"))
		w.trace("   a second answer to question %s: taken %t, %v", key, again, err)
	}
	return err
}

// twice ends a question through the API, for every second call with two
// requests at once, as a person who presses twice does.
func (w *world) twice(ctx context.Context, k *call, key, id, action, value string) (ok bool, err error) {
	var other sync.WaitGroup
	if k.n%2 == 0 && action == "accept" {
		other.Go(func() {
			_, _ = k.client.owner.byAPI(ctx, key, id, action, w.newValue(key, "twin")) // what it was told is in the ledger
		})
	}
	ok, err = k.client.owner.byAPI(ctx, key, id, action, value)
	other.Wait()
	return ok, err
}

// repeat makes a call again that ended with the words to call again. Where its
// result was collected before, it is a new call.
func (w *world) repeat(ctx context.Context, k *call) error {
	select {
	case <-k.ended:
	default:
		return fmt.Errorf("call %d is still under way", k.n)
	}
	// A repeated call is a new one where the result was collected, and may be
	// one where the work was lost.
	w.book.change(func() {
		c := w.book.calls[k.n]
		if c.sent <= c.runs {
			q := w.book.questions[fmt.Sprintf("%d.%d", k.n, c.runs)]
			if q == nil || q.done() {
				c.sent = c.runs + 1
			}
		}
	})
	again := &call{n: k.n, client: k.client, backend: k.backend, args: k.args, own: make(chan string, 1), ended: make(chan struct{})}
	w.calls[k.n] = again
	w.running.Go(func() { again.run(ctx) })
	w.await(ctx, again, func() bool { return false })
	return nil
}

// cancel has the client cancel its call.
func (w *world) cancel(k *call) {
	if k.wasTold() {
		return // its request has ended already
	}
	key, _, _ := k.known()
	w.book.change(func() {
		w.book.calls[k.n].cancelled = true
		if q := w.book.questions[key]; q != nil && q.excuse == "" && len(q.heard) == 0 {
			q.excuse = excuseCancelled
		}
	})
	select {
	case k.own <- cancelCall:
	default:
	}
}

// connect has the person of a call connect an account, at the page that the
// call's client was sent to, or at the page of the backend.
func (w *world) connect(ctx context.Context, k *call) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	_, id, _ := k.known()
	path := "/connect/" + keyedKind
	if id != "" {
		path = "/asks/" + id
	}
	if k.client.kind == linksClient {
		select {
		case k.own <- "": // consent to open the page
		default:
		}
	}
	return k.client.owner.connect(ctx, path)
}

// fault plays a fault.
func (w *world) fault(ctx context.Context, s step) {
	switch s.verb {
	case killFault, armFault:
		w.site.kill()
		w.book.died()
		w.site.point = s.args["at"]
		w.start()
	case cutFault:
		w.site.cut(w.rng)
		w.book.died()
		w.start()
	case restartFault, rotateFault:
		if err := w.site.stop(); err != nil {
			w.book.fault("P9: %v", err)
			return
		}
		w.book.died()
		if s.verb == rotateFault {
			if err := w.site.rotate(); err != nil {
				w.t.Error(err)
			}
		}
		w.start()
	case serverFault:
		kind := s.args["backend"]
		w.backends[kind].restart()
		if kind != agentKind && kind != modernKind {
			w.book.excuse(excuseServer, func(q *questionNote) bool { return q.call.backend == kind })
		}
	case reloadFault:
		w.site.extra++
		w.site.configure()
	case waitFault:
		w.wait(ctx)
	case restoreFault:
		w.restore()
	}
	w.leaks()
}

// leaks looks for what must never be in the log: panics, data races and what
// people answered.
func (w *world) leaks() {
	text := w.site.now.text()
	for _, bad := range []string{"panic", "DATA RACE", "-canary"} {
		if i := strings.Index(text, bad); i >= 0 {
			w.book.fault("the log has %q: %s", bad, text[max(0, i-300):min(len(text), i+500)])
		}
	}
}

// wait lets every time to live pass, and kills the gateway then: what comes
// back after that was not over.
func (w *world) wait(ctx context.Context) {
	select {
	case <-time.After((askHours + keepHours + retainHours) * time.Second):
	case <-ctx.Done():
		return
	}
	w.book.change(func() {
		for _, q := range w.book.questions {
			// A legacy server is told of the end; a modern one is not called again.
			told := q.call.backend == httpKind || q.call.backend == plainKind || q.call.backend == stdioKind
			if told && q.kept && !q.done() && len(q.acked) == 0 {
				w.book.faultLocked("P3: question %s (%s client, %s backend) had no outcome long after its deadline", q.key, q.call.client, q.call.backend)
			}
		}
	})
	w.book.excuse(excuseExpired, func(q *questionNote) bool { return len(q.acked) == 0 })
	w.look(ctx, "after its deadline")
	w.site.kill()
	w.book.died()
	w.start()
	if len(w.faults()) > 0 {
		return
	}
	w.look(ctx, "after a wait")
}

// look has everybody open their list: nothing that is over may be in it.
func (w *world) look(ctx context.Context, when string) {
	for _, p := range w.people {
		limited, cancel := bounded(ctx)
		if _, err := p.list(limited); err != nil {
			w.book.fault("the list of person %d %s: %v", p.number, when, err)
		}
		cancel()
	}
}

// quiet is how long nothing at all must have happened before what is owed is
// taken for lost.
const quiet = 15 * time.Second

// finish has people answer everything that is promised to wait for them.
func (w *world) finish(ctx context.Context) {
	w.trace("== finish")
	w.book.change(func() { w.closing = true })
	if !w.settleOwed(ctx) {
		return // check says what is missing
	}
	for _, n := range slices.Sorted(maps.Keys(w.calls)) {
		k := w.calls[n]
		if w.hears(ctx, k); k.wasTold() {
			_ = w.repeat(ctx, k) // collects what is there
		}
	}
	// A repeated call whose result is not kept any more was a new one, with a
	// question of its own.
	w.settleOwed(ctx)
}

// settleOwed has people answer what is owed, until nothing is. It is false where
// nothing moves any more, or a promise is broken.
func (w *world) settleOwed(ctx context.Context) bool {
	give := time.NewTimer(quiet)
	defer give.Stop()
	for before := ""; ; {
		owed, _ := w.book.owed()
		if len(owed) == 0 {
			return true
		}
		if now := strings.Join(owed, " "); now != before {
			before = now
			give.Reset(quiet)
		}
		for _, key := range owed {
			w.answerOwed(ctx, key)
		}
		if len(w.faults()) > 0 {
			return false
		}
		select {
		case <-w.soon():
		case <-give.C:
			return false
		}
	}
}

// hears waits for the end of a call whose tool got its answer: its client is
// still there and must hear of it.
func (w *world) hears(ctx context.Context, k *call) {
	key, _, _ := k.known()
	heard, _ := w.book.is(func() bool {
		q := w.book.questions[key]
		return q != nil && len(q.heard) > 0 && q.excuse == "" && !q.unheard
	})
	if heard && !w.await(ctx, k, func() bool { return false }) {
		select {
		case <-k.ended:
		default:
			w.book.fault("hung: the tool of call %d got its answer, and the %s client heard of no end", k.n, k.client.kind)
		}
	}
}

func (k *call) wasTold() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.told
}

// answerOwed answers one question by the way that is open for it.
func (w *world) answerOwed(ctx context.Context, key string) {
	w.book.mu.Lock()
	q := w.book.questions[key]
	c, over := q.call, q.over
	w.book.mu.Unlock()
	if over {
		return // its answer is on its way
	}
	k := w.calls[c.n]
	ctx, cancel := bounded(ctx)
	defer cancel()
	ids, err := k.client.owner.list(ctx)
	if err == nil && ids[key] != "" {
		taken, err := k.client.owner.onPage(ctx, key, ids[key], "accept", w.newValue(key, "page"))
		w.trace("   question %s at its page: taken %t, %v", key, taken, err)
	} else if known, _, _ := k.known(); err == nil && known == key && passes(c.client, c.backend) {
		err = w.settle(ctx, k, "client", "accept")
		w.trace("   question %s at its client: %v", key, err)
	}
}

// end stops the gateway as an operator does.
func (w *world) end() {
	select {
	case <-w.site.now.done:
		return
	default:
	}
	if out, err := w.site.command("audit").Output(); err != nil {
		w.book.fault("the audit cannot be read: %v", err)
	} else if i := bytes.Index(out, []byte("-canary")); i >= 0 {
		w.book.fault("P8: the audit has what a person answered: %s", out[max(0, i-100):i+10])
	}
	if err := w.site.stop(); err != nil {
		w.book.fault("the last stop: %v", err)
	}
	w.leaks()
}

// takeBackup takes a backup from the running gateway.
func (w *world) takeBackup() error {
	file := filepath.Join(w.site.dir, fmt.Sprintf("backup-%d", w.values.Add(1)))
	if out, err := w.site.command("backup", "--running", file).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out) // the gateway may have been killed meanwhile
	}
	w.backup = file
	return nil
}

// restore goes back to the newest backup.
func (w *world) restore() {
	w.site.kill()
	w.book.died()
	if w.backup == "" {
		w.trace("   there is no backup")
		w.start()
		return
	}
	if out, err := w.site.command("restore", "--replace", w.backup).CombinedOutput(); err != nil {
		w.book.fault("the restore: %v: %s", err, out)
		return
	}
	w.book.restored()
	w.start()
}
