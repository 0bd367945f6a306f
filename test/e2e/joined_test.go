package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// listing answers a list with items given raw, in pages of so many.
func listing(key string, size int, items ...string) rig.Script {
	return func(c *rig.Call) {
		start, end := 0, len(items)
		if cursor := c.Msg.Text(c.Msg.Cursor); cursor != "" {
			fmt.Sscanf(cursor, "at %d", &start)
		}
		next := ""
		if size > 0 && start+size < end {
			end = start + size
			next = fmt.Sprintf(`,"nextCursor":"at %d"`, end)
		}
		c.Result(`{"` + key + `":[` + strings.Join(items[start:end], ",") + `]` + next + `,"resultType":"complete"}`)
	}
}

func tool(name string) string { return `{"name":"` + name + `","inputSchema":{"type":"object"}}` }

func toolNames(prefix string, n int) (items, names []string) {
	for i := range n {
		items = append(items, tool(fmt.Sprintf("t%d", i)))
		names = append(names, prefix+fmt.Sprintf("t%d", i))
	}
	return items, names
}

// names gives the names in a list result.
func names(m wire.Message, key string) []string {
	var all []string
	for item := range wire.Elements(m.Raw, wire.Get(m.Raw, m.Result, key)) {
		name, _ := wire.Unquote(wire.Get(m.Raw, item, "name").Of(m.Raw))
		all = append(all, name)
	}
	return all
}

// TestJoinedListsArePaged: the lists of three backends, one of them paged
// itself, are one list in a stable order, in pages that lose and repeat
// nothing, in both eras.
func TestJoinedListsArePaged(t *testing.T) {
	t.Parallel()
	many, want := toolNames("aa__", 900)
	some, wantSome := toolNames("bb__", 600)
	aa := rig.NewBackend(t, map[string]rig.Script{"tools/list": listing("tools", 400, many...)})
	bb := rig.NewBackend(t, map[string]rig.Script{"tools/list": listing("tools", 0, some...)})
	cc := rig.NewBackend(t, map[string]rig.Script{"tools/list": listing("tools", 0, `{"x":1.10, "name":"<&>\u00e9", "y":{"name":"n"}}`)})
	want = append(append(want, wantSome...), "cc__<&>é")
	g := rig.Start(t, "backends:\n  cc: { url: "+cc.URL+" }\n  aa: { url: "+aa.URL+" }\n  bb: { url: "+bb.URL+" }\n")
	c, m := rig.Dial(t, g.URL, rig.AllCaps), rig.NewClient(t, g.URL)
	eras := map[string]func(params string) wire.Message{
		"legacy": func(params string) wire.Message { return c.Request("tools/list", params) },
		"modern": func(params string) wire.Message { return m.Modern("1", "tools/list", params, "{}").Final() },
	}
	for name, list := range eras {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				var got []string
				params, pages := "{}", 0
				for params != "" {
					r := list(params)
					page := names(r, "tools")
					if pages++; len(page) == 0 || len(page) > 1000 || pages > 5 {
						t.Fatalf("page %d has %d tools: %.200s", pages, len(page), r.Raw)
					}
					got = append(got, page...)
					params = ""
					if cursor := member(r, r.Result, "nextCursor"); cursor != "" {
						params = `{"cursor":` + cursor + `}`
					} else if !strings.Contains(string(r.Raw), `{"x":1.10, "name":"cc__<&>\u00e9", "y":{"name":"n"}}`) {
						t.Errorf("an item changed beyond its name: %s", r.Raw[max(0, len(r.Raw)-200):])
					}
				}
				equal(t, "all names in order", strings.Join(got, " "), strings.Join(want, " "))
				if pages < 2 {
					t.Errorf("%d tools came in %d page", len(got), pages)
				}
			}
			wantError(t, "a cursor of nobody's", list(`{"cursor":"nobody's"}`), "-32602", "unknown_name")
		})
	}
}

// TestPlainNamesCollide: with plain names the first backend has the name, the
// other's item is hidden, and the log says so.
func TestPlainNamesCollide(t *testing.T) {
	t.Parallel()
	serves := func(who string, tools ...string) *rig.Backend {
		return rig.NewBackend(t, map[string]rig.Script{
			"tools/list": listing("tools", 0, tools...),
			"tools/call": func(c *rig.Call) { c.Result(`{"by":"` + who + ` ` + c.Msg.Text(c.Msg.Name) + `"}`) },
		})
	}
	aa, bb := serves("aa", tool("both"), tool("a")), serves("bb", tool("b"), tool("both"))
	g := rig.Start(t, "names: plain\nbackends:\n  aa: { url: "+aa.URL+" }\n  bb: { url: "+bb.URL+" }\n")
	c := rig.Dial(t, g.URL, rig.AllCaps)
	equal(t, "the names", strings.Join(names(c.Request("tools/list", "{}"), "tools"), " "), "both a b")
	g.WaitLog(t, `msg="item hidden by an earlier backend's" list=tools name=both backend=bb by=aa`)
	for name, by := range map[string]string{"both": "aa both", "a": "aa a", "b": "bb b"} {
		r := c.Tool(name, "{}").Final()
		equal(t, name, member(r, r.Result, "by"), `"`+by+`"`)
	}
	wantError(t, "a name of nobody's", c.Tool("c", "{}").Final(), "-32602", "unknown_name")
}

// TestDeadBackendIsNamed: a backend that cannot be reached is named in the
// list's _meta and hides no other, in both eras; a call to it says so.
func TestDeadBackendIsNamed(t *testing.T) {
	t.Parallel()
	good := rig.NewBackend(t, map[string]rig.Script{"tools/list": listing("tools", 0, tool("a")), "tools/call": echo})
	dead := rig.NewBackend(t, nil)
	dead.Kill()
	g := rig.Start(t, "backends:\n  dead: { url: "+dead.URL+" }\n  good: { url: "+good.URL+" }\n  nix: { command: /nonexistent/server }\n")
	c := rig.Dial(t, g.URL, rig.AllCaps)
	for name, r := range map[string]wire.Message{
		"legacy": c.Request("tools/list", "{}"),
		"modern": rig.NewClient(t, g.URL).Modern("1", "tools/list", "{}", "{}").Final(),
	} {
		equal(t, name+": the names", strings.Join(names(r, "tools"), " "), "good__a")
		var missing []string
		for item := range wire.Elements(r.Raw, wire.Get(r.Raw, wire.Get(r.Raw, r.Result, "_meta"), "answerback/unavailable")) {
			missing = append(missing, member(r, item, "backend")+member(r, item, "reason"))
		}
		equal(t, name+": the missing", strings.Join(missing, " "), `"dead""backend_unreachable" "nix""backend_unreachable"`)
	}
	wantError(t, "a call to the dead", c.Tool("dead__x", "{}").Final(), "-32000", "backend_unreachable")
	unharmed(t, c, "good__echo")
}

// TestToolFilters: what is not allowed, or denied, is neither listed nor
// called, at either endpoint, in either era.
func TestToolFilters(t *testing.T) {
	t.Parallel()
	b := rig.NewBackend(t, map[string]rig.Script{
		"tools/list": listing("tools", 0, tool("read_a"), tool("read_secret"), tool("write_a")),
		"tools/call": func(c *rig.Call) { c.Result(`{"resultType":"complete"}`) },
	})
	other := rig.NewBackend(t, nil)
	g := rig.Start(t, "backends:\n  one: { url: "+b.URL+", tools: { allow: [\"read_*\"], deny: [\"*secret\"] } }\n  two: { url: "+other.URL+" }\n")
	for _, d := range []door{{URL: g.URL + "/one"}, {URL: g.URL, Prefix: "one__"}} {
		c, m := rig.Dial(t, d.URL, rig.AllCaps), rig.NewClient(t, d.URL)
		eras := map[string]func(method, params string) wire.Message{
			"legacy": c.Request,
			"modern": func(method, params string) wire.Message { return m.Modern("1", method, params, "{}").Final() },
		}
		for name, request := range eras {
			t.Run(name+d.Prefix, func(t *testing.T) {
				equal(t, "the names", strings.Join(names(request("tools/list", "{}"), "tools"), " "), d.Prefix+"read_a")
				before := b.Count("tools/call")
				for _, hidden := range []string{"read_secret", "write_a"} {
					wantError(t, hidden, request("tools/call", `{"name":"`+d.Prefix+hidden+`","arguments":{}}`), "-32602", "unknown_name")
				}
				if b.Count("tools/call") != before {
					t.Error("a hidden tool was called")
				}
				if r := request("tools/call", `{"name":"`+d.Prefix+`read_a","arguments":{}}`); r.Kind != wire.Result {
					t.Errorf("an allowed tool was refused: %s", r.Raw)
				}
			})
		}
	}
}

// routed is two backends whose every response says who gave it.
func routed(t *testing.T) (g *rig.Gateway, one, two *rig.Backend) {
	t.Helper()
	make := func(who, resources, templates string) *rig.Backend {
		by := func(c *rig.Call) { c.Result(`{"by":"` + who + `","resultType":"complete"}`) }
		return rig.NewBackend(t, map[string]rig.Script{
			"tools/list":               listing("tools", 0, tool("a")),
			"prompts/list":             listing("prompts", 0, `{"name":"p"}`),
			"resources/list":           listing("resources", 0, resources),
			"resources/templates/list": listing("resourceTemplates", 0, templates),
			"tools/call":               by, "prompts/get": by, "resources/read": by, "completion/complete": by,
			"resources/subscribe": by, "resources/unsubscribe": by, "logging/setLevel": by,
		})
	}
	one = make("one", `{"uri":"x://a","name":"a"},{"uri":"x://both","name":"both"}`, `{"uriTemplate":"x://{+any}","name":"any"}`)
	two = make("two", `{"uri":"y://b","name":"b"},{"uri":"x://both","name":"both"}`, `{"uriTemplate":"x://files/{name}","name":"files"}`)
	g = rig.Start(t, "backends:\n  one: { url: "+one.URL+" }\n  two: { url: "+two.URL+" }\n")
	return g, one, two
}

// TestJoinedRouting: prompts and completions go by their name, resources by
// their exact URI, then by the template that says most; what is nobody's is
// refused with -32602. No URI is changed.
func TestJoinedRouting(t *testing.T) {
	t.Parallel()
	g, one, two := routed(t)
	c, m := rig.Dial(t, g.URL, rig.AllCaps), rig.NewClient(t, g.URL)
	eras := map[string]func(method, params string) wire.Message{
		"legacy": c.Request,
		"modern": func(method, params string) wire.Message { return m.Modern("1", method, params, "{}").Final() },
	}
	for name, request := range eras {
		t.Run(name, func(t *testing.T) {
			for _, k := range []struct{ method, params, by string }{
				{"prompts/get", `{"name":"one__p"}`, "one"},
				{"prompts/get", `{"name":"two__p"}`, "two"},
				{"resources/read", `{"uri":"x://a"}`, "one"},
				{"resources/read", `{"uri":"y://b"}`, "two"},
				{"resources/read", `{"uri":"x://both"}`, "one"},
				{"resources/read", `{"uri":"x://unlisted"}`, "one"},
				{"resources/read", `{"uri":"x://files/f.txt"}`, "two"},
				{"completion/complete", `{"ref":{"type":"ref/prompt","name":"two__p"},"argument":{"name":"n","value":"v"}}`, "two"},
				{"completion/complete", `{"ref":{"type":"ref/resource","uri":"x://files/{name}"},"argument":{"name":"name","value":"v"}}`, "two"},
				{"completion/complete", `{"ref":{"type":"ref/resource","uri":"x://{+any}"},"argument":{"name":"any","value":"v"}}`, "one"},
			} {
				r := request(k.method, k.params)
				equal(t, k.method+k.params, member(r, r.Result, "by"), `"`+k.by+`"`)
				at := map[string]*rig.Backend{"one": one, "two": two}[k.by]
				got := at.Received(func(r rig.Received) bool { return r.Msg.Method() == k.method })
				own := strings.Replace(strings.Trim(k.params, "{}"), k.by+"__", "", 1)
				if last := got[len(got)-1]; !strings.Contains(last.Raw, own) {
					t.Errorf("%s reached the backend as %s", k.params, last.Raw)
				}
			}
			for method, params := range map[string]string{
				"resources/read":      `{"uri":"z://nobody"}`,
				"prompts/get":         `{"name":"three__p"}`,
				"completion/complete": `{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"n","value":""}}`,
			} {
				wantError(t, method, request(method, params), "-32602", "unknown_name")
			}
		})
	}
}

// TestJoinedSubscriptionsAndLevels: a subscription goes to the backend that
// has the resource and its updates come on the client's own stream; a log
// level reaches every backend, those opened later included.
func TestJoinedSubscriptionsAndLevels(t *testing.T) {
	t.Parallel()
	g, one, two := routed(t)
	c := rig.Dial(t, g.URL, rig.AllCaps)
	own := c.Listen("")
	if r := c.Request("logging/setLevel", `{"level":"error"}`); r.Kind != wire.Result {
		t.Fatalf("the level was refused: %s", r.Raw)
	}
	if n := one.Count("initialize") + two.Count("initialize"); n != 0 {
		t.Fatalf("a level alone opened %d sessions", n)
	}
	c.Tool("one__a", "{}").Final()
	level := func(b *rig.Backend, want string) {
		t.Helper()
		got := b.Received(func(r rig.Received) bool { return r.Msg.Method() == "logging/setLevel" })
		if len(got) == 0 {
			t.Fatal("the level did not reach the backend")
		}
		last := got[len(got)-1].Msg
		equal(t, "the level at the backend", string(last.Field(last.Params)), want)
	}
	level(one, `{"level":"error"}`)
	c.Request("logging/setLevel", `{"level":"debug","x":1.10}`)
	level(one, `{"level":"debug","x":1.10}`)
	if n := two.Count("logging/setLevel"); n != 0 {
		t.Fatalf("a backend that is not open got %d levels", n)
	}
	r := c.Request("resources/subscribe", `{"uri":"y://b"}`)
	equal(t, "the subscription", member(r, r.Result, "by"), `"two"`)
	level(two, `{"level":"debug","x":1.10}`)

	two.Push(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"y://b","x":1.10}}`)
	n := own.Next()
	equal(t, "the update", n.Method()+string(n.Field(n.Params)), `notifications/resources/updated{"uri":"y://b","x":1.10}`)
	r = c.Request("resources/unsubscribe", `{"uri":"y://b"}`)
	equal(t, "the end of the subscription", member(r, r.Result, "by"), `"two"`)
	wantError(t, "a resource of nobody's", c.Request("resources/subscribe", `{"uri":"z://nobody"}`), "-32602", "unknown_name")
	if got := one.Count("resources/subscribe"); got != 0 {
		t.Errorf("the other backend got %d subscriptions", got)
	}
}

// TestListChangesAreGathered: the changes of two backends at the same time
// are told once, on the client's own stream, and the next list is new.
func TestListChangesAreGathered(t *testing.T) {
	t.Parallel()
	g, one, two := routed(t)
	c := rig.Dial(t, g.URL, rig.AllCaps)
	own := c.Listen("")
	c.Request("tools/list", "{}")
	before := one.Count("tools/list")
	changed := func(what string) string {
		return `{"jsonrpc":"2.0","method":"notifications/` + what + `/list_changed"}`
	}
	one.Push(changed("tools"))
	two.Push(changed("tools"))
	// What comes after them on the same streams says that they were seen,
	// and once more that whatever was gathered then has been told.
	told := make(map[string]int)
	for round := 1; round <= 2; round++ {
		one.Push(changed("prompts"))
		two.Push(changed("resources"))
		for told["notifications/prompts/list_changed"] < round || told["notifications/resources/list_changed"] < round {
			m := own.Next()
			told[m.Method()]++
		}
	}
	if n := told["notifications/tools/list_changed"]; n != 1 || len(told) != 3 {
		t.Errorf("the client was told %v", told)
	}
	c.Request("tools/list", "{}")
	if one.Count("tools/list") != before+1 {
		t.Error("the list after the change is the old one")
	}
}

// TestModernDiscoverAndLists: the joined endpoint answers server/discover
// itself, from what it asked each backend once, and its lists have what the
// modern era demands.
func TestModernDiscoverAndLists(t *testing.T) {
	t.Parallel()
	g, one, two := routed(t)
	m := rig.NewClient(t, g.URL)
	s := m.Modern(`"d"`, "server/discover", "{}", "{}")
	r := s.Final()
	if s.Status != http.StatusOK || r.Kind != wire.Result {
		t.Fatalf("discover: %d %s", s.Status, r.Raw)
	}
	if versions := member(r, r.Result, "supportedVersions"); !strings.Contains(versions, `"2026-07-28"`) {
		t.Errorf("the versions are %s", versions)
	}
	for _, key := range []string{"capabilities", "resultType", "ttlMs", "cacheScope"} {
		if member(r, r.Result, key) == "" {
			t.Errorf("discover has no %s: %s", key, r.Raw)
		}
	}
	m.Modern("1", "server/discover", "{}", "{}").Final()
	if a, b := one.Count("server/discover"), two.Count("server/discover"); a > 1 || b > 1 {
		t.Errorf("the backends were asked %d and %d times for what the gateway knows", a, b)
	}
	for method, key := range map[string]string{"tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources", "resources/templates/list": "resourceTemplates"} {
		r := m.Modern("1", method, "{}", "{}").Final()
		if len(names(r, key)) < 2 {
			t.Errorf("%s: %s", method, r.Raw)
		}
		equal(t, method, member(r, r.Result, "resultType")+member(r, r.Result, "ttlMs")+member(r, r.Result, "cacheScope"), `"complete"0"private"`)
	}
}
