package a2a

import (
	"context"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/test/rig"
)

// each runs a test with every kind of agent.
func each(t *testing.T, scripts map[string]rig.AgentScript, test func(t *testing.T, a *rig.Agent, b *Backend, kind rig.AgentKind)) {
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			a := rig.NewAgent(t, kind, scripts)
			test(t, a, newBackend(t, a.URL, nil), kind)
		})
	}
}

// TestArtifactsAreTheResult: what an agent makes is what the call brings, each
// kind of part as what MCP has for it.
func TestArtifactsAreTheResult(t *testing.T) {
	image := a2a.NewRawPart([]byte("PNG"))
	image.MediaType = "image/png"
	sound := a2a.NewRawPart([]byte("la"))
	sound.MediaType = "audio/wav"
	paper := a2a.NewRawPart([]byte("%PDF"))
	paper.MediaType, paper.Filename = "application/pdf", "a b.pdf"
	link := a2a.NewFileURLPart("https://example.com/x.csv", "text/csv")
	odd := a2a.NewFileURLPart("javascript:alert(1)", "text/html")
	each(t, map[string]rig.AgentScript{
		"parts": func(tn *rig.Turn) {
			first := a2a.NewArtifactEvent(tn.Exec, a2a.NewTextPart("Hel"))
			tn.Give(first)
			tn.Give(a2a.NewArtifactUpdateEvent(tn.Exec, first.Artifact.ID, a2a.NewTextPart("lo")))
			tn.Done(a2a.NewDataPart(map[string]any{"n": 1.5}), image, sound, paper, link, odd)
		},
		"words": func(tn *rig.Turn) { tn.Is(a2a.TaskStateCompleted, a2a.NewTextPart("All done.")) },
		"bare": func(tn *rig.Turn) {
			tn.Give(a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("Hi "+tn.Text()+tn.Data())))
		},
		"silent":  func(tn *rig.Turn) { tn.Is(a2a.TaskStateCompleted) },
		"fails":   func(tn *rig.Turn) { tn.Is(a2a.TaskStateFailed, a2a.NewTextPart("Out of paper.")) },
		"rejects": func(tn *rig.Turn) { tn.Is(a2a.TaskStateRejected, a2a.NewTextPart("Not my job.")) },
		"cancels": func(tn *rig.Turn) { tn.Is(a2a.TaskStateCanceled) },
	}, func(t *testing.T, a *rig.Agent, b *Backend, _ rig.AgentKind) {
		c := newClient(t, b, ann)
		got := result(c.result("parts"))
		id := strings.SplitN(strings.SplitN(got+"a2a:/", "a2a:", 2)[1], "/", 2)[0]
		equal(t, "parts", got, `{"resultType":"complete","content":[`+
			`{"type":"text","text":"Hello"},{"type":"text","text":"{\"n\":1.5}"},`+
			`{"type":"image","data":"UE5H","mimeType":"image/png"},{"type":"audio","data":"bGE=","mimeType":"audio/wav"},`+
			`{"type":"resource","resource":{"uri":"a2a:`+id+`/a%20b.pdf","mimeType":"application/pdf","blob":"JVBERg=="}},`+
			`{"type":"resource_link","uri":"https://example.com/x.csv","name":"example.com/x.csv","mimeType":"text/csv"},`+
			`{"type":"text","text":"javascript:alert(1)"}],"structuredContent":{"n":1.5}}`)
		for skill, want := range map[string]string{
			"words":   `{"resultType":"complete","content":[{"type":"text","text":"All done."}]}`,
			"bare":    `{"resultType":"complete","content":[{"type":"text","text":"Hi go{\"n\":1}"}]}`,
			"silent":  `{"resultType":"complete","content":[{"type":"text","text":"The agent has completed the task, and says nothing of it."}]}`,
			"fails":   `{"resultType":"complete","content":[{"type":"text","text":"Out of paper."}],"isError":true}`,
			"rejects": `{"resultType":"complete","content":[{"type":"text","text":"Not my job."}],"isError":true}`,
			"cancels": `{"resultType":"complete","content":[{"type":"text","text":"The task was cancelled at the agent."}],"isError":true}`,
		} {
			equal(t, skill, result(c.result(skill)), want)
		}
		for _, m := range a.Messages() {
			if m.Role != a2a.MessageRoleUser || m.TaskID != "" && m.Metadata[skillKey] == nil {
				t.Errorf("sent %+v", m)
			}
		}
		if n := len(a.Messages()); n != 7 {
			t.Errorf("%d messages for 7 calls", n)
		}
	})
}

// TestProgressIsTold: what the agent says on the way reaches a client that
// wants to know, in order.
func TestProgressIsTold(t *testing.T) {
	heard := make(chan struct{}) // who polls must have seen the task at work
	each(t, map[string]rig.AgentScript{"work": func(tn *rig.Turn) {
		tn.Is(a2a.TaskStateWorking, a2a.NewTextPart("Looking"))
		select {
		case <-heard:
		case <-tn.Context.Done():
		}
		tn.Done(a2a.NewTextPart("ok"))
	}}, func(t *testing.T, _ *rig.Agent, b *Backend, kind rig.AgentKind) {
		c := newClient(t, b, ann)
		go func() {
			select {
			case <-c.wake:
				heard <- struct{}{}
			case <-t.Context().Done():
			}
		}()
		c.result("work")
		all := strings.Join(c.told(), "\n")
		if kind.Streaming {
			equal(t, "progress", all, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}`+"\n"+
				`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":2,"message":"Looking"}}`)
		} else {
			contains(t, "progress", all, `"progress":1`)
		}
	})
}

// TestArgumentsAreChecked: what a model got wrong it is told, and nothing is
// sent.
func TestArgumentsAreChecked(t *testing.T) {
	a := rig.NewAgent(t, rig.AgentKind{}, map[string]rig.AgentScript{"work": func(tn *rig.Turn) { tn.Done(a2a.NewTextPart("ok")) }})
	c := newClient(t, newBackend(t, a.URL, nil), ann)
	for args, want := range map[string]string{
		`{}`: "message is missing", `{"message":""}`: "message is missing", `{"message":5}`: "message is missing",
		`{"message":"x","data":[1]}`: "data must be an object",
	} {
		reply, err := c.line.Call(t.Context(), c.request("tools/call", `"name":"work","arguments":`+args), c)
		if err != nil || !strings.Contains(string(reply.Msg.Raw), `"isError":true`) || !strings.Contains(string(reply.Msg.Raw), want) {
			t.Errorf("%s: %s %v", args, reply.Msg.Raw, err)
		}
	}
	if _, err := c.call("other"); ask.CodeOf(err) != ask.UnknownName {
		t.Errorf("an unknown tool: %v", err)
	}
	for _, method := range []string{"prompts/list", "resources/read", "ping", "initialize", "completion/complete", "tasks/get"} {
		if _, err := c.line.Call(t.Context(), c.request(method, ""), c); ask.CodeOf(err) != ask.UnknownMethod {
			t.Errorf("%s: %v", method, err)
		}
	}
	if n := len(a.Messages()); n != 0 {
		t.Errorf("%d messages were sent", n)
	}
	c.result("work") // the control
}

// TestCancelReachesTheAgent: who leaves a call takes its task along.
func TestCancelReachesTheAgent(t *testing.T) {
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			began := make(chan struct{}, 1)
			a := rig.NewAgent(t, kind, map[string]rig.AgentScript{"work": func(tn *rig.Turn) {
				tn.Is(a2a.TaskStateWorking, a2a.NewTextPart("Looking"))
				began <- struct{}{}
				<-tn.Context.Done()
			}})
			c := newClient(t, newBackend(t, a.URL, nil), ann)
			ctx, cancel := context.WithCancelCause(t.Context())
			left := ask.Errorf(ask.ClientCancelled, "Left.")
			end := make(chan error, 1)
			go func() {
				_, err := c.callIn(ctx, "work")
				end <- err
			}()
			<-began
			c.await(func() bool { return len(c.told()) > 0 })
			cancel(left)
			if err := <-end; err != left {
				t.Errorf("%v", err)
			}
			<-a.Cancelled()
		})
	}
}
