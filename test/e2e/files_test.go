package e2e

import (
	"crypto/sha256"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/answerback/answerback/test/rig"
)

// fileForm is a question for a name, a file and a reason.
const fileForm = `{"message":"Your CV, please","requestedSchema":{"type":"object","properties":{}},"formDefinition":{"id":"cv","title":"CV","fields":[` +
	`{"id":"name","type":"text","label":"Name","required":true},` +
	`{"id":"cv","type":"file","label":"CV","required":true,"validation":{"allowedMimeTypes":["application/pdf"]}},` +
	`{"id":"why","type":"text","label":"Why"}]}}`

// curious is a backend that asks for a file and says what it was given.
func curious(t *testing.T) *rig.Backend {
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
		a := c.Ask(c.ID(), "elicitation/create", fileForm)
		c.Result(`{"got":` + string(a.Field(a.Result)) + `}`)
	}})
	b.LegacyOnly = true
	return b
}

// pdfOf is a file that is a PDF by its content, of a size.
func pdfOf(size int) string {
	b := make([]byte, size)
	rand.NewChaCha8([32]byte{1}).Read(b)
	copy(b, "%PDF-1.7\n")
	return string(b)
}

// askedForAFile starts a call in which somebody is asked for a file, and gives the
// path of its page.
func askedForAFile(c *rig.Client) (*rig.Stream, string) {
	s := c.Tool("ask", "{}")
	q := s.Next()
	page := askPath.FindString(member(q, q.Params, "url"))
	c.Answer(q, `{"action":"accept"}`)
	return s, page
}

var fileLink = regexp.MustCompile(`http://[^"]+/files/[A-Za-z0-9_-]+`)

// linkOf waits for the end of a call and gives the address that its backend
// was handed.
func linkOf(t *testing.T, s *rig.Stream) string {
	t.Helper()
	for {
		m := s.Next()
		if m.Method() == "notifications/elicitation/complete" {
			continue
		}
		link := fileLink.FindString(member(m, m.Result, "got"))
		if link == "" {
			t.Fatalf("the backend was given no address: %s", m.Raw)
		}
		return link
	}
}

func fetch(t *testing.T, address string, headers ...string) reply {
	t.Helper()
	return send(t, newRequest(t, http.MethodGet, address, "", headers...))
}

// F16: a file of 10 MB goes from the page to the backend that asked, byte for
// byte, a few times and no more; no other link leads to it.
func TestFileReachesTheBackend(t *testing.T) {
	t.Parallel()
	b := curious(t)
	g := rig.Start(t, "backends:\n  one: { url: "+b.URL+" }\n")
	person := rig.SignIn(t, g)
	c := rig.Dial(t, g.URL+"/one", linksOnly)
	s, page := askedForAFile(c)
	content := pdfOf(10 << 20)
	status, body := person.Upload(page, rig.Part{Name: "token", Content: person.Token(page)}, rig.Part{Name: "f0", Content: "Ann"},
		rig.Part{Name: "f1", File: "cv.pdf", Content: content}, rig.Part{Name: "action", Content: "accept"})
	if status != 200 {
		t.Fatalf("the answer: %d %s", status, body)
	}
	link := linkOf(t, s)
	if strings.Contains(body, link) {
		t.Error("the person is shown the backend's link")
	}

	flipped := []byte(link)
	flipped[len(flipped)-3] ^= 1
	for name, r := range map[string]reply{
		"a guess":              fetch(t, string(flipped)),
		"another site's page":  fetch(t, link, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"),
		"another host":         fetch(t, link, "Host", "evil.example"),
		"the list of files":    fetch(t, link[:strings.LastIndex(link, "/")+1]),
		"with a trailing part": fetch(t, link+"/x"),
	} {
		if r.status != 404 && r.status != 403 || strings.Contains(r.body, "%PDF") {
			t.Errorf("%s: %d", name, r.status)
		}
	}
	for n := range 3 {
		r := fetch(t, link)
		if r.status != 200 || sha256.Sum256([]byte(r.body)) != sha256.Sum256([]byte(content)) {
			t.Fatalf("the backend gets %d, %d bytes", r.status, len(r.body))
		}
		if n == 0 && (!strings.HasPrefix(r.header.Get("Content-Disposition"), "attachment") || r.header.Get("X-Content-Type-Options") != "nosniff") {
			t.Errorf("headers %v", r.header)
		}
	}
	if r := fetch(t, link); r.status != 404 {
		t.Errorf("a fourth time: %d", r.status)
	}
}

// A file that is refused costs nobody what they typed; what it is said to be
// does not count.
func TestFileThatIsRefusedKeepsTheRest(t *testing.T) {
	t.Parallel()
	b := curious(t)
	g := rig.Start(t, "backends:\n  one: { url: "+b.URL+" }\n")
	person := rig.SignIn(t, g)
	c := rig.Dial(t, g.URL+"/one", linksOnly)
	s, page := askedForAFile(c)
	send := func(content string) (int, string) {
		return person.Upload(page, rig.Part{Name: "token", Content: person.Token(page)}, rig.Part{Name: "f0", Content: "Ann with a canary"},
			rig.Part{Name: "f1", File: "cv.pdf", Content: content}, rig.Part{Name: "f2", Content: "Because of it"}, rig.Part{Name: "action", Content: "accept"})
	}
	for content, says := range map[string]string{
		pdfOf(10<<20 + 1):        "at most 10 MB",
		"<html><script>alert(1)": "of type application/pdf",
	} {
		status, body := send(content)
		if status != 422 || !strings.Contains(body, says) || !strings.Contains(body, "Ann with a canary") || !strings.Contains(body, "Because of it") {
			t.Errorf("%.10q: %d %s", content, status, body)
		}
	}
	if status, body := send(pdfOf(100)); status != 200 {
		t.Fatalf("control: %d %s", status, body)
	}
	if r := fetch(t, linkOf(t, s)); r.body != pdfOf(100) {
		t.Errorf("the backend gets %d, %d bytes", r.status, len(r.body))
	}
}

// What was sent is there after a crash, and nothing of it is on disk in the
// clear.
func TestFileSurvivesACrashAndIsSealed(t *testing.T) {
	t.Parallel()
	const canary = "canary-in-the-file-81b2"
	b := curious(t)
	g := rig.Start(t, durable+"backends:\n  one: { url: "+b.URL+" }\n")
	data := filepath.Join(filepath.Dir(g.File), "data")
	person := rig.SignIn(t, g)
	c := rig.Dial(t, g.URL+"/one", linksOnly)
	s, page := askedForAFile(c)
	content := "%PDF-1.7\n" + strings.Repeat(canary+"\n", 100_000)
	if status, body := person.Upload(page, rig.Part{Name: "token", Content: person.Token(page)}, rig.Part{Name: "f0", Content: "Ann"},
		rig.Part{Name: "f1", File: canary + ".pdf", Content: content}, rig.Part{Name: "action", Content: "accept"}); status != 200 {
		t.Fatalf("the answer: %d %s", status, body)
	}
	link := linkOf(t, s)
	_, token, _ := strings.Cut(link, "/files/")
	secrets := canaries{"the file": canary, "its link": token}
	if found := secrets.find(files(t, data) + g.Log()); len(found) != 0 {
		t.Errorf("in the data directory or the log are %v", found)
	}
	g.Kill(t)
	if found := secrets.find(files(t, data)); len(found) != 0 {
		t.Errorf("in the data directory after the crash are %v", found)
	}
	if err := os.WriteFile(filepath.Join(data, "planted"), []byte("x"+canary+token), 0o600); err != nil {
		t.Fatal(err)
	}
	if found := secrets.find(files(t, data)); len(found) != 2 {
		t.Errorf("control: of what was planted the search found %v", found)
	}
	g = g.Again(t)
	if r := fetch(t, strings.TrimSuffix(g.URL, "/mcp")+"/files/"+token); r.status != 200 || r.body != content {
		t.Errorf("after the crash the backend gets %d, %d bytes", r.status, len(r.body))
	}
}

// A file is its giver's until it is sent: nobody else can add to their
// question, see it, or send it as their own.
func TestAttackFileOfAnother(t *testing.T) {
	t.Parallel()
	b := curious(t)
	g := guard(t, "", "  one: { url: "+b.URL+" }\n")
	ann, bob := g.signIn("ann"), g.signIn("bob")
	s, page := askedForAFile(rig.DialAs(t, g.Gateway.URL+"/one", linksOnly, g.token("ann")))
	_, bobs := askedForAFile(rig.DialAs(t, g.Gateway.URL+"/one", linksOnly, g.token("bob")))
	parts := func(v *visitor, page string, more ...rig.Part) []rig.Part {
		token := tokens(v.get(page).body)
		return append([]rig.Part{{Name: "token", Content: token[len(token)-1]}, {Name: "f0", Content: "Me"}}, more...)
	}
	cv := rig.Part{Name: "f1", File: "cv.pdf", Content: pdfOf(100)}
	accept := rig.Part{Name: "action", Content: "accept"}

	status, body := ann.upload(page+"/files", parts(ann, page, cv)...)
	id := regexp.MustCompile(`name="f1-kept" value="([^"]+)" checked`).FindStringSubmatch(body)
	if status != 200 || id == nil {
		t.Fatalf("control: ann's file is not kept: %d %s", status, body)
	}
	if status, body := bob.upload(page+"/files", parts(bob, bobs, cv)...); status != 404 || strings.Contains(body, "cv.pdf") {
		t.Errorf("bob adds to ann's question: %d %s", status, body)
	}
	if r := bob.get(page); r.status != 404 || strings.Contains(r.body, "cv.pdf") {
		t.Errorf("bob sees ann's question: %d", r.status)
	}
	if status, _ := bob.upload(bobs, parts(bob, bobs, rig.Part{Name: "f1-kept", Content: id[1]}, accept)...); status != 422 {
		t.Errorf("bob sends ann's file as his own: %d", status)
	}
	if r := fetch(t, g.base+"/files/"+id[1]); r.status != 404 {
		t.Errorf("the id of a draft is a link: %d", r.status)
	}
	if status, body := ann.upload(page, parts(ann, page, rig.Part{Name: "f1-kept", Content: id[1]}, accept)...); status != 200 {
		t.Errorf("control: %d %s", status, body)
	}
	if r := fetch(t, linkOf(t, s)); r.status != 200 || r.body != pdfOf(100) {
		t.Errorf("control: the backend gets %d", r.status)
	}
}

// A file that was given and not sent goes with its question, whoever ends it:
// somebody who declines elsewhere, or a client that goes away.
func TestFilesGoWithTheirQuestion(t *testing.T) {
	t.Parallel()
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
		id := c.ID()
		answer := c.Expect(id)
		c.Send(`{"jsonrpc":"2.0","id":` + id + `,"method":"elicitation/create","params":` + fileForm + `}`)
		select {
		case <-answer:
			c.Result(`{"content":[]}`)
		case <-c.Context.Done():
		}
	}})
	b.LegacyOnly = true
	g := rig.Start(t, durable+"backends:\n  one: { url: "+b.URL+" }\n")
	for name, end := range map[string]func(id string, c *rig.Client){
		"declined at a terminal": func(id string, _ *rig.Client) {
			if status, out, errs := rig.RunAll(t, "asks", "decline", id, "--config", g.File); status != 0 {
				t.Fatalf("%d %s%s", status, out, errs)
			}
		},
		"given up": func(_ string, c *rig.Client) { c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			person := rig.SignIn(t, g)
			c := rig.Dial(t, g.URL+"/one", linksOnly)
			_, page := askedForAFile(c)
			status, body := person.Upload(page+"/files", rig.Part{Name: "token", Content: person.Token(page)}, rig.Part{Name: "f1", File: "cv.pdf", Content: pdfOf(1 << 20)})
			if status != 200 || !strings.Contains(body, "cv.pdf") {
				t.Fatalf("keeping the file: %d %s", status, body)
			}
			id := strings.TrimPrefix(page, "/asks/")
			end(id, c)
			g.WaitLog(t, `"files of a question that is over removed" ask=`+id+" files=1")
		})
	}
}

// A person at a terminal gives a file by its path.
func TestFileFromTheCommandLine(t *testing.T) {
	t.Parallel()
	b := curious(t)
	g := rig.Start(t, "backends:\n  one: { url: "+b.URL+" }\n")
	s, page := askedForAFile(rig.Dial(t, g.URL+"/one", linksOnly))
	dir := t.TempDir()
	for name, content := range map[string]string{"cv.pdf": pdfOf(3 << 20), "no.pdf": "<html>"} {
		rig.Write(t, filepath.Join(dir, name), content)
	}
	answer := func(file string) (int, string) {
		status, out, errs := rig.RunAll(t, "asks", "answer", strings.TrimPrefix(page, "/asks/"), "--config", g.File, "--set", "name=Ann", "--file", "cv="+file)
		return status, out + errs
	}
	if status, out := answer(filepath.Join(dir, "no.pdf")); status == 0 || !strings.Contains(out, "must be a file of type application/pdf") || !strings.Contains(out, "no answer was sent") {
		t.Errorf("a file of another type: %d %s", status, out)
	}
	if status, out := answer(dir); status == 0 || !strings.Contains(out, "is not a file") {
		t.Errorf("a folder: %d %s", status, out)
	}
	if status, out := answer(filepath.Join(dir, "cv.pdf")); status != 0 {
		t.Fatalf("%d %s", status, out)
	}
	if r := fetch(t, linkOf(t, s)); r.body != pdfOf(3<<20) {
		t.Errorf("the backend gets %d, %d bytes", r.status, len(r.body))
	}
}

// upload posts a form with files from a browser.
func (v *visitor) upload(path string, parts ...rig.Part) (int, string) {
	v.t.Helper()
	kind, body := rig.Multipart(v.t, parts...)
	req := newRequest(v.t, http.MethodPost, v.base+path, body, "Sec-Fetch-Site", "same-origin", "Origin", v.base, "Content-Type", kind)
	for name, value := range v.cookies {
		req.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	r := send(v.t, req)
	return r.status, r.body
}
