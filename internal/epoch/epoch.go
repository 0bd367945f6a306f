package epoch

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/answerback/answerback/internal/journal"
)

// Shelf is the name of the shelf of homes.
const Shelf = "home"

// ErrTwin means that another process raised the epoch of the same home at the
// same time.
var ErrTwin = errors.New("another gateway with the same home starts at this moment: two gateways must not share a data_dir, nor a copy of one; stop the other, or give this one a data_dir of its own")

// tries bounds how often a write is repeated whose end is not known, and
// between is how long to wait before.
const (
	tries   = 5
	between = 500 * time.Millisecond
)

// Raise raises the epoch of a home by one and gives it. The first is 1. It is
// called once at every start, before anything from an earlier life is taken
// up, and once after the store was restored from a backup. Whatever else the
// record holds stays.
//
// The error is ErrTwin where another process raised it at the same time, and
// the journal's where the store does not answer.
func Raise(ctx context.Context, shelf journal.Shelf, home string) (uint64, error) {
	mine := rand.Text()
	var err error
	for range tries {
		var epoch uint64
		if epoch, err = raise(ctx, shelf, home, mine); err == nil || !errors.Is(err, journal.Unavailable) {
			return epoch, err
		}
		select {
		case <-time.After(between):
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
	return 0, fmt.Errorf("the epoch of this gateway cannot be stored: %w", err)
}

// stepBack is by how much an epoch is raised when a backup is restored: more
// than the number of starts between a backup and its restore.
const stepBack = 1 << 12

// StepBack gives the record of a home as a backup is restored with: its epoch
// is beyond every one that the home can have reached since the backup. The
// start that follows raises it once more.
func StepBack(value []byte) ([]byte, error) {
	record := make(map[string]json.RawMessage)
	now, _, err := read(value, &record)
	if err != nil {
		return nil, err
	}
	record[memberEpoch], record[memberBy] = fmt.Appendf(nil, "%d", now+stepBack), fmt.Appendf(nil, "%q", rand.Text())
	return json.Marshal(record)
}

// Current gives the epoch of a home, 0 for a home that was never started.
func Current(ctx context.Context, shelf journal.Shelf, home string) (uint64, error) {
	item, err := shelf.Get(ctx, home)
	if errors.Is(err, journal.NotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	record := make(map[string]json.RawMessage)
	now, _, err := read(item.Value, &record)
	return now, err
}

// The members of the record that are known here.
const (
	memberEpoch = "epoch"
	memberBy    = "by" // what the process that raised it last is known by
)

// raise makes one attempt. An earlier one that was not known to succeed is
// recognised by mine.
func raise(ctx context.Context, shelf journal.Shelf, home, mine string) (uint64, error) {
	item, err := shelf.Get(ctx, home)
	if err != nil && !errors.Is(err, journal.NotFound) {
		return 0, err
	}
	record := make(map[string]json.RawMessage)
	var now uint64
	if err == nil {
		var by string
		if now, by, err = read(item.Value, &record); err != nil {
			return 0, fmt.Errorf("the record of this gateway in its store (shelf %s, key %s) cannot be read: start the version that wrote it, or restore the store from a backup: %w", Shelf, home, err)
		}
		if by == mine {
			return now, nil
		}
	}
	record[memberEpoch], record[memberBy] = fmt.Appendf(nil, "%d", now+1), fmt.Appendf(nil, "%q", mine)
	value, err := json.Marshal(record)
	if err != nil {
		return 0, err
	}
	_, err = shelf.Put(ctx, home, item.Rev, value, 0)
	switch {
	case errors.Is(err, journal.Exists), errors.Is(err, journal.Conflict), errors.Is(err, journal.NotFound):
		if fault, ok := errors.AsType[*journal.Error](err); ok && fault.Item != nil {
			if stored, by, err := read(fault.Item.Value, &record); err == nil && by == mine {
				return stored, nil // an attempt that was in doubt
			}
		}
		return 0, ErrTwin
	case err != nil:
		return 0, err
	}
	return now + 1, nil
}

func read(value []byte, record *map[string]json.RawMessage) (epoch uint64, by string, err error) {
	if err := json.Unmarshal(value, record); err != nil {
		return 0, "", err
	}
	if err := json.Unmarshal((*record)[memberEpoch], &epoch); err != nil {
		return 0, "", err
	}
	if raw, ok := (*record)[memberBy]; ok {
		if err := json.Unmarshal(raw, &by); err != nil {
			return 0, "", err
		}
	}
	return epoch, by, nil
}
