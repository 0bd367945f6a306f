package api

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/answerback/answerback/ask"
)

func readCloser(s string) io.ReadCloser { return io.NopCloser(strings.NewReader(s)) }

// every is all that can be done with a question, as an attacker tries it.
var every = []struct{ method, path, body string }{
	{http.MethodGet, "", ""},
	{http.MethodPost, "/answer", `{"action":"accept","content":{}}`},
	{http.MethodPost, "/answer", `{"action":"decline"}`},
	{http.MethodPost, "/answer", `{"action":"cancel"}`},
	{http.MethodPost, "/decline", ""},
	{http.MethodPost, "/cancel", ""},
	{http.MethodPost, "/extend", `{"seconds":60}`},
}

// Somebody else's question cannot be told from one that never was, open or
// ended, whatever is tried with it.
func TestAttackSomebodyElses(t *testing.T) {
	group := formAsk(`{"message":"For approvers"}`)
	group.Addressee = ask.Addressee{Group: "approvers"}
	for name, c := range map[string]struct {
		ask          ask.Ask
		owner, other string
	}{
		"another person":        {formAsk(`{"message":"For ada"}`), "ada", "bob"},
		"another person's URL":  {urlAsk(), "ada", "bob"},
		"another group":         {group, "bob@approvers", "bob@readers"},
		"no group":              {group, "bob@approvers", "ada"},
		"a group called ada":    {formAsk(`{"message":"For ada"}`), "ada", "bob@ada"},
		"a person's group name": {group, "bob@approvers", "approvers"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t)
			id := k.put(c.ask)
			try := func(when string) {
				for _, op := range every {
					theirs := k.send(request(op.method, "/v1/asks/"+id+op.path, c.other, op.body)).want(404)
					none := k.send(request(op.method, "/v1/asks/no-such"+op.path, c.other, op.body)).want(404)
					if theirs.body != none.body || len(theirs.header) != len(none.header) {
						t.Errorf("%s: %s%s tells theirs %s from none %s", when, op.method, op.path, theirs.body, none.body)
					}
				}
				k.get("/v1/asks", c.other).want(200, `"asks":[]`)
			}
			try("open")
			k.wantHeard()
			k.get("/v1/asks", c.owner).want(200, id)
			k.post("/v1/asks/"+id+"/decline", c.owner, "").want(200)
			try("ended")
			k.wantHeard(`{"action":"decline"}`)
		})
	}
}

func TestAttackGuessedID(t *testing.T) {
	k := newKit(t)
	id := k.put(formAsk(`{"message":"m"}`))
	for name, guess := range map[string]string{
		"another number": id[:len(id)-1] + "9",
		"a prefix":       id[:len(id)-1],
		"a suffix":       id + "0",
		"capitals":       strings.ToUpper(id),
		"a space":        id + "%20",
		"a NUL":          id + "%00",
		"a slash":        "%2e%2e%2f" + id,
		"long":           strings.Repeat("a", 100_000),
		"a newline":      id + "%0a",
	} {
		for _, op := range every {
			got := k.send(request(op.method, "/v1/asks/"+guess+op.path, "bob", op.body))
			if got.status != 404 {
				t.Errorf("%s: %s%s: %d %s", name, op.method, op.path, got.status, got.body)
			}
		}
	}
	k.wantHeard()
	k.get("/v1/asks/"+id, "ada").want(200)
}

func TestAttackWithoutCredential(t *testing.T) {
	k := newKit(t)
	id := k.put(formAsk(`{"message":"m"}`))
	for name, c := range map[string]struct{ token, challenge string }{
		"none":     {"", "Bearer"},
		"expired":  {"expired", `Bearer error="invalid_token"`},
		"a nobody": {"nobody", "Bearer"},
	} {
		for _, op := range every {
			got := k.send(request(op.method, "/v1/asks/"+id+op.path, c.token, op.body)).want(401, `"code":"not_allowed"`)
			if got.header.Get("WWW-Authenticate") != c.challenge {
				t.Errorf("%s: challenge %q", name, got.header.Get("WWW-Authenticate"))
			}
		}
		k.get("/v1/asks", c.token).want(401)
	}
	r := request(http.MethodGet, "/v1/asks?access_token=ada", "", "")
	r.AddCookie(&http.Cookie{Name: "Authorization", Value: "Bearer ada"})
	k.send(r).want(401)
	k.wantHeard()
	k.get("/v1/asks/"+id, "ada").want(200)
}

func TestAttackContentType(t *testing.T) {
	const body = `{"action":"accept"}`
	for name, types := range map[string][]string{
		"none":               nil,
		"a form":             {"application/x-www-form-urlencoded"},
		"text":               {"text/plain"},
		"several":            {"application/json", "text/plain"},
		"a list":             {"application/json, text/plain"},
		"another charset":    {"application/json; charset=utf-16"},
		"a suffix":           {"application/json-patch+json"},
		"a broken parameter": {"application/json; charset"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t)
			id := k.put(formAsk(`{"message":"m"}`))
			for _, path := range []string{"/answer", "/extend"} {
				r := request(http.MethodPost, "/v1/asks/"+id+path, "ada", body)
				r.Header["Content-Type"] = types
				k.send(r).want(415, `"code":"bad_message"`)
			}
			k.wantHeard()
			r := request(http.MethodPost, "/v1/asks/"+id+"/answer", "ada", body)
			r.Header.Set("Content-Type", `Application/JSON; charset="UTF-8"`)
			k.send(r).want(200)
		})
	}
}

func TestAttackBody(t *testing.T) {
	for name, c := range map[string]struct {
		body   string
		status int
		code   string
	}{
		"the action twice":       {`{"action":"decline","action":"accept"}`, 400, "ambiguous_message"},
		"escaped twice":          {`{"action":"decline","\u0061ction":"accept"}`, 400, "ambiguous_message"},
		"the content twice":      {`{"action":"accept","content":{},"content":{"s":"x"}}`, 400, "ambiguous_message"},
		"a field twice":          {`{"action":"accept","content":{"s":"a","s":"b"}}`, 422, "invalid_content"},
		"a field escaped twice":  {`{"action":"accept","content":{"s":"a","\u0073":"b"}}`, 422, "invalid_content"},
		"another case":           {`{"Action":"accept"}`, 400, "bad_message"},
		"an unknown member":      {`{"action":"accept","principal":"bob"}`, 400, "bad_message"},
		"a wire member":          {`{"action":"accept","_meta":{}}`, 400, "bad_message"},
		"no action":              {`{"content":{}}`, 400, "bad_message"},
		"an action in capitals":  {`{"action":"ACCEPT"}`, 400, "bad_message"},
		"an action of spaces":    {`{"action":"accept "}`, 400, "bad_message"},
		"an action that is true": {`{"action":true}`, 400, "bad_message"},
		"a list of actions":      {`{"action":["accept"]}`, 400, "bad_message"},
		"null":                   {`null`, 400, "bad_message"},
		"a list":                 {`[{"action":"accept"}]`, 400, "bad_message"},
		"two values":             {`{"action":"accept"}{"action":"accept"}`, 400, "bad_message"},
		"half":                   {`{"action":"accept"`, 400, "bad_message"},
		"not UTF-8":              {"{\"action\":\"accept\",\"content\":{\"s\":\"\xff\"}}", 400, "bad_message"},
		"a comment":              {`{"action":"accept"/**/}`, 400, "bad_message"},
		"deep":                   {`{"action":"accept","content":{"s":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}}`, 422, "invalid_content"},
		"bottomless":             {`{"action":"accept","content":` + strings.Repeat("[", 500_000), 400, "bad_message"},
		"oversize":               {`{"action":"accept","content":{"s":"` + strings.Repeat("a", 1<<20) + `"}}`, 413, "too_large"},
		"oversize in spaces":     {`{"action":"accept"}` + strings.Repeat(" ", 1<<20), 413, "too_large"},
		"a decline with content": {`{"action":"decline","content":{}}`, 400, "bad_message"},
		"a cancel with content":  {`{"action":"cancel","content":{}}`, 400, "bad_message"},
		"a prototype":            {`{"action":"accept","content":{"__proto__":{}}}`, 422, "invalid_content"},
		"an injected result":     {`{"action":"accept","content":{"s":"\"},\"action\":\"decline"}}}`, 400, "bad_message"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t)
			id := k.put(asking(`{"s":{"type":"string"}}`, `[]`))
			k.post("/v1/asks/"+id+"/answer", "ada", c.body).want(c.status, `"code":"`+c.code+`"`)
			k.wantHeard()
			long := strings.Repeat("a", 90_000)
			k.post("/v1/asks/"+id+"/answer", "ada", `{"action":"accept","content":{"s":"`+long+`"}}`).want(200)
			k.wantHeard(`{"action":"accept","content":{"s":"` + long + `"}}`)
		})
	}
}

// A decline and a cancel say all in their path; what else comes with them
// might mean something else.
func TestAttackBodyWhereNoneBelongs(t *testing.T) {
	k := newKit(t)
	id := k.put(formAsk(`{"message":"m"}`))
	for _, path := range []string{"/decline", "/cancel"} {
		for _, body := range []string{`{"action":"accept"}`, `{}`, " ", "x"} {
			k.post("/v1/asks/"+id+path, "ada", body).want(400, `"code":"bad_message"`)
		}
		r := request(http.MethodPost, "/v1/asks/"+id+path, "ada", "")
		r.Body, r.ContentLength = readCloser("hidden"), -1
		w := httptest.NewRecorder()
		k.ServeHTTP(w, r)
		if w.Code != 400 {
			t.Errorf("a body of unknown length: %d", w.Code)
		}
	}
	for path, kind := range map[string]string{"/decline": "", "/answer": "application/json"} {
		r := request(http.MethodPost, "/v1/asks/"+id+path, "ada", "")
		r.Header.Set("Content-Type", kind)
		r.Body, r.ContentLength = io.NopCloser(iotest.ErrReader(io.ErrUnexpectedEOF)), -1
		w := httptest.NewRecorder()
		k.ServeHTTP(w, r)
		if w.Code != 400 {
			t.Errorf("%s with half a body: %d", path, w.Code)
		}
	}
	k.wantHeard()
	k.post("/v1/asks/"+id+"/cancel", "ada", "").want(200)
}

func TestAttackMethodConfusion(t *testing.T) {
	k := newKit(t)
	id := k.put(formAsk(`{"message":"m"}`))
	for path, allow := range map[string]string{
		"/v1/asks": "GET, HEAD", "/v1/openapi.json": "GET, HEAD", "/v1/asks/" + id: "GET, HEAD",
		"/v1/asks/" + id + "/answer": "POST", "/v1/asks/" + id + "/decline": "POST",
		"/v1/asks/" + id + "/cancel": "POST", "/v1/asks/" + id + "/extend": "POST",
	} {
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "decline", "get"} {
			if strings.Contains(allow, method) {
				continue
			}
			r := request(method, path, "ada", "")
			r.Header.Set("X-HTTP-Method-Override", "POST")
			got := k.send(r).want(405, `"code":"unknown_method"`)
			if got.header.Get("Allow") != allow {
				t.Errorf("%s %s allows %q", method, path, got.header.Get("Allow"))
			}
		}
	}
	for _, path := range []string{
		"/v1", "/v1/", "/v1/ask", "/v1/asks/", "/v1/asks/" + id + "/", "/v1/asks/" + id + "/accept", "/v1/asks//decline",
		"/v1/asks/" + id + "//decline", "/v1/asks/x/../" + id + "/decline", "/v2/asks", "/v1/asks/" + id + "/decline/", "/V1/asks",
	} {
		k.post(path, "ada", "").want(404)
	}
	k.wantHeard()
	if got := k.send(request(http.MethodHead, "/v1/asks/"+id, "ada", "")); got.status != 200 {
		t.Errorf("HEAD: %d", got.status)
	}
	k.post("/v1/asks/"+id+"/decline", "ada", "").want(200)
}

// A page of another origin can make a browser send requests, also such that
// need no preflight.
func TestAttackFromAPage(t *testing.T) {
	for name, set := range map[string]func(*http.Request){
		"another origin":  func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
		"no origin":       func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		"another host":    func(r *http.Request) { r.Host = "evil.example" },
		"the null origin": func(r *http.Request) { r.Header.Set("Origin", "null") },
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t)
			id := k.put(formAsk(`{"message":"m"}`))
			r := request(http.MethodPost, "/v1/asks/"+id+"/decline", "ada", "")
			set(r)
			k.send(r).want(403, `"code":"not_allowed"`)
			k.wantHeard()
			k.post("/v1/asks/"+id+"/decline", "ada", "").want(200)
		})
	}
}

func TestAttackReplay(t *testing.T) {
	k := newKit(t)
	id := k.put(asking(`{"s":{"type":"string"}}`, `[]`))
	other := k.put(asking(`{"t":{"type":"string"}}`, `[]`))
	body := `{"action":"accept","content":{"s":"x"}}`
	k.post("/v1/asks/"+id+"/answer", "ada", body).want(200)
	k.post("/v1/asks/"+id+"/answer", "ada", body).want(409, `"code":"too_late"`)
	for _, op := range every[1:] {
		k.send(request(op.method, "/v1/asks/"+id+op.path, "ada", op.body)).want(409, `"code":"too_late"`)
	}
	k.post("/v1/asks/"+other+"/answer", "ada", body).want(422)
	k.wantHeard(`{"action":"accept","content":{"s":"x"}}`)
}

// Two hundred at once: one is taken, 199 are told that they came too late.
func TestAttackRacingAnswers(t *testing.T) {
	for name, body := range map[string]string{"accept": `{"action":"accept","content":{"s":"x"}}`, "decline": `{"action":"decline"}`} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t)
			a := asking(`{"s":{"type":"string"}}`, `[]`)
			a.Addressee = ask.Addressee{Group: "approvers"}
			path := "/v1/asks/" + k.put(a) + "/answer"
			const n = 200
			codes := make([]int, n)
			start := make(chan struct{})
			var wg sync.WaitGroup
			for i := range n {
				wg.Go(func() {
					<-start
					w := httptest.NewRecorder()
					k.ServeHTTP(w, request(http.MethodPost, path, "bob@approvers", body))
					codes[i] = w.Code
				})
			}
			close(start)
			wg.Wait()
			count := map[int]int{}
			for _, c := range codes {
				count[c]++
			}
			if count[200] != 1 || count[409] != n-1 {
				t.Errorf("%v", count)
			}
			k.wantHeard(body)
		})
	}
}
