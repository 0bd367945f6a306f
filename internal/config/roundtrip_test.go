package config_test

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/answerback/answerback/internal/config"
	"github.com/answerback/answerback/internal/secret"
)

// masked gives c with what Describe does not show replaced.
func masked(c *config.Config) config.Config {
	m := *c
	for _, s := range []*secret.Text{&m.Notify.Webhook, &m.Notify.Secret} {
		if s.Reveal() != "" {
			*s = secret.New("x")
		}
	}
	m.Backends = map[string]config.Backend{}
	hide := func(secrets map[string]secret.Text) map[string]secret.Text {
		var hidden map[string]secret.Text
		for name := range secrets {
			if hidden == nil {
				hidden = map[string]secret.Text{}
			}
			hidden[name] = secret.New("x")
		}
		return hidden
	}
	for name, b := range c.Backends {
		b.Env, b.Headers = hide(b.Env), hide(b.Headers)
		b.URL, _, _ = strings.Cut(b.URL, "?")
		if b.Grant.ClientSecret.Reveal() != "" {
			b.Grant.ClientSecret = secret.New("x")
		}
		m.Backends[name] = b
	}
	m.Identity.Issuers, m.Identity.Keys = maps.Clone(c.Identity.Issuers), maps.Clone(c.Identity.Keys)
	for name, issuer := range m.Identity.Issuers {
		if issuer.ClientSecret.Reveal() != "" {
			issuer.ClientSecret = secret.New("x")
		}
		m.Identity.Issuers[name] = issuer
	}
	for name, key := range m.Identity.Keys {
		key.Key = secret.New("x")
		m.Identity.Keys[name] = key
	}
	return m
}

// sameButSecrets compares all that is exported. Disabled backends are enabled
// for it, because Diff does not look at them.
func sameButSecrets(t *testing.T, a, b *config.Config) {
	t.Helper()
	ma, mb := masked(a), masked(b)
	if !reflect.DeepEqual(ma.Enabled(), mb.Enabled()) {
		t.Errorf("enabled: %v and %v", ma.Enabled(), mb.Enabled())
	}
	for _, m := range []*config.Config{&ma, &mb} {
		for name, backend := range m.Backends {
			backend.Disabled = false
			m.Backends[name] = backend
		}
	}
	if diff := config.Diff(&ma, &mb); !diff.Empty() {
		t.Errorf("differs after a round trip: %+v", diff)
	}
}

func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/good/*", "testdata/bad/*"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, name := range []string{"/etc/fuzz.yaml", "/etc/fuzz.json"} {
			c, _, err := config.Parse(name, data, testEnv)
			if err != nil {
				if e, ok := errors.AsType[*config.Error](err); !ok || len(e.Problems) == 0 || c != nil {
					t.Fatalf("%T with configuration %v: %v", err, c, err)
				}
				continue
			}
			if err := c.Validate(); err != nil {
				t.Fatalf("parsed, and is not valid: %v", err)
			}
			var first, second bytes.Buffer
			if err := c.Describe(&first); err != nil {
				t.Fatal(err)
			}
			again, _, err := config.Parse("/etc/fuzz.yaml", first.Bytes(), testEnv)
			if err != nil {
				t.Fatalf("the description does not parse: %v\n%s", err, first.Bytes())
			}
			sameButSecrets(t, c, again)
			if err := again.Describe(&second); err != nil {
				t.Fatal(err)
			}
			if a, b := uncommented(first.String()), uncommented(second.String()); a != b {
				t.Fatalf("described differently:\n%s\n%s", a, b)
			}
		}
	})
}

// uncommented drops the comments: an explicit data directory is no default.
func uncommented(s string) string { return strings.ReplaceAll(s, "  # default\n", "\n") }
