package mcp

import (
	"context"
	"io"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// asking is a gateway with one tool, which asks and returns the answer.
func asking() *fakeGateway {
	g := &fakeGateway{}
	g.welcome = `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"fake","version":"1"}}`
	g.call = func(ctx context.Context, msg *wire.Message, peer contract.Peer) Response {
		switch msg.Method() {
		case "tools/call":
		case "ping":
			return Response{Body: response(msg, `"result":{}`)}
		default:
			return Response{Body: response(msg, `"result":{"tools":[]}`)}
		}
		question := &ask.Ask{ID: "q-1", Method: "elicitation/create", Params: []byte(`{"message":"Sure?","requestedSchema":{"type":"object","properties":{"yes":{"type":"boolean"}}}}`)}
		if err := peer.Show(question); err != nil {
			return Response{Body: response(msg, `"error":{"code":-32000,"message":"not shown"}`)}
		}
		select {
		case answer := <-g.last().answers:
			word := "other"
			if strings.Contains(answer, `"accept"`) {
				word = "accepted"
			}
			return Response{Body: response(msg, `"result":{"content":[{"type":"text","text":"`+word+`"}]}`)}
		case <-ctx.Done():
			return Response{Body: response(msg, `"error":{"code":-32000,"message":"ended"}`)}
		}
	}
	return g
}

// useSDK drives a client of the official SDK through a call that asks.
func useSDK(t *testing.T, transport sdk.Transport) {
	t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "t", Version: "1"}, &sdk.ClientOptions{
		ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"yes": true}}, nil
		},
	})
	session, err := client.Connect(t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		got, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "ask"})
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := got.Content[0].(*sdk.TextContent); !ok || text.Text != "accepted" {
			t.Errorf("got %v", got.Content[0])
		}
	}
	if err := session.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

func TestOfficialClientOverHTTP(t *testing.T) {
	g := asking()
	g.closed = make(chan *ask.Error, 1)
	b := serve(t, g, nil)
	useSDK(t, &sdk.StreamableClientTransport{Endpoint: b.url, HTTPClient: b.client})
	if why := <-g.closed; why != clientEnded {
		t.Errorf("the session was closed with %v", why)
	}
}

func TestOfficialClientOverStandardStreams(t *testing.T) {
	s := newSurface(t, asking(), nil)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- s.ServeStdio(t.Context(), inR, outW)
		outW.Close()
	}()
	useSDK(t, &sdk.IOTransport{Reader: outR, Writer: inW})
	if err := <-done; err != nil {
		t.Error(err)
	}
}
