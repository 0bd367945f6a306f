package mcp

import (
	"fmt"
	"strconv"

	"github.com/answerback/answerback/ask"
)

// lost is the error of a request that was sent and will get no answer. For
// tools/call that means that it may have run.
func lost(backend, method, why string, cause error) *ask.Error {
	if method == "tools/call" {
		return ask.Wrap(ask.OutcomeUnknown, fmt.Sprintf(
			"Backend %s did not answer: %s. The call may or may not have run; check before calling again.", backend, why), cause)
	}
	return ask.Wrap(ask.BackendLost, fmt.Sprintf("Backend %s did not answer: %s.", backend, why), cause)
}

// unreachable is the error of a request that was never sent.
func unreachable(backend, hint string, cause error) *ask.Error {
	return ask.Wrap(ask.BackendUnreachable, fmt.Sprintf("Backend %s cannot be reached: %s.", backend, hint), cause)
}

// broken is the error of an answer that is none.
func broken(backend, what string, cause error) *ask.Error {
	return ask.Wrap(ask.BackendBroken, fmt.Sprintf("Backend %s sent something that is not MCP: %s.", backend, what), cause)
}

// tooLarge is the error of an answer beyond the limit.
func tooLarge(backend string, limit int) *ask.Error {
	return ask.Errorf(ask.TooLarge, fmt.Sprintf(
		"Backend %s sent a message of more than %d bytes, which is the limit for it. Raise the limit or ask for less.", backend, limit))
}

// badStatus is the error of an HTTP status that is no answer.
func badStatus(backend, method string, status int, location string) *ask.Error {
	var e *ask.Error
	switch {
	case status == 401 || status == 403:
		e = unreachable(backend, fmt.Sprintf("it refuses our credentials (HTTP status %d); check the headers configured for it", status), nil)
	case status >= 300 && status < 400:
		e = unreachable(backend, fmt.Sprintf("it redirects (HTTP status %d), which is not followed; configure the final URL", status), nil)
		if location != "" {
			e.Cause = fmt.Errorf("redirect to %s", strconv.Quote(location))
		}
	case status == 408 || status == 429 || status == 503:
		e = unreachable(backend, fmt.Sprintf("it is overloaded or out of service (HTTP status %d); try again later", status), nil)
	case status >= 500:
		// A gateway in between, or the server itself, failed at a time when
		// the request may have been at work.
		e = lost(backend, method, fmt.Sprintf("HTTP status %d; check its log and any proxy before it", status), nil)
		if e.Code == ask.BackendLost {
			e.Code = ask.BackendUnreachable
		}
	case status >= 400:
		e = broken(backend, fmt.Sprintf("HTTP status %d without a JSON-RPC error; check that the URL is its MCP endpoint", status), nil)
	default:
		e = broken(backend, fmt.Sprintf("HTTP status %d for a request", status), nil)
	}
	e.Data = map[string]any{"status": status}
	return e
}
