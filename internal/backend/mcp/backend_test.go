package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/answerback/answerback/internal/wire"

	"github.com/answerback/answerback/internal/secret"
)

func TestConfigIsChecked(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	client := http.DefaultClient
	for name, test := range map[string]struct {
		cfg  Config
		want string
	}{
		"no name":          {Config{URL: "http://a", Client: client, Log: log}, "no name"},
		"no logger":        {Config{Name: "n", URL: "http://a", Client: client}, "no logger"},
		"neither":          {Config{Name: "n", Log: log}, "either a url or a command"},
		"both":             {Config{Name: "n", Log: log, URL: "http://a", Command: "x"}, "either a url or a command"},
		"no client":        {Config{Name: "n", Log: log, URL: "http://a"}, "no HTTP client"},
		"relative":         {Config{Name: "n", Log: log, URL: "/mcp", Client: client}, "absolute"},
		"other scheme":     {Config{Name: "n", Log: log, URL: "ftp://a/b", Client: client}, "absolute"},
		"password":         {Config{Name: "n", Log: log, URL: "http://u:pw@a/", Client: client}, "password"},
		"wrong transport":  {Config{Name: "n", Log: log, URL: "http://a", Client: client, Transport: Stdio}, "transport"},
		"http command":     {Config{Name: "n", Log: log, Command: "x", Transport: HTTP}, "transport"},
		"bad header name":  {Config{Name: "n", Log: log, URL: "http://a", Client: client, Headers: map[string]secret.Text{"a b": secret.New("x")}}, "valid"},
		"bad header value": {Config{Name: "n", Log: log, URL: "http://a", Client: client, Headers: map[string]secret.Text{"a": secret.New("x\r\ny")}}, "valid"},
		"reserved":         {Config{Name: "n", Log: log, URL: "http://a", Client: client, Headers: map[string]secret.Text{"mcp-session-id": secret.New("x")}}, "belongs to the transport"},
		"content type":     {Config{Name: "n", Log: log, URL: "http://a", Client: client, Headers: map[string]secret.Text{"content-type": secret.New("x")}}, "belongs to the transport"},
	} {
		_, err := New(test.cfg)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one about %q", name, err, test.want)
		}
	}
}

func TestSecretsDoNotShow(t *testing.T) {
	const text = "hunter2"
	cfg := Config{
		Name: "n", URL: "http://127.0.0.1", Client: http.DefaultClient, Log: slog.New(slog.DiscardHandler),
		Headers: map[string]secret.Text{"Authorization": secret.New(text)}, Env: map[string]secret.Text{"K": secret.New(text)},
	}
	b, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for _, v := range []any{cfg.Headers, cfg, &cfg, secret.New(text), b, b.modern, struct{ b *Backend }{b}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		slog.New(slog.NewTextHandler(&out, nil)).Info("x", "v", v)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "v", v)
	}
	j, _ := json.Marshal(cfg.Headers)
	out.Write(j)
	if s := out.String(); strings.Contains(s, text) || strings.Contains(s, fmt.Sprintf("%x", text)) {
		t.Errorf("the secret shows: %s", s)
	}
}

func TestNumberReadsOnlyWhatCanBeOurs(t *testing.T) {
	for token, want := range map[string]int64{"1": 1, "42": 42, "1.0": 1, "1e2": 100, "4294967297": 4294967297} {
		if n, ok := number([]byte(token)); !ok || n != want {
			t.Errorf("%s is read as %d, %v", token, n, ok)
		}
	}
	for _, token := range []string{"", `"1"`, "1.5", "null", "1e400", "99999999999999999999999999"} {
		if n, ok := number([]byte(token)); ok {
			t.Errorf("%s is read as %d", token, n)
		}
	}
}

func TestTokenThatAnEditRemovesIsNotRewritten(t *testing.T) {
	out := outgoing(t, `{"jsonrpc":"2.0","id":5,"method":"x","params":{"_meta":{"progressToken":1},"a":1}}`)
	out.Edits = []wire.Edit{{Span: out.Msg.Meta, With: []byte(`{}`)}}
	c := &call{id: 77, token: out.Msg.Field(out.Msg.MetaToken)}
	if got, want := string(c.upstream(&out)), `{"jsonrpc":"2.0","id":77,"method":"x","params":{"_meta":{},"a":1}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestLimiterLetsAFewThrough(t *testing.T) {
	var l limiter
	n := 0
	for range 1000 {
		if l.allow() {
			n++
		}
	}
	if n < linesPerSecond || n > 2*linesPerSecond {
		t.Errorf("%d of 1000 lines came through", n)
	}
}
