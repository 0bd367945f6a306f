package a2a

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/answerback/answerback/internal/egress"
)

const (
	maxPosts   = 1024 // posts that wait, those to be repeated included
	maxLane    = 64   // of these for one configuration
	maxSending = 8    // posts under way
	postTries  = 5
	firstPause = time.Second // before the second attempt; each further one is four times as long
	postTime   = 10 * time.Second
)

// pusher posts the events of tasks to where their clients want them. The posts
// to one place go one after the other, in order. Nothing of it outlives the
// process: a client that missed something asks for its task.
type pusher struct {
	out Outward
	log *slog.Logger

	life context.Context
	stop context.CancelFunc
	busy sync.WaitGroup

	mu      sync.Mutex
	lanes   map[string]*lane
	waiting int
	sending int
	ready   []*lane // lanes that could send, oldest first
}

// lane is what is to be posted to one place.
type lane struct {
	key   string
	posts []post
	tried int
	timer *time.Timer // runs while the first is not to be tried again yet
}

type post struct {
	to  push
	raw []byte
}

func newPusher(out Outward, log *slog.Logger) *pusher {
	p := &pusher{out: out, log: log, lanes: make(map[string]*lane)}
	p.life, p.stop = context.WithCancel(context.Background())
	return p
}

// tell posts an event of a task to all who want it. It does not wait.
func (p *pusher) tell(task string, to []push, e a2a.Event) {
	if len(to) == 0 {
		return
	}
	raw, err := json.Marshal(a2a.StreamResponse{Event: e})
	if err != nil {
		p.log.Error("an event cannot be written", "surface", surfaceName, "err", err)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range to {
		key := task + " " + t.ID
		l := p.lanes[key]
		if p.life.Err() != nil || p.waiting >= maxPosts || l != nil && len(l.posts) >= maxLane {
			p.log.Warn("an event was not pushed", "surface", surfaceName, "err", "too many wait to be told")
			continue
		}
		p.waiting++
		if l != nil {
			l.posts = append(l.posts, post{t, raw})
			continue
		}
		l = &lane{key: key, posts: []post{{t, raw}}}
		p.lanes[key] = l
		p.ready = append(p.ready, l)
	}
	p.send()
}

// send starts as many posts as may be under way. The caller has the lock.
func (p *pusher) send() {
	for len(p.ready) > 0 && p.sending < maxSending && p.life.Err() == nil {
		l := p.ready[0]
		p.ready = p.ready[1:]
		p.sending++
		next := l.posts[0]
		p.busy.Go(func() {
			final, err := p.post(next)
			p.sent(l, final, err)
		})
	}
}

// sent decides what comes after an attempt.
func (p *pusher) sent(l *lane, final bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.send()
	p.sending--
	l.tried++
	if err != nil && !final && l.tried < postTries && p.life.Err() == nil {
		l.timer = time.AfterFunc(firstPause<<(2*(l.tried-1)), func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.ready = append(p.ready, l)
			p.send()
		})
		return
	}
	if err != nil {
		p.log.Warn("an event was not pushed", "surface", surfaceName, "attempts", l.tried, "err", err)
	}
	l.posts, l.tried = l.posts[1:], 0
	p.waiting--
	if len(l.posts) == 0 {
		delete(p.lanes, l.key)
		return
	}
	p.ready = append(p.ready, l)
}

// post makes one attempt. final says that another would not help.
func (p *pusher) post(of post) (final bool, err error) {
	ctx, cancel := context.WithTimeout(p.life, postTime)
	defer cancel()
	return egress.Post(ctx, p.out.Do, of.to.URL, of.raw, of.to.header)
}

// close breaks off what is under way and waits for its end.
func (p *pusher) close() {
	p.mu.Lock()
	p.stop()
	for _, l := range p.lanes {
		if l.timer != nil {
			l.timer.Stop()
		}
	}
	p.mu.Unlock()
	p.busy.Wait()
}
