package relay

import "github.com/answerback/answerback/internal/contract"

// The contract by the names that it has here.
type (
	Access        = contract.Access
	Backend       = contract.Backend
	Caller        = contract.Caller
	Challenge     = contract.Challenge
	Crossing      = contract.Crossing
	Doorstep      = contract.Doorstep
	Events        = contract.Events
	Hello         = contract.Hello
	Informed      = contract.Informed
	Line          = contract.Line
	Opener        = contract.Opener
	Outgoing      = contract.Outgoing
	Peer          = contract.Peer
	Question      = contract.Question
	Reply         = contract.Reply
	Response      = contract.Response
	Resumed       = contract.Resumed
	Sink          = contract.Sink
	UpstreamError = contract.UpstreamError
)

// ErrSuspended is the contract's.
var ErrSuspended = contract.ErrSuspended
