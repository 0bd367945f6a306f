package secret_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/answerback/answerback/internal/secret"
)

func TestSecretNeverShowsItself(t *testing.T) {
	s := secret.New("hunter2")
	if s.Reveal() != "hunter2" || (secret.Text{}).Reveal() != "" {
		t.Fatal("Reveal does not give the text")
	}
	shown := map[string]string{"String": s.String(), "GoString": s.GoString()}
	for _, verb := range strings.Split("v +v #v s q x X d T t p 10s -20q", " ") {
		shown["%"+verb] = fmt.Sprintf("%"+verb, s)
		shown["&%"+verb] = fmt.Sprintf("%"+verb, &s)
		shown["{exported}%"+verb] = fmt.Sprintf("%"+verb, struct{ S secret.Text }{s})
		shown["{unexported}%"+verb] = fmt.Sprintf("%"+verb, struct{ s secret.Text }{s})
		shown["map%"+verb] = fmt.Sprintf("%"+verb, map[string]secret.Text{"k": s})
		shown["config%"+verb] = fmt.Sprintf("%"+verb, struct{ Env map[string]secret.Text }{Env: map[string]secret.Text{"k": s}})
	}
	for name, marshal := range map[string]func(any) ([]byte, error){"json": json.Marshal, "yaml": yaml.Marshal} {
		for what, v := range map[string]any{"value": s, "pointer": &s, "map": map[string]secret.Text{"k": s}} {
			text, err := marshal(v)
			if err != nil {
				t.Errorf("%s of %s: %v", name, what, err)
			}
			if !strings.Contains(string(text), "[redacted]") {
				t.Errorf("%s of %s is %s", name, what, text)
			}
			shown[name+" "+what] = string(text)
		}
	}
	for name, handler := range map[string]func(*bytes.Buffer) slog.Handler{
		"slog text": func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
		"slog json": func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
	} {
		var b bytes.Buffer
		slog.New(handler(&b)).Info("x", "secret", s, "in", map[string]secret.Text{"k": s}, "group", slog.GroupValue(slog.Any("s", &s)))
		shown[name] = b.String()
	}
	if shown["%v"] != "[redacted]" || shown["%x"] != "[redacted]" {
		t.Errorf("shown as %q and %q", shown["%v"], shown["%x"])
	}
	hexed := fmt.Sprintf("%x", "hunter2")
	for how, text := range shown {
		if strings.Contains(text, "hunter2") || strings.Contains(strings.ToLower(text), hexed) {
			t.Errorf("%s shows it: %s", how, text)
		}
	}
}
