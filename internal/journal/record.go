package journal

import (
	"strings"
	"time"
)

// Limits that every store keeps.
const (
	// MaxBody is how long a record's body, a shelf's value and all entries of
	// one Append together may be. With what stores add, it stays below the
	// 1 MB that messaging servers take by default.
	MaxBody = 768 << 10
	// MaxAppend is how many entries one Append takes.
	MaxAppend = 1000
	// MaxAddressee is how long an addressee may be.
	MaxAddressee = 1024
	// MaxKey is how long the key of a shelf's item may be.
	MaxKey = 200
	// MinKeep is the shortest time that a store can keep something for.
	MinKeep = time.Second
	// Recovery is for how long after its deadline an open record is given out,
	// where a store is not told otherwise.
	Recovery = 24 * time.Hour

	maxName     = 128
	maxShelf    = 32
	maxKeyWords = 8
)

// Key names an ask. All of it can be read from the ask's id.
type Key struct {
	Shard uint16 // the hash of its addressee
	Home  string // the gateway that it belongs to
	ID    string
}

// Rev names one version of one record. Only the store that made it can read
// it; others keep it as it is. The zero Rev names none. Moments are in
// nanoseconds since 1970 on the clock of the store, or Never.
type Rev struct {
	Seq     uint64 // where in the store
	Version uint32 // the number of the version, counted from 1
	Pinned  bool   // whether the engine keeps the version until it is replaced
	Expires int64  // from when on readers find nothing
	Until   int64  // until when it must stay in the store: see Until
}

// IsZero reports whether r names no version.
func (r Rev) IsZero() bool { return r == Rev{} }

// Record is an ask as it is stored. Stores keep no slice that they are given
// and share none that they give.
type Record struct {
	Key
	Rev       Rev    // of this version; set by the store
	Addressee string // who is asked, in the desk's own words
	Asked     time.Time
	// Deadline is when the ask ends by itself. Its gateway settles it then. An
	// open record is still given out for a while after its deadline (Recovery
	// by default), so that a gateway that was off can settle it late; after
	// that it counts as over. Without a deadline, the time of the last write
	// stands in for it.
	Deadline time.Time
	// Settled means that the ask has ended. It is then kept for Keep, counted
	// from this version, in whole seconds and at least MinKeep. An open record
	// has no Keep.
	Settled bool
	Keep    time.Duration
	Body    []byte
}

// Check reports what of r cannot be stored, as an *Error.
func (r *Record) Check() error {
	if err := r.Key.Check(); err != nil {
		return err
	}
	switch {
	case len(r.Addressee) > MaxAddressee:
		return refuse(TooLarge, "the addressee of "+r.ID+" is too long")
	case len(r.Body) > MaxBody:
		return refuse(TooLarge, "the body of "+r.ID+" is too long")
	case r.Settled && r.Keep < MinKeep:
		return refuse(Invalid, r.ID+" is settled and must be kept for a second at least")
	case !r.Settled && r.Keep != 0:
		return refuse(Invalid, r.ID+" is open and must be kept until it is settled")
	}
	return nil
}

// CheckCreate is Check for a record that is new.
func (r *Record) CheckCreate() error {
	if !r.Rev.IsZero() {
		return refuse(Invalid, r.ID+" has a revision and cannot be created")
	}
	return r.Check()
}

// CheckUpdate is Check for a record that replaces another version.
func (r *Record) CheckUpdate() error {
	switch {
	case r.Rev.Seq == 0:
		return refuse(Invalid, r.ID+" has no revision and cannot be updated")
	case !r.Rev.Pinned && !r.Settled:
		return refuse(Invalid, r.ID+" is settled and cannot be opened again")
	}
	return r.Check()
}

// Check reports a key that cannot be, as an *Error.
func (k Key) Check() error {
	if err := CheckHome(k.Home); err != nil {
		return err
	}
	if !isName(k.ID) {
		return refuse(Invalid, "an ask's id has 1 to 128 letters, digits, '-' and '_'")
	}
	return nil
}

// CheckHome reports a home that cannot be, as an *Error.
func CheckHome(home string) error {
	if !isName(home) {
		return refuse(Invalid, "a home has 1 to 128 letters, digits, '-' and '_'")
	}
	return nil
}

// CheckList reports a list that cannot be made, as an *Error.
func CheckList(addressee string, limit int) error {
	if limit < 1 || len(addressee) > MaxAddressee {
		return refuse(Invalid, "a list is for one addressee and has room for one record at least")
	}
	return nil
}

// CheckAppend reports entries that cannot be appended together, as an *Error.
func CheckAppend(entries [][]byte) error {
	size := 0
	for _, e := range entries {
		size += len(e)
	}
	switch {
	case len(entries) == 0:
		return refuse(Invalid, "there is nothing to append")
	case len(entries) > MaxAppend || size > MaxBody:
		return refuse(TooLarge, "there is too much to append at once")
	}
	return nil
}

// CheckItem reports a shelf, key or value that cannot be, as an *Error.
func CheckItem(shelf, key string, size int, ttl time.Duration) error {
	if key == "" {
		return refuse(Invalid, "an item of shelf "+shelf+" needs a key")
	}
	if err := CheckPrefix(shelf, key); err != nil {
		return err
	}
	switch {
	case size > MaxBody:
		return refuse(TooLarge, "the value of "+key+" on shelf "+shelf+" is too long")
	case ttl != 0 && ttl < MinKeep:
		return refuse(Invalid, key+" on shelf "+shelf+" must be kept for a second at least")
	}
	return nil
}

// CheckPrefix reports a shelf or a prefix of keys that cannot be, as an *Error.
func CheckPrefix(shelf, prefix string) error {
	if !isShelf(shelf) {
		return refuse(Invalid, "a shelf has 1 to 32 of a-z, 0-9 and '-' for a name")
	}
	if prefix == "" {
		return nil
	}
	words := strings.Split(prefix, ".")
	bad := len(prefix) > MaxKey || len(words) > maxKeyWords
	for _, w := range words {
		bad = bad || !isName(w)
	}
	if bad {
		return refuse(Invalid, "a key has 1 to 8 words of letters, digits, '-' and '_', joined by dots")
	}
	return nil
}

// Seconds rounds a time to keep up to whole seconds, which is as fine as
// stores can tell.
func Seconds(d time.Duration) time.Duration {
	return (d + time.Second - 1) / time.Second * time.Second
}

func isName(s string) bool {
	if s == "" || len(s) > maxName {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

func isShelf(s string) bool {
	return isName(s) && len(s) <= maxShelf && strings.ToLower(s) == s && !strings.Contains(s, "_")
}
