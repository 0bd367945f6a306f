package config

import (
	"maps"
	"reflect"
	"slices"
)

// Changes is what differs between two configurations, as a reload sees it. A
// disabled backend counts as one that is not there. All lists are sorted or in
// the order of the file's keys.
type Changes struct {
	Added   []string // backends
	Removed []string
	Changed []string
	Keys    []string // the other top-level keys
	Restart []string // those of Keys that can take effect only at the next start
}

// Empty reports whether nothing differs.
func (c Changes) Empty() bool {
	return len(c.Added)+len(c.Removed)+len(c.Changed)+len(c.Keys) == 0
}

// Diff compares two configurations.
func Diff(old, new *Config) Changes {
	var changes Changes
	for _, f := range fieldsOf(reflect.TypeFor[Config]()) {
		if f.key == "backends" {
			continue
		}
		a, b := reflect.ValueOf(old).Elem().FieldByIndex(f.index), reflect.ValueOf(new).Elem().FieldByIndex(f.index)
		if !reflect.DeepEqual(a.Interface(), b.Interface()) {
			changes.Keys = append(changes.Keys, f.key)
			if f.restart {
				changes.Restart = append(changes.Restart, f.key)
			}
		}
	}
	before, after := active(old), active(new)
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if was, ok := before[name]; !ok {
			changes.Added = append(changes.Added, name)
		} else if !reflect.DeepEqual(was, after[name]) {
			changes.Changed = append(changes.Changed, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, ok := after[name]; !ok {
			changes.Removed = append(changes.Removed, name)
		}
	}
	return changes
}

// active gives the enabled backends without what is kept of them for display:
// ${A} and its value are the same to a running backend.
func active(c *Config) map[string]Backend {
	backends := make(map[string]Backend, len(c.Backends))
	for _, name := range c.Enabled() {
		b := c.Backends[name]
		b.written = nil
		backends[name] = b
	}
	return backends
}

// SameServer reports whether two entries describe the same server, reached in
// the same way, however it is offered: one that runs can then be kept.
func (b Backend) SameServer(other Backend) bool {
	for _, e := range []*Backend{&b, &other} {
		e.Tools, e.CallTimeout, e.Away, e.FormSchema, e.Secrets, e.written = Tools{}, 0, 0, "", "", nil
	}
	return reflect.DeepEqual(b, other)
}
