package observe

import "slices"

// How large a batch grows. Both are well below what a journal takes at once.
const (
	batchRecords = 500
	batchBytes   = 256 << 10
)

// batch is some encoded records, one behind the other.
type batch struct {
	data []byte
	ends []int
}

func (b *batch) len() int { return len(b.ends) }

// entries gives the records apart. They share the batch's bytes.
func (b *batch) entries() [][]byte {
	entries := make([][]byte, len(b.ends))
	start := 0
	for i, end := range b.ends {
		entries[i] = b.data[start:end:end]
		start = end
	}
	return entries
}

// queue holds records in batches, oldest first, within its limits. What was
// taken counts until it is stored. It has no lock of its own.
type queue struct {
	maxRecords, maxBytes int

	batches        []*batch
	spare          *batch
	records, bytes int
}

// add queues a record, unless there is no room.
func (q *queue) add(line []byte) bool {
	if q.records >= q.maxRecords || q.bytes+len(line) > q.maxBytes {
		return false
	}
	var last *batch
	if n := len(q.batches); n > 0 {
		last = q.batches[n-1]
	}
	if last == nil || last.len() >= batchRecords || len(last.data)+len(line) > batchBytes {
		last, q.spare = q.spare, nil
		if last == nil {
			last = &batch{}
		}
		q.batches = append(q.batches, last)
	}
	last.data = append(last.data, line...)
	last.ends = append(last.ends, len(last.data))
	q.records++
	q.bytes += len(line)
	return true
}

// take gives the oldest batch, or nil.
func (q *queue) take() *batch {
	if len(q.batches) == 0 {
		return nil
	}
	b := q.batches[0]
	q.batches = slices.Delete(q.batches, 0, 1)
	return b
}

// putBack makes b the oldest batch again.
func (q *queue) putBack(b *batch) { q.batches = slices.Insert(q.batches, 0, b) }

// stored makes room for as much as b held, and uses b again.
func (q *queue) stored(b *batch) {
	q.records -= b.len()
	q.bytes -= len(b.data)
	b.data, b.ends = b.data[:0], b.ends[:0]
	q.spare = b
}

// clear empties the queue and says how many records were in it.
func (q *queue) clear() int {
	left := 0
	for b := q.take(); b != nil; b = q.take() {
		left += b.len()
		q.stored(b)
	}
	return left
}
