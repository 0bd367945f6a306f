//lint:file-ignore SA1019 what the modern era deprecates is what the gateway must still carry

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// asking is what the tool "ask" is to do: in each round it asks all questions
// at once, form:MESSAGE, url, sampling or roots.
type asking struct {
	Key    string     `json:"key"`
	Rounds [][]string `json:"rounds"`
}

// answers are those of each round, in the order of its questions.
type answers [][]mcp.InputResponse

// count counts a run: the side effect of a tool before its question.
func (p *peer) count(key string) error {
	if p.runs == "" {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(p.runs, key), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(".")
	return errors.Join(err, f.Close())
}

// counted reports whether a run was counted.
func (p *peer) counted(key string) bool {
	_, err := os.Stat(filepath.Join(p.runs, key))
	return p.runs != "" && err == nil
}

func (p *peer) ask(ctx context.Context, req *mcp.CallToolRequest, in asking) (*mcp.CallToolResult, any, error) {
	if isModern(req) {
		res, err := p.askRound(req, in)
		return res, nil, err
	}
	if err := p.count(in.Key); err != nil {
		return nil, nil, err
	}
	var got answers
	for _, kinds := range in.Rounds {
		replies := make([]mcp.InputResponse, len(kinds))
		errs := make([]error, len(kinds))
		var wg sync.WaitGroup
		for i, kind := range kinds {
			wg.Go(func() { replies[i], errs[i] = put(ctx, req.Session, question(kind)) })
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			return nil, nil, err
		}
		got = append(got, replies)
	}
	res, err := got.result()
	return res, nil, err
}

// askRound is ask in the modern era: the state carries the answers of the
// rounds before.
func (p *peer) askRound(req *mcp.CallToolRequest, in asking) (*mcp.CallToolResult, error) {
	var got []json.RawMessage
	if req.Params.RequestState == "" {
		if err := p.count(in.Key); err != nil {
			return nil, err
		}
	} else {
		if err := json.Unmarshal([]byte(req.Params.RequestState), &got); err != nil {
			return nil, err
		}
		var replies []mcp.InputResponse
		for i := range in.Rounds[len(got)] {
			reply, ok := req.Params.InputResponses[fmt.Sprint("q", i)]
			if !ok {
				return nil, fmt.Errorf("round %d has no answer to question %d", len(got), i)
			}
			replies = append(replies, reply)
		}
		raw, err := json.Marshal(replies)
		if err != nil {
			return nil, err
		}
		got = append(got, raw)
	}
	raw, err := json.Marshal(got)
	if err != nil || len(got) == len(in.Rounds) {
		return text(string(raw)), err
	}
	questions := mcp.InputRequestMap{}
	for i, kind := range in.Rounds[len(got)] {
		questions[fmt.Sprint("q", i)] = question(kind)
	}
	if got == nil {
		raw = []byte("[]")
	}
	return &mcp.CallToolResult{InputRequests: questions, RequestState: string(raw)}, nil
}

func (a answers) result() (*mcp.CallToolResult, error) {
	raw, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	return text(string(raw)), nil
}

func question(kind string) mcp.InputRequest {
	kind, message, _ := strings.Cut(kind, ":")
	switch kind {
	case "url":
		return open
	case "sampling":
		return complete
	case "roots":
		return &mcp.ListRootsParams{}
	}
	q := *form
	q.Message = message
	return &q
}

// put asks a question in the legacy era.
func put(ctx context.Context, ss *mcp.ServerSession, q mcp.InputRequest) (mcp.InputResponse, error) {
	switch q := q.(type) {
	case *mcp.CreateMessageParams:
		return ss.CreateMessage(ctx, q)
	case *mcp.ListRootsParams:
		return ss.ListRoots(ctx, q)
	case *mcp.ElicitParams:
		return ss.Elicit(ctx, q)
	}
	return nil, fmt.Errorf("no question is a %T", q)
}

// withdraw takes its question back after a while.
func (p *peer) withdraw(ctx context.Context, req *mcp.CallToolRequest, in key) (*mcp.CallToolResult, any, error) {
	if isModern(req) {
		res, err := p.withdrawRound(req, in)
		return res, nil, err
	}
	if err := p.count(in.Key); err != nil {
		return nil, nil, err
	}
	patience, cancel := context.WithTimeout(ctx, time.Duration(in.Wait)*time.Millisecond)
	defer cancel()
	res, err := req.Session.Elicit(patience, form)
	switch {
	case err == nil:
		return nil, nil, fmt.Errorf("the question got an answer: %s", res.Action)
	case ctx.Err() != nil || patience.Err() == nil:
		return nil, nil, err
	}
	return text("withdrawn"), nil, nil
}

// withdrawRound is withdraw in the modern era, where a server takes a question
// back by giving its call another end: the state says until when an answer is
// wanted.
func (p *peer) withdrawRound(req *mcp.CallToolRequest, in key) (*mcp.CallToolResult, error) {
	if req.Params.RequestState == "" {
		until := time.Now().Add(time.Duration(in.Wait) * time.Millisecond)
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": form}, RequestState: until.Format(time.RFC3339Nano)}, p.count(in.Key)
	}
	until, err := time.Parse(time.RFC3339Nano, req.Params.RequestState)
	if err != nil {
		return nil, err
	}
	if time.Now().Before(until) {
		return nil, fmt.Errorf("the question got an answer: %v", req.Params.InputResponses["q"])
	}
	return text("withdrawn"), nil
}

// required refuses until its address was visited for the key; in the modern
// era it asks until then.
func (p *peer) required(req *mcp.CallToolRequest, key string) (*mcp.CallToolResult, error) {
	if req.Params.RequestState == "" {
		if err := p.count(key); err != nil {
			return nil, err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.opened[key] {
		return text("visited " + key), nil
	}
	page := &mcp.ElicitParams{Mode: "url", Message: "Visit", URL: p.visit + "?key=" + key, ElicitationID: key}
	if isModern(req) {
		p.wanted[key] = nil
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"page": page}, RequestState: "required"}, nil
	}
	p.wanted[key] = req.Session
	return nil, mcp.URLElicitationRequiredError([]*mcp.ElicitParams{page})
}

func (p *peer) visited(w http.ResponseWriter, r *http.Request) {
	key := r.FormValue("key")
	p.mu.Lock()
	ss, ok := p.wanted[key]
	p.opened[key] = ok
	p.mu.Unlock()
	switch {
	case !ok:
		http.Error(w, "nobody waits for this visit", http.StatusNotFound)
	case ss != nil:
		if err := ss.NotifyElicitationComplete(r.Context(), &mcp.ElicitationCompleteParams{ElicitationID: key}); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}
}
