package ask

import "testing"

func TestAbandonmentIsNamed(t *testing.T) { // F11
	for _, tt := range []struct {
		ending Ending
		action Action
		code   Code
		want   Abandonment
	}{
		{Answered, Cancel, "", UserCancelled},
		{Abandoned, NoAction, ClientCancelled, UserCancelled},
		{Abandoned, NoAction, ClientGone, ClientDisconnected},
		{Abandoned, NoAction, NoClient, ClientDisconnected},
		{Expired, NoAction, Timeout, TimedOut},
		{Abandoned, NoAction, Timeout, TimedOut},
		{Abandoned, NoAction, SessionExpired, SessionOver},
		{Abandoned, NoAction, ShuttingDown, SessionOver},
		{Abandoned, NoAction, FormInvalidated, Invalidated},
		{Abandoned, NoAction, BackendLost, Invalidated},
		{Abandoned, NoAction, Internal, Invalidated},

		{Answered, Accept, "", ""},
		{Answered, Decline, "", ""},
		{Answered, NoAction, "", ""}, // a model's answer, or an error of the client's
		{Withdrawn, NoAction, BackendWithdrew, ""},
		{Refused, NoAction, RateLimited, ""},
		{0, NoAction, "", ""},
	} {
		o := Outcome{Ending: tt.ending, Answer: Answer{Action: tt.action}}
		if tt.code != "" {
			o.Err = Errorf(tt.code, "Because.")
		}
		if got := o.Abandonment(); got != tt.want {
			t.Errorf("%v %v %s: %q, want %q", tt.ending, tt.action, tt.code, got, tt.want)
		}
	}
}
