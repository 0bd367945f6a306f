package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/wire/sse"
)

// Client is what the client calls itself.
const Client = "answerback-demo"

// Call calls the tool at an MCP endpoint and gives what it says. It declares
// neither forms nor links, and wants to hear of progress; so it hears nothing
// of the question, and is kept waiting where the gateway holds its calls.
func Call(ctx context.Context, send *http.Client, endpoint string) (string, error) {
	body, err := json.Marshal(object{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": object{
		"name": Tool,
		"_meta": object{
			"progressToken": 1,
			"io.modelcontextprotocol/protocolVersion":    era.Latest,
			"io.modelcontextprotocol/clientInfo":         object{"name": Client, "version": "1"},
			"io.modelcontextprotocol/clientCapabilities": object{},
		},
	}})
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set(era.VersionHeader, era.Latest)
	req.Header.Set(era.MethodHeader, "tools/call")
	req.Header.Set(era.NameHeader, Tool)
	resp, err := send.Do(req)
	if err != nil {
		return "", fmt.Errorf("cannot call %s: %w", endpoint, err)
	}
	defer resp.Body.Close()
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind != "text/event-stream" {
		raw, err := io.ReadAll(io.LimitReader(resp.Body, maxLine))
		if err != nil {
			return "", err
		}
		return said(raw)
	}
	events := sse.NewReader(resp.Body, maxLine)
	for {
		ev, err := events.Next()
		if err != nil {
			return "", fmt.Errorf("the call ended without a result: %w", err)
		}
		words, err := said(ev.Data)
		if !errors.Is(err, errUnderWay) {
			return words, err
		}
	}
}

// errUnderWay is what a message is that is not the response yet.
var errUnderWay = errors.New("this is not a response")

// said gives the words of a response.
func said(raw []byte) (string, error) {
	var msg struct {
		Result *struct {
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
		} `json:"result"`
		Error *struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	switch err := json.Unmarshal(raw, &msg); {
	case err != nil:
		return "", fmt.Errorf("the gateway's response cannot be read: %w", err)
	case msg.Error != nil:
		return "", errors.New(msg.Error.Message)
	case msg.Result == nil:
		return "", errUnderWay
	case len(msg.Result.Content) == 0:
		return "", errors.New("the tool said nothing")
	}
	return msg.Result.Content[0].Text, nil
}
