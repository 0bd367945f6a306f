package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/form/formtest"
	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// v1 is a program at the form API of a gateway: what formtest calls an office.
type v1 struct {
	base  string
	http  *http.Client
	forms map[string]string // the ids of definitions, by elicitationId
}

func newV1(t testing.TB, g *rig.Gateway) *v1 {
	c := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(c.CloseIdleConnections)
	return &v1{strings.TrimSuffix(g.URL, "/mcp") + "/v1/forms", c, map[string]string{}}
}

// reply is what the form API answers.
type v1Reply struct {
	ElicitationID string
	Status        string
	Result        json.RawMessage
	Uncollected   []string
	CollectedAt   int64
	Error         *struct {
		Code    int
		Message string
		Data    struct {
			Type   string
			Reason string
			Errors form.Errors
		}
	}
}

func (v *v1) do(ctx context.Context, method, path string, body any) (v1Reply, error) {
	var r v1Reply
	raw, err := json.Marshal(body)
	if err != nil {
		return r, err
	}
	if body == nil {
		raw = nil
	}
	req, err := http.NewRequestWithContext(ctx, method, v.base+path, bytes.NewReader(raw))
	if err != nil {
		return r, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := v.http.Do(req)
	if err != nil {
		return r, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("%w: %s", err, text)
	}
	if r.Error != nil && len(r.Error.Data.Errors) == 0 {
		return r, fmt.Errorf("%d: %s", resp.StatusCode, text)
	}
	return r, nil
}

// Create puts a form before people.
func (v *v1) Create(ctx context.Context, d *form.Definition) (string, error) {
	r, err := v.do(ctx, http.MethodPost, "", map[string]any{"formDefinition": d})
	v.forms[r.ElicitationID] = d.ID
	return r.ElicitationID, err
}

// Submit answers a form.
func (v *v1) Submit(ctx context.Context, id string, values form.Values) (form.Errors, error) {
	r, err := v.do(ctx, http.MethodPost, "/"+id+"/submit", map[string]any{"responses": values, "form_id": v.forms[id]})
	if r.Error == nil {
		return nil, err
	}
	if r.Error.Code != form.Code || r.Error.Data.Type != "validation" {
		return nil, fmt.Errorf("the refusal is %+v", r.Error)
	}
	return r.Error.Data.Errors, err
}

// Status is how it stands with a form.
func (v *v1) Status(ctx context.Context, id string) (string, error) {
	r, err := v.do(ctx, http.MethodGet, "/"+id, nil)
	return r.Status, err
}

// TestSimulatedPeople: the simulator of package formtest against the real /v1
// (F19).
func TestSimulatedPeople(t *testing.T) {
	t.Parallel()
	office := newV1(t, rig.Start(t, "backends:\n  one: { url: "+rig.NewBackend(t, nil).URL+" }\n"))
	short, err := form.New(form.Definition{
		ID: "short", Title: "Short", Fields: []form.Field{{ID: "a", Type: form.Text, Label: "A", Required: true}}, Timeout: form.Timeouts{Initial: time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []struct {
		f      *form.Form
		does   formtest.Interaction
		status string
	}{
		{formtest.Comprehensive(), formtest.ImmediateValidSubmit, "completed"},
		{formtest.Comprehensive(), formtest.SubmitWithErrorsThenCorrect, "completed"},
		{formtest.Minimal(), formtest.ImmediateValidSubmit, "completed"},
		{formtest.Minimal(), formtest.SubmitWithErrorsThenCorrect, "completed"},
		{short, formtest.TimeoutAbandonment, "timeout"},
	} {
		t.Run(k.f.Definition().ID+" "+string(k.does), func(t *testing.T) {
			r, err := formtest.Simulate(t.Context(), office, k.f, k.does)
			if err != nil || r.Status != k.status || (k.does == formtest.SubmitWithErrorsThenCorrect) != (len(r.Refused) > 0) {
				t.Errorf("%+v %v", r, err)
			}
		})
	}
}

// TestCreatedFormSurvivesACrash: a form that a program created waits through a
// crash, and so does what was answered, but for its secret (F12, F18).
func TestCreatedFormSurvivesACrash(t *testing.T) {
	t.Parallel()
	g := rig.Start(t, durable+"backends:\n  one: { url: "+rig.NewBackend(t, nil).URL+" }\n")
	f, err := form.Parse([]byte(`{"id":"f","title":"Deploy","fields":[{"id":"region","type":"text","label":"Region"},{"id":"password","type":"text","label":"Password"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	id, err := newV1(t, g).Create(ctx, f.Definition())
	if err != nil {
		t.Fatal(err)
	}
	g.Kill(t)
	g = g.Again(t)
	office := newV1(t, g)
	office.forms[id] = "f"
	if errs, err := office.Submit(ctx, id, form.Values{"region": "eu", "password": typedPassword}); err != nil || len(errs) > 0 {
		t.Fatal(errs, err)
	}
	g.Kill(t)
	g = g.Again(t)
	r, err := newV1(t, g).do(ctx, http.MethodGet, "/"+id, nil)
	if err != nil || r.Status != "completed" || string(r.Result) != `{"region":"eu"}` {
		t.Errorf("afterwards it is %+v %s, %v", r, r.Result, err)
	}
}

const deployForm = `{"mode":"form","formDefinition":{"id":"d","title":"Deploy","description":"Where to?","fields":[{"id":"region","type":"select","label":"Region","required":true,"options":["eu","us"]},{"id":"port","type":"number","label":"Port","default":8080,"validation":{"multipleOf":1}}]}}`

// TestFormDefinitionOfABackend: a server may ask with a form of our own. A
// client shows it as MCP has it, and its answer is held to the form; what MCP
// cannot say is answered on the page (F12, F14).
func TestFormDefinitionOfABackend(t *testing.T) {
	t.Parallel()
	ask := func(params string) *rig.Backend {
		b := rig.NewBackend(t, map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
			a := c.Ask(c.ID(), "elicitation/create", params)
			c.Result(`{"got":` + string(a.Field(a.Result)) + string(a.Field(a.Error)) + `}`)
		}})
		b.LegacyOnly = true
		return b
	}
	b := ask(deployForm)
	doors(t, b, "", func(t *testing.T, d door, _ *rig.Gateway) {
		for answer, want := range map[string]string{
			`{"action":"accept","content":{"region":"eu"}}`:               `{"action":"accept","content":{"region":"eu","port":8080}}`,
			`{"action":"accept","content":{"region":"us","port":"9000"}}`: `{"action":"accept","content":{"region":"us","port":9000}}`,
			`{"action":"decline"}`:                                        `{"action":"decline"}`,
		} {
			c := rig.Dial(t, d.URL, rig.AllCaps)
			s := c.Tool(d.Prefix+"ask", "{}")
			q := s.Next()
			equal(t, "the schema", member(q, q.Params, "requestedSchema"), `{"type":"object","properties":{"region":{"type":"string","title":"Region","enum":["eu","us"]},"port":{"type":"integer","title":"Port","default":8080}},"required":["region"]}`)
			equal(t, "the message", member(q, q.Params, "message"), `"Deploy\n\nWhere to?"`)
			equal(t, "the definition at the client", member(q, q.Params, "formDefinition"), "")
			c.Answer(q, answer)
			m := s.Final()
			equal(t, "the answer", member(m, m.Result, "got"), want)
		}
		c := rig.Dial(t, d.URL, rig.AllCaps)
		s := c.Tool(d.Prefix+"ask", "{}")
		c.Answer(s.Next(), `{"action":"accept","content":{"region":"mars"}}`)
		m := s.Final()
		if got := member(m, m.Result, "got"); !strings.Contains(got, `"reason":"form_invalidated"`) || !strings.Contains(got, `"field":"region"`) {
			t.Errorf("an answer that does not fit became %s", got)
		}
	})

	b = ask(`{"formDefinition":{"id":"v","title":"Version","fields":[{"id":"v","type":"text","label":"Version","required":true,"validation":{"pattern":"^v[0-9]+$"}}]}}`)
	doors(t, b, "", func(t *testing.T, d door, g *rig.Gateway) {
		person := rig.SignIn(t, g)
		c := rig.Dial(t, d.URL, rig.AllCaps)
		s := c.Tool(d.Prefix+"ask", "{}")
		q := s.Next()
		equal(t, "the mode", member(q, q.Params, "mode"), `"url"`)
		page := askPath.FindString(member(q, q.Params, "url"))
		if status, _ := person.Answer(page, url.Values{"action": {"accept"}, "f0": {"1"}}); status != 422 {
			t.Errorf("an answer that does not fit: %d", status)
		}
		if status, body := person.Answer(page, url.Values{"action": {"accept"}, "f0": {"v12"}}); status != 200 {
			t.Errorf("the answer: %d %s", status, body)
		}
		m := s.Final()
		equal(t, "the answer", member(m, m.Result, "got"), `{"action":"accept","content":{"v":"v12"}}`)

		s = rig.Dial(t, d.URL, `{"elicitation":{"form":{}}}`).Tool(d.Prefix+"ask", "{}")
		if m := s.Next(); m.Kind != wire.Result || !strings.Contains(string(m.Raw), `"reason":"mode_not_declared"`) || !strings.Contains(string(m.Raw), "pattern") {
			t.Errorf("without a page: %s", m.Raw)
		}
	})
}
