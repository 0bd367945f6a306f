package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/grant"
	"github.com/answerback/answerback/internal/identity"
	"github.com/answerback/answerback/internal/journal/memjournal"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/secret"
)

// grantsKit serves grants as a running gateway does, and runs the command.
type grantsKit struct {
	t      *testing.T
	grants *grant.Grants
	config string
}

func newGrantsKit(t *testing.T) *grantsKit {
	t.Helper()
	store, err := memjournal.New(memjournal.Config{Now: time.Now, MaxBytes: 1 << 20, MaxAudit: 10})
	if err != nil {
		t.Fatal(err)
	}
	g, err := grant.Open(t.Context(), grant.Config{Store: store, Ring: seal.Random(), PublicURL: "https://gateway.example", Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.SetBackends([]grant.Backend{{Name: "keyed", URL: "https://keyed.example", Kind: grant.Key, Header: "X-Key"}}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	ln, err := listenStatus(statusSocket(dir))
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	serveGrants(mux, g)
	server := &http.Server{Handler: mux}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(ln) }()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
		g.Close(context.Background())
		_ = store.Close(context.Background())
	})
	k := &grantsKit{t: t, grants: g, config: filepath.Join(dir, "answerback.yaml")}
	text := "data_dir: " + dir + "\nbackends: { keyed: { url: https://keyed.example, grant: { kind: key, header: X-Key } } }\n"
	if err := os.WriteFile(k.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return k
}

func (k *grantsKit) run(args ...string) (string, error) {
	var out bytes.Buffer
	root := newRootCmd()
	root.SetArgs(append([]string{"--config", k.config, "grants"}, args...))
	root.SetOut(&out)
	root.SetErr(&out)
	err := root.ExecuteContext(k.t.Context())
	return out.String(), err
}

func (k *grantsKit) enter(who ask.Principal) {
	k.t.Helper()
	if _, err := k.grants.EnterKey(k.t.Context(), grant.Visit{Who: who, Session: "s"}, "keyed", "", secret.New("canary-key")); err != nil {
		k.t.Fatal(err)
	}
}

func TestGrantsAreListedAndRevoked(t *testing.T) {
	k := newGrantsKit(t)
	if out, err := k.run("list"); err != nil || !strings.Contains(out, "Nobody") {
		t.Errorf("%q, %v", out, err)
	}
	ann := ask.Principal{Issuer: "https://login.example", Subject: "ann"}
	k.enter(ann)
	k.enter(identity.Local)
	out, err := k.run("list")
	if err != nil || strings.Count(out, "connected") != 2 || !strings.Contains(out, "ann") || strings.Contains(out, "canary") {
		t.Errorf("%q, %v", out, err)
	}
	out, err = k.run("list", "--issuer", ann.Issuer, "--subject", ann.Subject, "-o", "json")
	var all []grant.Info
	if err != nil || json.Unmarshal([]byte(out), &all) != nil || len(all) != 1 || all[0].Principal != ann || all[0].Kind != grant.Key {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := k.run("revoke", "keyed", "--issuer", ann.Issuer, "--subject", ann.Subject); err != nil || !strings.Contains(out, "forgotten here") {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := k.grants.For(t.Context(), ann, "keyed"); ask.CodeOf(err) != ask.NotConnected {
		t.Errorf("after revoking: %v", err)
	}
	if _, err := k.grants.For(t.Context(), identity.Local, "keyed"); err != nil {
		t.Errorf("somebody else's: %v", err)
	}
	if _, err := k.run("revoke", "keyed", "--issuer", ann.Issuer, "--subject", ann.Subject); err == nil || !strings.Contains(err.Error(), "no such connection") {
		t.Errorf("a second time: %v", err)
	}
	if out, err := k.run("revoke", "keyed"); err != nil {
		t.Errorf("the local person's: %q, %v", out, err)
	}
	if _, err := k.run("revoke", "keyed", "--issuer", "x"); err == nil {
		t.Error("half a person is taken")
	}
	if _, err := k.run("list", "-o", "xml"); err == nil {
		t.Error("an unknown output is taken")
	}
}

func TestGrantsAreSealedAnew(t *testing.T) {
	k := newGrantsKit(t)
	k.enter(identity.Local)
	if out, err := k.run("reseal"); err != nil || !strings.Contains(out, "already with the first key: 1") {
		t.Errorf("%q, %v", out, err)
	}
}

func TestGrantsNeedAGateway(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "answerback.yaml")
	if err := os.WriteFile(file, []byte("data_dir: "+dir+"\nbackends: { a: { command: x } }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	k := &grantsKit{t: t, config: file}
	if _, err := k.run("list"); err == nil || !strings.Contains(err.Error(), "answerback serve") {
		t.Error(err)
	}
}
