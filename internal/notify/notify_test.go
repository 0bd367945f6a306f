package notify

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/secret"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = "a key of sixteen and more"

// post office: what was posted, and how it is answered.
type office struct {
	mu     sync.Mutex
	posts  []*http.Request
	bodies []string
	at     []time.Time
	count  map[Result]int
	log    strings.Builder
	answer func(n int, r *http.Request) (int, error)
}

func (o *office) send(r *http.Request) (*http.Response, error) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	o.posts, o.bodies, o.at = append(o.posts, r), append(o.bodies, string(raw)), append(o.at, time.Now())
	n := len(o.posts)
	o.mu.Unlock()
	status := http.StatusNoContent
	if o.answer != nil {
		if status, err = o.answer(n, r); err != nil {
			return nil, err
		}
	}
	return &http.Response{StatusCode: status, Body: http.NoBody}, nil
}

func (o *office) result(r Result) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.count[r]++
}

func (o *office) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.log.Write(p)
}

func (o *office) sent() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.posts)
}

func open(t testing.TB, o *office, webhook string, send func(*http.Request) (*http.Response, error)) *Notifier {
	t.Helper()
	o.count = map[Result]int{}
	n, err := New(Config{
		Webhook: secret.New(webhook), Key: []byte(key), Link: func(id string) string { return "https://gateway.example/asks/" + id },
		Send: send, Count: o.result, Now: time.Now, Log: slog.New(slog.NewTextHandler(o, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func waiting(id string) Waiting {
	return Waiting{
		Ask: id, Kind: ask.Form, Backend: "deploy", During: "tools/call", Name: "release",
		Addressee: ask.Addressee{Principal: ask.Principal{Issuer: "https://issuer.example", Subject: "ada"}},
		Asked:     time.Now(), Deadline: time.Now().Add(5 * time.Minute),
	}
}

const hook = "https://hooks.example/canary-of-the-address"

// A17: within a second, and before anybody has to wait for it.
func TestSomebodyIsToldAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &office{}
		n := open(t, o, hook, o.send)
		defer n.Close()
		began := time.Now()
		n.Waiting(waiting("ask1"))
		synctest.Wait()
		if len(o.at) != 1 || o.at[0].Sub(began) > time.Second || o.count[Sent] != 1 {
			t.Fatalf("posted %d times, %v", len(o.at), o.count)
		}
		if !Verify(o.posts[0].Header, []byte(key), []byte(o.bodies[0]), time.Now()) {
			t.Error("the signature is wrong")
		}
	})
}

// The receiver is a real one: what it gets is signed, has a link, and nothing
// of the question.
func TestReceiverCanCheckThePost(t *testing.T) {
	type got struct {
		header http.Header
		body   []byte
	}
	posts := make(chan got, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		posts <- got{r.Header, raw}
	}))
	defer server.Close()
	o := &office{}
	n := open(t, o, server.URL, server.Client().Do)
	defer n.Close()
	n.Waiting(waiting("ask1"))
	p := <-posts
	var body map[string]any
	if err := json.Unmarshal(p.body, &body); err != nil {
		t.Fatal(err)
	}
	if body["type"] != "ask.waiting" || body["id"] != "ask1" || body["link"] != "https://gateway.example/asks/ask1" || body["backend"] != "deploy" ||
		fmt.Sprint(body["addressee"]) != "map[issuer:https://issuer.example subject:ada]" || len(body) != 10 {
		t.Errorf("posted %s", p.body)
	}
	now := time.Now()
	if p.header.Get("Content-Type") != "application/json" || !Verify(p.header, []byte(key), p.body, now) {
		t.Errorf("headers %v", p.header)
	}
	// Attacks beside that control.
	other := p.header.Clone()
	other.Set(HeaderID, "msg_other")
	later := p.header.Clone()
	later.Set(HeaderTime, fmt.Sprint(now.Unix()+1))
	for name, ok := range map[string]bool{
		"another key":    Verify(p.header, []byte("another key of sixteen"), p.body, now),
		"another body":   Verify(p.header, []byte(key), append(p.body, ' '), now),
		"another id":     Verify(other, []byte(key), p.body, now),
		"another time":   Verify(later, []byte(key), p.body, now),
		"sent again":     Verify(p.header, []byte(key), p.body, now.Add(Replay+2*time.Second)),
		"from later":     Verify(p.header, []byte(key), p.body, now.Add(-Replay-2*time.Second)),
		"nothing at all": Verify(http.Header{}, []byte(key), p.body, now),
	} {
		if ok {
			t.Errorf("%s is taken", name)
		}
	}
}

func TestFailedPostIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &office{answer: func(n int, _ *http.Request) (int, error) {
			switch n {
			case 1:
				return 503, nil
			case 2:
				return 0, errors.New("no route to host")
			}
			return 200, nil
		}}
		n := open(t, o, hook, o.send)
		defer n.Close()
		began := time.Now()
		n.Waiting(waiting("ask1"))
		n.Waiting(waiting("ask1")) // is being told already
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(o.at) != 3 || o.at[1].Sub(began) != time.Second || o.at[2].Sub(began) != 5*time.Second || o.count[Sent] != 1 || len(o.count) != 1 {
			t.Errorf("posted at %v, %v", o.at, o.count)
		}
		if a, b := o.posts[0].Header, o.posts[2].Header; a.Get(HeaderID) != b.Get(HeaderID) || a.Get(HeaderTime) == b.Get(HeaderTime) {
			t.Errorf("the headers are %v and %v", a, b)
		}
	})
}

func TestPostIsGivenUp(t *testing.T) {
	for name, c := range map[string]struct {
		answer   func(int, *http.Request) (int, error)
		deadline time.Duration
		posts    int
		result   Result
	}{
		"refused for good":       {func(int, *http.Request) (int, error) { return 404, nil }, time.Hour, 1, Failed},
		"a redirect":             {func(int, *http.Request) (int, error) { return 302, nil }, time.Hour, 1, Failed},
		"never taken":            {func(int, *http.Request) (int, error) { return 500, nil }, time.Hour, attempts, Failed},
		"the question ends soon": {func(int, *http.Request) (int, error) { return 500, nil }, 3 * time.Second, 2, Dropped},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := &office{answer: c.answer}
				n := open(t, o, hook, o.send)
				defer n.Close()
				w := waiting("ask1")
				w.Deadline = time.Now().Add(c.deadline)
				n.Waiting(w)
				time.Sleep(time.Hour)
				synctest.Wait()
				if len(o.posts) != c.posts || o.count[c.result] != 1 || len(o.count) != 1 {
					t.Errorf("%d posts, %v", len(o.posts), o.count)
				}
				if !strings.Contains(o.log.String(), "nobody was notified") {
					t.Errorf("the log says %s", o.log.String())
				}
			})
		})
	}
}

func TestWhatIsOverIsNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &office{answer: func(int, *http.Request) (int, error) { return 503, nil }}
		n := open(t, o, hook, o.send)
		defer n.Close()
		n.Waiting(waiting("ask1"))
		synctest.Wait()
		n.Over("ask1")
		n.Over("ask2")
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(o.posts) != 1 || len(o.count) != 0 {
			t.Errorf("%d posts, %v", len(o.posts), o.count)
		}
	})
}

// A receiver that takes and never answers costs neither memory without limit
// nor anybody's time, and does not keep the gateway from ending.
func TestDeadReceiverIsHarmless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &office{answer: func(_ int, r *http.Request) (int, error) {
			<-r.Context().Done()
			return 0, r.Context().Err()
		}}
		n := open(t, o, hook, o.send)
		began := time.Now()
		const asked = 10_000
		for i := range asked {
			n.Waiting(waiting(fmt.Sprint("ask", i)))
			if i%100 == 0 {
				synctest.Wait() // the owner takes them in
			}
		}
		if time.Since(began) != 0 {
			t.Errorf("telling took %v", time.Since(began))
		}
		synctest.Wait()
		if o.sent() != maxSending || o.count[Dropped] < asked-maxPending-maxIncoming {
			t.Errorf("%d are being told, %v", o.sent(), o.count)
		}
		time.Sleep(time.Second)
		n.Close()
		if time.Since(began) != time.Second {
			t.Errorf("closing took %v", time.Since(began)-time.Second)
		}
	})
}

func TestAddressIsNotLogged(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	address := server.URL
	client := server.Client()
	server.Close() // nobody listens any more
	o := &office{}
	failed := make(chan struct{}, attempts)
	n := open(t, o, address+"/canary-of-the-address", func(r *http.Request) (*http.Response, error) {
		defer func() { failed <- struct{}{} }()
		return client.Do(r)
	})
	n.Waiting(waiting("ask1"))
	<-failed
	<-failed // what became of the first attempt is logged before the second
	n.Close()
	if log := o.log.String(); !strings.Contains(log, "refused") || strings.Contains(log, "canary") || strings.Contains(log, key) {
		t.Errorf("the log says %s", log)
	}
}

func TestNobodyToTell(t *testing.T) {
	var n *Notifier
	n.Waiting(waiting("ask1"))
	n.Over("ask1")
	n.Close()
	if n.Told() {
		t.Error("nobody tells, and it says that people are told")
	}
	if _, err := New(Config{}); err == nil {
		t.Error("a notifier without anything was made")
	}
}
