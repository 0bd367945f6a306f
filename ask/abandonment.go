package ask

// Abandonment names why a question that was asked was left without a decision.
// The zero Abandonment is that of a question which was not: it was answered,
// its asker took it back, or it was refused.
type Abandonment string

// Every way in which a question is abandoned.
const (
	UserCancelled      Abandonment = "user_cancelled"      // somebody closed it, or cancelled the call that asked
	ClientDisconnected Abandonment = "client_disconnected" // the client went away
	TimedOut           Abandonment = "timeout"             // nobody answered in time
	SessionOver        Abandonment = "session_expired"     // the session in which it was asked came to its end
	Invalidated        Abandonment = "form_invalidated"    // it cannot be answered any more, or nobody is left to hear the answer
)

// Abandonment says whether the question was abandoned, and why.
func (o *Outcome) Abandonment() Abandonment {
	switch o.Ending {
	case Answered:
		if o.Answer.Action == Cancel {
			return UserCancelled
		}
	case Expired:
		return TimedOut
	case Abandoned:
		switch o.Err.Code {
		case ClientCancelled:
			return UserCancelled
		case ClientGone, NoClient:
			return ClientDisconnected
		case Timeout:
			return TimedOut
		case SessionExpired, ShuttingDown:
			return SessionOver
		}
		return Invalidated
	}
	return ""
}
