package notify

import (
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/answerback/answerback/internal/secret"
)

const (
	maxPending  = 1024 // posts that wait, those to be repeated included
	maxSending  = 8    // posts under way
	maxIncoming = 256  // posts that the owner has not looked at yet
	attempts    = 6
	firstPause  = time.Second // before the second attempt; each further one is four times as long
	sendTime    = 5 * time.Second
)

// Result is what became of a post, for the figures.
type Result string

// Every result.
const (
	Sent    Result = "sent"
	Failed  Result = "failed"  // given up after its attempts, or refused for good
	Dropped Result = "dropped" // there was no room, or no time any more
)

// Config is what a Notifier is made of. Every field is required.
type Config struct {
	Webhook secret.Text // the address
	Key     []byte      // what posts are signed with
	// Link is the address of a question's page.
	Link func(id string) string
	// Send sends a request, as the Do of an http.Client does, and follows no
	// redirect.
	Send  func(*http.Request) (*http.Response, error)
	Count func(Result)
	Now   func() time.Time
	Log   *slog.Logger
}

func (c *Config) check() error {
	if c.Webhook.Reveal() == "" || len(c.Key) == 0 || c.Link == nil || c.Send == nil || c.Count == nil || c.Now == nil || c.Log == nil {
		return errors.New("notify: Config needs Webhook, Key, Link, Send, Count, Now and Log")
	}
	return nil
}

// Notifier posts. Waiting and Over never block, and can be called by many at
// once and on a nil Notifier, which tells nobody. Close ends it.
type Notifier struct {
	cfg      Config
	incoming chan event
	done     chan sent
	closing  chan struct{}
	once     sync.Once
	owner    sync.WaitGroup
}

// event is something that the owner is told: a question that waits, or, where
// there is none, the id of one that is over.
type event struct {
	waiting *Waiting
	over    string
}

// New makes a Notifier, which runs until it is closed.
func New(cfg Config) (*Notifier, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	n := &Notifier{
		cfg: cfg, incoming: make(chan event, maxIncoming), done: make(chan sent, maxSending), closing: make(chan struct{}),
	}
	n.owner.Go(n.run)
	return n, nil
}

// Told reports whether people are told of what waits for them although no
// client and no page of theirs is open.
func (n *Notifier) Told() bool { return n != nil }

// Waiting tells of a question that waits on a page.
func (n *Notifier) Waiting(w Waiting) {
	if n != nil && !n.put(event{waiting: &w}) {
		n.drop(w.Ask, "too many wait to be told")
	}
}

// Over takes back what was not told yet of a question that has ended.
func (n *Notifier) Over(id string) {
	if n != nil {
		n.put(event{over: id}) // without room it is told in vain
	}
}

func (n *Notifier) put(e event) bool {
	select {
	case n.incoming <- e:
		return true
	default:
		return false
	}
}

func (n *Notifier) drop(id, why string) {
	n.cfg.Count(Dropped)
	n.cfg.Log.Warn("nobody was notified", "ask", id, "err", why)
}

// Close breaks off what is under way and waits for its end. What was not told
// by then is not told.
func (n *Notifier) Close() {
	if n == nil {
		return
	}
	n.once.Do(func() { close(n.closing) })
	n.owner.Wait()
}
