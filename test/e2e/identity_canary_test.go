package e2e

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// canaries are secrets by name, each unlike all other text.
type canaries map[string]string

// find gives the secrets that a text has in it, as they are or encoded.
func (c canaries) find(text string) (found []string) {
	for name, secret := range c {
		for _, form := range forms(secret) {
			if strings.Contains(text, form) {
				found = append(found, name)
				break
			}
		}
	}
	slices.Sort(found)
	return found
}

// forms are the ways in which a secret may be written.
func forms(secret string) []string {
	b := []byte(secret)
	quoted, _ := json.Marshal(secret)
	all := []string{
		secret, strings.ToUpper(secret), url.QueryEscape(secret), string(quoted[1 : len(quoted)-1]), hex.EncodeToString(b),
		base64.RawStdEncoding.EncodeToString(b), base64.RawURLEncoding.EncodeToString(b),
	}
	if raw, err := base64.StdEncoding.DecodeString(secret); err == nil && len(raw) >= 16 {
		all = append(all, string(raw), hex.EncodeToString(raw), base64.RawURLEncoding.EncodeToString(raw))
	}
	if len(secret) >= 32 {
		all = append(all, secret[:len(secret)/2], secret[len(secret)/2:])
	}
	return all
}

// addToken adds a token. Its head is like that of others.
func (c canaries) addToken(name, token string) {
	parts := strings.Split(token, ".")
	c["claims of "+name], c["signature of "+name] = parts[1], parts[2]
}

const (
	backendSecret = "canary-backend-header-c0ffee"
	typedValue    = "canary-typed-value-beef"
)

// TestCanarySecretsStayHidden runs a whole life of a gateway, with everything
// that can go wrong in it, and finds none of its secrets where they do not
// belong: in the log, in pages, in error bodies, in what its commands and its
// status socket print, in what it keeps on disk beside its keys, and in the
// dump of all its goroutines. Where one is made to leak, the same search finds
// it.
func TestCanarySecretsStayHidden(t *testing.T) {
	t.Parallel()
	b := newAsker(t)
	leaky := rig.NewBackend(t, map[string]rig.Script{"tools/call leak": func(c *rig.Call) {
		c.Result(`{"content":[],"key":"` + c.Header.Get("X-Backend-Key") + `"}`)
	}})
	leaky.LegacyOnly = true
	backends := "  one: { url: " + b.URL + ", headers: { X-Backend-Key: " + backendSecret + " } }\n" +
		"  leaky: { url: " + leaky.URL + ", headers: { X-Backend-Key: " + backendSecret + " } }\n" +
		"log: { level: debug }\n"
	g := guard(t, durable, backends)
	bodies := &strings.Builder{}
	took := func(r reply) reply {
		bodies.WriteString(r.body + "\n" + r.header.Get("WWW-Authenticate") + "\n")
		return r
	}

	a := live(t, g)
	secrets := canaries{
		"client secret": clientSecret, "key of nobody": nobodysKey, "key of ann": annsKey, "backend's header": backendSecret, "what was typed": typedValue,
		"opaque access token": a.others["opaque access token"], "session cookie": a.browser.cookies[sessionCookie], "flow cookie": a.others["flow cookie"], "sign-in state": a.others["sign-in state"],
	}
	secrets.addToken("the token", a.token)
	secrets.addToken("the ID token", a.others["ID token"])
	data := filepath.Join(filepath.Dir(g.File), "data")
	keys, err := os.ReadFile(filepath.Join(data, "keys"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(keys)) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") && line != "" {
			secrets["key of the ring"] = line
		}
	}
	for name, secret := range secrets {
		if len(secret) < 16 {
			t.Fatalf("the run has no %s", name)
		}
	}

	// Every secret at every place where it is wrong, and twice where it is right.
	for _, secret := range slices.Concat(slices.Collect(maps.Values(secrets)), []string{a.token}) {
		took(send(t, post(t, g.Gateway.URL, initialize, "Authorization", "Bearer "+secret)))
		took(send(t, post(t, g.Gateway.URL+"/"+secret, initialize, "Authorization", "Bearer "+a.token)))
		took(send(t, post(t, g.Gateway.URL+"?access_token="+url.QueryEscape(secret), initialize, "Authorization", "Bearer "+a.token)))
		took(send(t, post(t, g.Gateway.URL, initialize, "Authorization", "Bearer "+a.token, "Mcp-Session-Id", secret)))
		v := &visitor{t: t, base: g.base, cookies: map[string]string{sessionCookie: secret, flowCookie: secret}}
		for _, path := range []string{"/", "/asks/" + url.PathEscape(secret), "/signin/callback?code=" + url.QueryEscape(secret) + "&state=" + url.QueryEscape(secret), "/signin/local?token=" + url.QueryEscape(secret)} {
			took(v.get(path))
			took(a.browser.get(path))
		}
		took(v.do(http.MethodPost, a.ask, url.Values{"token": {secret}, "action": {secret}}))
	}
	v := &visitor{t: t, base: g.base, cookies: map[string]string{}}
	back := g.Approve(v.get("/signin").header.Get("Location"), "ann")
	secrets["code"] = back.Query().Get("code")
	took(v.get(back.RequestURI()))
	took(v.get(back.RequestURI()))
	secrets["second session cookie"] = v.cookies[sessionCookie]

	c := rig.DialAs(t, g.Gateway.URL+"/one", rig.AllCaps, a.token)
	named := c.Tool("name", "{}")
	named.Next()
	for _, path := range askPath.FindAllString(v.get("/").body, -1) {
		if page := took(v.get(path)); strings.Contains(page.body, "Who are you?") {
			took(v.do(http.MethodPost, path, url.Values{"token": tokens(page.body)[1:], "action": {"accept"}, "f0": {typedValue}}))
		}
	}
	named.Final()
	if raw := b.Received(func(r rig.Received) bool { return strings.Contains(r.Raw, typedValue) }); len(raw) != 1 {
		t.Fatalf("what was typed reached the backend %d times", len(raw))
	}
	took(v.do(http.MethodPost, "/signout", nil))
	g.Rewrite(t, "identity: { keys: { robot: { key: "+nobodysKey+", subject: x } } }\nnonsense: true\nbackends: {}\n")
	g.WaitLog(t, "the old one stays in force")
	g.Rewrite(t, "identity:\n  issuers:\n    corp: { url: \""+g.Issuer.URL+"\", client_id: pages, client_secret: "+clientSecret+" }\n  keys: { robot: { key: "+nobodysKey+" } }\nbackends:\n"+backends)
	g.WaitLog(t, "configuration reloaded")

	shown := map[string]string{"bodies": bodies.String(), "status socket": status(t, g)}
	for _, command := range []string{"check", "doctor", "signin"} {
		_, out, complaints := rig.RunAll(t, command, "--config", g.File)
		shown[command] = out + complaints
	}

	// The planted leaks: a backend that tells its key, and a title that is a
	// secret and is shown by check. Another one is in TestCanaryInTheLog.
	m := rig.DialAs(t, g.Gateway.URL+"/leaky", "{}", a.token).Tool("leak", "{}").Final()
	if leak := secrets.find(string(m.Raw)); !slices.Equal(leak, []string{"backend's header"}) || m.Kind != wire.Result {
		t.Errorf("control: of the leak in a body the search found %v", leak)
	}
	titled := filepath.Join(t.TempDir(), "titled.yaml")
	rig.Write(t, titled, "identity: { issuers: { corp: { url: \"https://login.example\", title: "+clientSecret+" } } }\nbackends: { one: { url: \""+b.URL+"\" } }\n")
	_, out, _ := rig.RunAll(t, "check", "--config", titled)
	if leak := secrets.find(out); !slices.Equal(leak, []string{"client secret"}) {
		t.Errorf("control: of the leak in check's output the search found %v", leak)
	}

	dump := g.Dump(t)
	if !strings.Contains(dump, "SIGQUIT") || !strings.Contains(dump, "goroutine ") || !strings.Contains(dump, "answerback/internal/") {
		t.Fatalf("there is no dump in:\n%.2000s", dump)
	}
	shown["log and dump"], shown["data directory"] = dump, files(t, data)
	for _, where := range slices.Sorted(maps.Keys(shown)) {
		t.Run(where, func(t *testing.T) {
			if leaks := secrets.find(shown[where]); len(leaks) > 0 {
				t.Errorf("in it are %v:\n%.4000s", leaks, lines(shown[where], secrets))
			}
			all := slices.Sorted(maps.Keys(secrets))
			if found := secrets.find(shown[where] + strings.Join(slices.Collect(maps.Values(secrets)), " ")); !slices.Equal(found, all) {
				t.Errorf("control: of all secrets at its end the search found only %v", found)
			}
		})
	}
	for name, secret := range secrets {
		for _, form := range forms(secret) {
			if found := (canaries{name: secret}).find("x" + form + "x"); len(found) != 1 {
				t.Errorf("control: %s as %q was not found", name, form)
			}
		}
	}
}

// TestCanaryInTheLog: the log of the real binary is what the search reads: a
// secret that a stranger has the gateway log is found there.
func TestCanaryInTheLog(t *testing.T) {
	t.Parallel()
	g := guard(t, durable, "  one: { url: "+newAsker(t).URL+" }\n")
	secrets := canaries{"key of nobody": nobodysKey}
	if leak := secrets.find(g.Log()); len(leak) > 0 {
		t.Errorf("before it leaks it is there: %v", leak)
	}
	send(t, post(t, g.Gateway.URL, initialize, "Host", nobodysKey))
	g.WaitLog(t, "request refused")
	if leak := secrets.find(g.Log()); len(leak) != 1 {
		t.Errorf("of the leak in the log the search found %v:\n%s", leak, g.Log())
	}
}

// files gives what is in a data directory, but for its keys.
func files(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || e.Name() == "keys" {
			return err
		}
		text, err := os.ReadFile(path)
		b.Write(text)
		return err
	})
	if err != nil || b.Len() == 0 {
		t.Fatalf("the data directory: %v, %d bytes", err, b.Len())
	}
	return b.String()
}

// lines gives the lines of a text in which there are secrets.
func lines(text string, secrets canaries) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if len(secrets.find(line)) > 0 {
			b.WriteString(line)
		}
	}
	return b.String()
}

// status reads the status socket of a gateway, as whoever may open it would.
func status(t testing.TB, g *guarded) string {
	t.Helper()
	conn, err := net.Dial("unix", filepath.Join(filepath.Dir(g.File), "data", "status.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /status HTTP/1.0\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(conn)
	if err != nil || !strings.Contains(string(all), "200 OK") {
		t.Fatalf("the status socket: %v %s", err, all)
	}
	return string(all)
}
