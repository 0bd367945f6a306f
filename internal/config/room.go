package config

// room is a size that must have room for several of another.
type room struct {
	key, ofKey string // in limits
	size, of   *Size
	times      Size
}

// rooms gives the sizes that depend on others, each after those that it depends
// on. A body that is read may be copied into a larger buffer on the way, a
// message that comes as an event is there as a line as well, and nobody gets
// more than half of all.
func (l *Limits) rooms() []room {
	return []room{
		{"bodies_per_principal", "body_bytes", &l.BodiesPerPrincipal, &l.BodyBytes, 2},
		{"bodies_total", "bodies_per_principal", &l.BodiesTotal, &l.BodiesPerPrincipal, 2},
		{"responses_per_backend", "message_bytes", &l.ResponsesPerBackend, &l.MessageBytes, 4},
		{"responses_total", "responses_per_backend", &l.ResponsesTotal, &l.ResponsesPerBackend, 2},
	}
}
