// Package plant is for the tests that show that other tests can fail: named
// points at which the process kills itself, and named bugs. It also lets a
// test look at the memory of the process.
//
// It is compiled in with the build tag plant alone. Such a build behaves as
// every other one until its environment says otherwise: ANSWERBACK_KILL_AT
// names a point, and after a colon the pass at which the process dies there
// (the first, if nothing is said); ANSWERBACK_BUG names a bug;
// ANSWERBACK_TIME_SCALE says how many times faster the configured times run, so
// that a test can wait until they have passed; with ANSWERBACK_MEASURE, which
// names a directory, the process collects its garbage and writes its profiles
// there whenever it gets SIGUSR1. Without the tag nothing of it is left in the
// program, not even the names.
//
// It is not for switches that an operator may want.
package plant

// Bug names a mistake that is planted in the program.
type Bug string

// Every bug that can be planted.
const (
	AckBeforePersist Bug = "ack_before_persist" // what must be stored is acknowledged first, and stored later
	SyncOff          Bug = "sync_off"           // the store acknowledges what is not on disk
	DoubleSettle     Bug = "double_settle"      // whoever answers second is told that their answer was taken
	NoPrincipalCheck Bug = "no_principal_check" // somebody else's question can be seen and answered
	LostTimer        Bug = "lost_timer"         // the deadline of a restored question is not watched
	LeakedSecret     Bug = "leaked_secret"      // what somebody answered is on record
	UnboundedQueue   Bug = "unbounded_queue"    // questions beyond the limits are taken
	LateAnswer       Bug = "late_answer"        // an answer after the deadline is taken
	LostAnswer       Bug = "lost_answer"        // an answer from before a restart is not given to its asker
	SilentRefresh    Bug = "silent_refresh"     // a refresh token is shown before the store knows of it
	SentTwice        Bug = "sent_twice"         // a call that may have been sent before a restart is sent after it
	EarlyUse         Bug = "early_use"          // a token is used before it is stored
	ShortLife        Bug = "short_life"         // a version in the store may go before those that it replaced are over
	EarlyShow        Bug = "early_show"         // a question is promised to be kept, and stored without its words
)
