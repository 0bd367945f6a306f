package parking

import (
	"net/http"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/catalog"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/wire"
)

// reply makes a response of the gateway's own to a request.
func (l *Lot) reply(msg *wire.Message, result []byte) (contract.Reply, error) {
	m, err := wire.Scan(era.AppendResult(nil, msg.Field(msg.ID), result), l.limits.Scan)
	return contract.Reply{Msg: m, Status: http.StatusOK}, err
}

// modernised makes a legacy backend's reply one of the modern era.
func modernised(reply contract.Reply, method string, limits wire.Limits) (contract.Reply, error) {
	m := &reply.Msg
	edits := era.Completed(m, method)
	if m.Kind == wire.Failure {
		reply.Status = 0
		if code := string(m.Field(m.ErrorCode)); era.ModernCode(code) != code {
			edits = append(edits, wire.Edit{Span: m.ErrorCode, With: []byte(era.ModernCode(code))})
		}
	}
	if edits == nil {
		return reply, nil
	}
	msg, err := wire.Scan(wire.Splice(nil, m.Raw, edits...), limits)
	reply.Msg = msg
	return reply, err
}

// notTaken makes the modern error of a request that a legacy server did not
// take. Some of them answer a method that they do not know with a bare HTTP
// status; for one that MCP does not define that is what it means.
func notTaken(err error, backend, method string) error {
	status, _ := ask.From(err).Data["status"].(int)
	if (status == http.StatusBadRequest || status == http.StatusNotFound) && !defined(method) {
		return ask.Wrap(ask.UnknownMethod, "Backend "+backend+" does not know the method "+method+".", err)
	}
	return err
}

// defined reports whether both eras define a method of servers.
func defined(method string) bool {
	switch method {
	case "tools/call", "prompts/get", "resources/read", "completion/complete":
		return true
	}
	return catalog.ByMethod(method) != 0
}
