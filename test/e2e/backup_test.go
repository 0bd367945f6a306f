package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// command runs a command with the configuration of a gateway, and gives its
// output. It must succeed.
func command(t testing.TB, g *rig.Gateway, args ...string) string {
	t.Helper()
	status, out, errs := rig.RunAll(t, append(args, "--config", g.File)...)
	if status != 0 {
		t.Fatalf("answerback %s: status %d\n%s%s", strings.Join(args, " "), status, out, errs)
	}
	return out
}

// refusedCommand runs a command that must fail, with these words.
func refusedCommand(t testing.TB, g *rig.Gateway, words string, args ...string) {
	t.Helper()
	if status, out, errs := rig.RunAll(t, append(args, "--config", g.File)...); status != 1 || !strings.Contains(errs, words) {
		t.Errorf("answerback %s: status %d\n%s%s\nwant %q", strings.Join(args, " "), status, out, errs, words)
	}
}

// backedUp takes a backup and gives its file.
func backedUp(t testing.TB, g *rig.Gateway, flags ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "answerback.backup")
	command(t, g, append([]string{"backup", file}, flags...)...)
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the backup: %v %v", info, err)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(file), ".backup-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	return file
}

// restored kills a gateway, restores a backup in place of its store, and
// starts it again.
func restored(t testing.TB, g *rig.Gateway, file string, flags ...string) *rig.Gateway {
	t.Helper()
	g.Kill(t)
	command(t, g, append([]string{"restore", "--replace", file}, flags...)...)
	return g.Again(t)
}

// dataDir is where a gateway keeps everything.
func dataDir(t testing.TB, g *rig.Gateway) string {
	t.Helper()
	text, err := os.ReadFile(g.File)
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^data_dir: (.+)$`).FindStringSubmatch(string(text))
	if m == nil {
		t.Fatalf("no data_dir in %s", text)
	}
	return strings.Trim(m[1], `"'`)
}

// Two backups are taken at the same time while programs create questions.
// Every question whose creation was acknowledged before a backup began is there
// when that backup is restored, in an embedded store and in an external one.
func TestBackupUnderLoad(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"embedded", "external"} {
		t.Run(store, func(t *testing.T) {
			journal := durable
			if store == "external" {
				journal = "journal: { url: " + rig.StartNATS(t).URL + " }\n"
			}
			yaml := "asks: { burst: 100000, rate_per_minute: 100000, max_open_per_principal: 100000 }\nbackends:\n  one: { url: " + rig.NewBackend(t, nil).URL + " }\n"
			g := rig.Start(t, journal+yaml)
			api := newV1(t, g)
			var mu sync.Mutex
			var acked []string
			stop := make(chan struct{})
			enough := make(chan struct{})
			var creators sync.WaitGroup
			for range 4 {
				creators.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
						}
						r, err := api.do(t.Context(), http.MethodPost, "", map[string]any{"formDefinition": jsonOf(apiKeyForm(t))})
						if err != nil {
							t.Error(err)
							return
						}
						mu.Lock()
						if acked = append(acked, r.ElicitationID); len(acked) == 100 {
							close(enough)
						}
						mu.Unlock()
					}
				})
			}
			<-enough
			var files [2]string
			var before [2]int
			var takers sync.WaitGroup
			for i := range files {
				takers.Go(func() {
					mu.Lock()
					before[i] = len(acked)
					mu.Unlock()
					files[i] = backedUp(t, g)
				})
			}
			takers.Wait()
			close(stop)
			creators.Wait()
			g.Kill(t)
			for i, file := range files {
				if store == "external" {
					// Another server, because this one is not empty.
					refusedCommand(t, g, "is not empty", "restore", "--replace", file)
					rig.Write(t, g.File, withURL(t, g.File, rig.StartNATS(t).URL))
					command(t, g, "restore", file)
				} else {
					command(t, g, "restore", "--replace", file)
				}
				again := g.Again(t)
				api := newV1(t, again)
				for _, id := range acked[:before[i]] {
					if status, body := api.say(t, http.MethodGet, "/"+id, "", ""); status != 200 || !strings.Contains(body, `"pending"`) {
						t.Fatalf("backup %d: question %s, which was acknowledged before, is not there: %d %s", i, id, status, body)
					}
				}
				again.Kill(t)
			}
		})
	}
}

var urlOf = regexp.MustCompile(`nats://[^ ]+`)

func withURL(t testing.TB, file, to string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return urlOf.ReplaceAllString(string(text), to)
}

// An account that was revoked after the backup is not used after a restore,
// and neither is any other until it is confirmed or connected again.
func TestRestoredAccountsAreSuspended(t *testing.T) {
	t.Parallel()
	b := newAsker(t)
	g := guard(t, durable, "  one: { url: "+keyed(t, b, "anns-key", "bobs-key", "eves-key")+", grant: { kind: key } }\n")
	calls := 0
	call := func(who string) wire.Message {
		calls++ // none of them repeats one that waits
		c := rig.NewClient(t, "")
		c.URL, c.Token = g.Gateway.URL+"/one", g.token(who)
		return c.Modern("1", "tools/call", fmt.Sprintf(`{"name":"echo","arguments":{"n":%d}}`, calls), `{}`).Final()
	}
	works := func(who string) bool { return strings.Contains(string(call(who).Raw), `"content":[]`) }
	for _, who := range []string{"ann", "bob", "eve"} {
		if r := g.signIn(who).enter("/connect/one", who+"s-key"); r.status != http.StatusOK && r.status != http.StatusSeeOther {
			t.Fatalf("connecting: %d %s", r.status, r.body)
		}
		if !works(who) {
			t.Fatalf("%s is not connected", who)
		}
	}
	file := backedUp(t, g.Gateway)
	command(t, g.Gateway, "grants", "revoke", "one", "--issuer", g.Issuer.URL, "--subject", "ann")
	ran := b.Count("tools/call")
	g.Gateway = restored(t, g.Gateway, file)
	g.base = strings.TrimSuffix(g.Gateway.URL, "/mcp")
	for _, who := range []string{"ann", "bob", "eve"} {
		if m := call(who); !strings.Contains(string(m.Raw), "connect your account with one") {
			t.Errorf("%s: %s", who, m.Raw)
		}
		if r := g.signIn(who).get("/connect/one"); r.status != http.StatusOK || !strings.Contains(r.body, "is suspended") {
			t.Errorf("the page to connect: %d %s", r.status, r.body)
		}
	}
	if n := b.Count("tools/call"); n != ran {
		t.Errorf("suspended accounts were used: %d calls, then %d", ran, n)
	}
	if list := command(t, g.Gateway, "grants", "list"); strings.Count(list, "suspended") != 3 {
		t.Errorf("the list of accounts: %s", list)
	}
	if out := command(t, g.Gateway, "grants", "confirm", "one", "--issuer", g.Issuer.URL, "--subject", "bob"); !strings.Contains(out, "1 account confirmed") {
		t.Errorf("confirm: %s", out)
	}
	refusedCommand(t, g.Gateway, "no such account is suspended", "grants", "confirm", "one", "--issuer", g.Issuer.URL, "--subject", "bob")
	refusedCommand(t, g.Gateway, "or say --all", "grants", "confirm")
	if r := g.signIn("eve").enter("/connect/one", "eves-key"); r.status != http.StatusOK && r.status != http.StatusSeeOther {
		t.Errorf("connecting again: %d %s", r.status, r.body)
	}
	if works("ann") || !works("bob") || !works("eve") {
		t.Error("bob was confirmed and eve has connected again, but not ann: one of them works or does not")
	}
	// A second start changes nothing of that.
	g.Gateway.Kill(t)
	g.Gateway = g.Gateway.Again(t)
	if works("ann") || !works("bob") || !works("eve") {
		t.Error("after a further start it is otherwise")
	}
}

// A question that was open when the backup was taken is open again: its person
// answers, and the call goes on. One that was answered and delivered is over,
// and its server hears nothing again.
func TestRestoredQuestions(t *testing.T) {
	t.Parallel()
	runs := &atomic.Int64{}
	g := rig.Start(t, durable+"limits: { drain: 0s }\nbackends:\n  one: { url: "+resumable(t, runs)+" }\n")
	person := rig.SignIn(t, g)
	c := rig.Dial(t, g.URL, rig.AllCaps)
	kept := func() (*rig.Stream, string) {
		s := c.Tool("ask", "{}")
		q := s.Next()
		id, _ := wire.Unquote(q.Field(q.ID))
		if status, body := person.Do("GET", "/asks/"+id, nil); status != 200 {
			t.Fatalf("the page: %d %s", status, body)
		}
		return s, "/asks/" + id
	}
	answer := func(page, name string) (int, string) {
		return person.Answer(page, url.Values{"action": {"accept"}, "f0": {name}})
	}
	done, over := kept()
	if status, body := answer(over, "Ann"); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	if m := done.Final(); !strings.Contains(string(m.Raw), "accept Ann") {
		t.Fatalf("%s", m.Raw)
	}
	open, waits := kept()
	file := backedUp(t, g)
	g = restored(t, g, file)
	person = rig.SignIn(t, g)
	if status, body := person.Do("GET", over, nil); status != 410 || !strings.Contains(body, "You have answered this question") {
		t.Errorf("the page of the question that was answered: %d %s", status, body)
	}
	if status, body := answer(waits, "Bob"); status != 200 || !strings.Contains(body, "on its way back") {
		t.Errorf("the question that was open: %d %s", status, body)
	}
	c.URL = g.URL
	if m := c.Listen(open.LastID).Final(); !strings.Contains(string(m.Raw), "accept Bob") {
		t.Errorf("the call that waited: %s", m.Raw)
	}
	if n := runs.Load(); n != 2 {
		t.Errorf("the tool ran %d times, want 2", n)
	}
}

// A client that was told to call again has collected its result after the
// backup. After a restore the same call does not get it once more, whether the
// question was open in the backup or its result waited there: it is said that
// nobody knows, and the call after that starts anew.
func TestRestoredToldCallIsNotGivenOutAgain(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"open", "answered"} {
		t.Run(when, func(t *testing.T) {
			runs := &atomic.Int64{}
			g := rig.Start(t, durable+"limits: { drain: 0s }\nbackends:\n  one: { url: "+resumable(t, runs)+" }\n")
			person := rig.SignIn(t, g)
			call := func() wire.Message { return rig.Dial(t, g.URL, `{}`).Tool("ask", "{}").Final() }
			page := told(call())
			if page == "" {
				t.Fatal("the client was not told")
			}
			var file string
			if when == "open" {
				file = backedUp(t, g)
			}
			if status, body := person.Answer(page, url.Values{"action": {"accept"}, "f0": {"Ann"}}); status != 200 {
				t.Fatalf("%d %s", status, body)
			}
			if when == "answered" {
				g.WaitLog(t, "response kept for a client that is away")
				file = backedUp(t, g)
			}
			if m := call(); !strings.Contains(string(m.Raw), "accept Ann") {
				t.Fatalf("the result: %s", m.Raw)
			}
			g = restored(t, g, file)
			person = rig.SignIn(t, g)
			if m := call(); strings.Contains(string(m.Raw), "accept Ann") || !strings.Contains(string(m.Raw), "restored from a backup") {
				t.Errorf("the first call: %s", m.Raw)
			}
			if m := call(); told(m) == "" || told(m) == page {
				t.Errorf("the second call does not start anew: %s", m.Raw)
			}
			if _, body := person.Do("GET", page, nil); when == "open" && !strings.Contains(body, "restored from a backup") {
				t.Errorf("the page of the question: %s", body)
			}
			if n := runs.Load(); n != 2 {
				t.Errorf("the tool ran %d times, want 2", n)
			}
		})
	}
}

// A call waited for an account when the backup was taken, and was sent after
// it. After a restore it is not sent again, not even when its person connects:
// its question has ended, and its client is told that the outcome is unknown.
func TestRestoredCallThatWaitedForAnAccountIsNotSentAgain(t *testing.T) {
	t.Parallel()
	b := newAsker(t)
	w := &waiting{t: t, path: "/one", tool: "echo", killed: true}
	w.g = guard(t, durable+"limits: { drain: 0s }\n", "  one: { url: "+keyed(t, b, "anns-key")+", grant: { kind: key } }\n")
	call := `{"name":"echo","arguments":{}`
	c := w.client(nil)
	m := c.Modern("1", "tools/call", call+"}", linksOnly).Final()
	state, link := member(m, m.Result, "requestState"), linkAsked(t, m)
	again := func(id string) wire.Message {
		return w.client(c).Modern(id, "tools/call", call+`,"requestState":`+state+`,"inputResponses":{"q1":{"action":"accept"}}}`, linksOnly).Final()
	}
	file := backedUp(t, w.g.Gateway)
	w.connects(w.g.signIn("ann"), link)
	if m := again("2"); !strings.Contains(string(m.Raw), `"content":[]`) {
		t.Fatalf("the call: %s", m.Raw)
	}
	w.g.Gateway = restored(t, w.g.Gateway, file)
	w.g.base = strings.TrimSuffix(w.g.Gateway.URL, "/mcp")
	ann := w.g.signIn("ann")
	if r := ann.get(link[strings.Index(link, "/asks/"):]); !strings.Contains(r.body, "restored from a backup") {
		t.Errorf("the page of the question: %d %s", r.status, r.body)
	}
	if r := ann.enter("/connect/one", "anns-key"); r.status != http.StatusOK && r.status != http.StatusSeeOther {
		t.Errorf("connecting again: %d %s", r.status, r.body)
	}
	if m := again("3"); !strings.Contains(string(m.Raw), "restored from a backup") {
		t.Errorf("the client that comes back: %s", m.Raw)
	}
	if n := b.Count("tools/call"); n != 1 {
		t.Errorf("the call was sent %d times", n)
	}
}

// A secret that a program may have collected after the backup cannot be
// collected after a restore.
func TestRestoredSecretIsNotCollectedAgain(t *testing.T) {
	t.Parallel()
	g := rig.Start(t, durable+"backends:\n  one: { url: "+rig.NewBackend(t, nil).URL+" }\n")
	api := newV1(t, g)
	create := func() string {
		r, err := api.do(t.Context(), http.MethodPost, "", map[string]any{"formDefinition": jsonOf(apiKeyForm(t))})
		if err != nil {
			t.Fatal(err)
		}
		return "/" + r.ElicitationID
	}
	answered := func(g *rig.Gateway, at string) {
		status, body := rig.SignIn(t, g).Answer("/asks"+at, url.Values{"action": {"accept"}, "f0": {apiKey}, "f1": {"1"}})
		has(t, "the answer", status, body, 200)
	}
	done, open := create(), create()
	answered(g, done)
	file := backedUp(t, g)
	status, body := api.say(t, http.MethodPost, done+"/collect", "", "")
	has(t, "the collection", status, body, 200, apiKey)
	g = restored(t, g, file)
	for range 2 {
		api = newV1(t, g)
		status, body = api.say(t, http.MethodPost, done+"/collect", "", "")
		has(t, "the collection after the restore", status, body, 409, "restored from a backup")
		if strings.Contains(body, apiKey) {
			t.Errorf("the key was given out again: %s", body)
		}
		g.Kill(t)
		g = g.Again(t)
	}
	answered(g, open)
	api = newV1(t, g)
	status, body = api.say(t, http.MethodPost, open+"/collect", "", "")
	has(t, "what was answered after the restore", status, body, 200, apiKey)
}

// A restore that cannot be done is refused before anything is changed.
func TestRestoreIsRefused(t *testing.T) {
	t.Parallel()
	yaml := durable + "backends:\n  one: { url: " + rig.NewBackend(t, nil).URL + " }\n"
	g, other := rig.Start(t, yaml), rig.Start(t, yaml)
	api := newV1(t, g)
	r, err := api.do(t.Context(), http.MethodPost, "", map[string]any{"formDefinition": jsonOf(apiKeyForm(t))})
	if err != nil {
		t.Fatal(err)
	}
	file, foreign := backedUp(t, g, "--audit"), backedUp(t, other)
	refusedCommand(t, g, "stop it first", "restore", file)
	refusedCommand(t, g, "stop it first", "restore", "--replace", file)
	refusedCommand(t, g, "stop it first", "journal", "check")
	refusedCommand(t, g, "stop it first", "journal", "repair")
	g.Kill(t)
	other.Kill(t)
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	bad := func(name string, content []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	changed := append([]byte{}, good...)
	changed[len(changed)/2] ^= 1
	refusedCommand(t, g, "with --replace it is moved aside", "restore", file)
	refusedCommand(t, g, "changed or cut off", "restore", "--replace", bad("changed", changed))
	refusedCommand(t, g, "changed or cut off", "restore", "--replace", bad("short", good[:len(good)-100]))
	refusedCommand(t, g, "is not a backup", "restore", "--replace", bad("other", []byte("something else")))
	refusedCommand(t, g, "a key that is not in this key ring", "restore", "--replace", foreign)
	refusedCommand(t, g, "was taken from a running gateway", "restore", "--replace", "--moved", file)
	refusedCommand(t, g, "no such file", "restore", "--replace", file+".nowhere")
	dir := dataDir(t, g)
	stores := func() int {
		all, err := filepath.Glob(filepath.Join(dir, "journal", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(slices.DeleteFunc(all, func(name string) bool { return filepath.Base(name) == "lock" }))
	}
	if n := stores(); n != 1 {
		t.Errorf("%d stores after restores that were refused", n)
	}
	// What is there still works, and a restore can be repeated.
	for i := range 2 {
		command(t, g, "journal", "check")
		command(t, g, "restore", "--replace", file)
		if n := stores(); n != i+2 {
			t.Errorf("%d stores, want %d: the old ones are kept", n, i+2)
		}
	}
	// On another machine: the key ring is put there, and the home comes along.
	fresh := rig.Start(t, yaml)
	fresh.Kill(t)
	there := dataDir(t, fresh)
	if err := os.RemoveAll(there); err != nil {
		t.Fatal(err)
	}
	refusedCommand(t, fresh, "there is no file", "restore", file)
	keys, err := os.ReadFile(filepath.Join(dir, "keys"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(there, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(there, "keys"), keys, 0o600); err != nil {
		t.Fatal(err)
	}
	command(t, fresh, "restore", file)
	fresh = fresh.Again(t)
	if status, body := newV1(t, fresh).say(t, http.MethodGet, "/"+r.ElicitationID, "", ""); status != 200 || !strings.Contains(body, "pending") {
		t.Errorf("the question on the other machine: %d %s", status, body)
	}
}

// A gateway is moved to another machine: it is stopped, backed up and restored
// with --moved. Nothing is suspended, and lives are counted on.
func TestMovedGateway(t *testing.T) {
	t.Parallel()
	g := rig.Start(t, durable+"backends:\n  one: { url: "+rig.NewBackend(t, nil).URL+" }\n")
	api := newV1(t, g)
	r, err := api.do(t.Context(), http.MethodPost, "", map[string]any{"formDefinition": jsonOf(apiKeyForm(t))})
	if err != nil {
		t.Fatal(err)
	}
	status, body := rig.SignIn(t, g).Answer("/asks/"+r.ElicitationID, url.Values{"action": {"accept"}, "f0": {apiKey}, "f1": {"1"}})
	has(t, "the answer", status, body, 200)
	if err := g.Stop(); err != nil {
		t.Fatal(err)
	}
	file := backedUp(t, g)
	command(t, g, "restore", "--replace", "--moved", file)
	g = g.Again(t)
	status, body = newV1(t, g).say(t, http.MethodPost, "/"+r.ElicitationID+"/collect", "", "")
	has(t, "the collection", status, body, 200, apiKey)
}

// A damaged store is checked and repaired: what can be read is there again, and
// the damaged store is kept.
func TestRepairedStore(t *testing.T) {
	t.Parallel()
	g := rig.Start(t, durable+"backends:\n  one: { url: "+rig.NewBackend(t, nil).URL+" }\n")
	api := newV1(t, g)
	var ids []string
	for range 20 {
		r, err := api.do(t.Context(), http.MethodPost, "", map[string]any{"formDefinition": jsonOf(apiKeyForm(t))})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ElicitationID)
	}
	if err := g.Stop(); err != nil {
		t.Fatal(err)
	}
	if out := command(t, g, "journal", "check"); !strings.Contains(out, "the store is whole") {
		t.Errorf("check: %s", out)
	}
	if out := command(t, g, "journal", "repair"); !strings.Contains(out, "nothing was changed") {
		t.Errorf("repair of a whole store: %s", out)
	}
	meta, err := filepath.Glob(filepath.Join(dataDir(t, g), "journal", "jetstream", "*", "streams", "answerback-audit", "meta.inf"))
	if err != nil || len(meta) != 1 {
		t.Fatal(meta, err)
	}
	if err := os.WriteFile(meta[0], []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	refusedCommand(t, g, "the store is damaged", "journal", "check")
	if status, errs := rig.Run(t, "serve", "--config", g.File); status != 1 || !strings.Contains(errs, "answerback-audit") {
		t.Errorf("a gateway starts with a damaged store: %d %s", status, errs)
	}
	out := command(t, g, "journal", "repair")
	if !strings.Contains(out, "lost: answerback-audit") || !strings.Contains(out, "the damaged store is in") {
		t.Errorf("repair: %s", out)
	}
	if left, err := filepath.Glob(filepath.Join(dataDir(t, g), "journal", "*-*")); err != nil || len(left) != 1 || !strings.Contains(left[0], "damaged") {
		t.Errorf("beside the store: %v %v", left, err)
	}
	api = newV1(t, g.Again(t))
	for _, id := range ids {
		if status, body := api.say(t, http.MethodGet, "/"+id, "", ""); status != 200 || !strings.Contains(body, "pending") {
			t.Fatalf("question %s: %d %s", id, status, body)
		}
	}
}
