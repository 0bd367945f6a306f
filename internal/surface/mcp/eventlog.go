package mcp

// eventLog keeps the newest events of a stream for a client that lost its
// connection, within limits of number and bytes. The newest event is kept
// whatever its size: it may be the response that the client waits for.
type eventLog struct {
	events []event
	bytes  int
}

type event struct {
	n     uint64 // its number on the stream
	frame []byte // the event as it goes over the wire
}

func (l *eventLog) add(e event, maxEvents, maxBytes int) {
	l.events = append(l.events, e)
	l.bytes += len(e.frame)
	drop := 0
	for len(l.events)-drop > 1 && (len(l.events)-drop > maxEvents || l.bytes > maxBytes) {
		l.bytes -= len(l.events[drop].frame)
		l.events[drop] = event{}
		drop++
	}
	l.events = l.events[drop:]
}

// after gives the events with higher numbers than n, oldest first.
func (l *eventLog) after(n uint64) []event {
	for i := range l.events {
		if l.events[i].n > n {
			return l.events[i:]
		}
	}
	return nil
}
