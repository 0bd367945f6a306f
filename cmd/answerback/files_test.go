package main

import (
	"testing"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/desk"
)

func TestHowAQuestionEndsSaysWhetherItsFilesAreLeft(t *testing.T) {
	settled := func(change func(*desk.Record)) desk.Record {
		r := desk.Record{Transition: "settled", Kind: ask.Form, Ending: ask.Answered, Action: ask.Accept, Surface: "page"}
		change(&r)
		return r
	}
	for _, tt := range []struct {
		name   string
		record desk.Record
		want   bool
	}{
		{"sent from a page", settled(func(*desk.Record) {}), false},
		{"sent through the API", settled(func(r *desk.Record) { r.Surface = "api" }), false},
		{"declined", settled(func(r *desk.Record) { r.Action = ask.Decline }), true},
		{"left for now", settled(func(r *desk.Record) { r.Action = ask.Cancel }), true},
		{"expired", settled(func(r *desk.Record) { r.Ending, r.Action = ask.Expired, ask.NoAction }), true},
		{"taken back", settled(func(r *desk.Record) { r.Ending, r.Action = ask.Withdrawn, ask.NoAction }), true},
		{"given up", settled(func(r *desk.Record) { r.Ending, r.Action = ask.Abandoned, ask.NoAction }), true},
		{"for a model", settled(func(r *desk.Record) { r.Kind, r.Ending = ask.Sampling, ask.Expired }), false},
		{"still open", desk.Record{Transition: "shown", Kind: ask.Form}, false},
	} {
		if got := leavesFiles(tt.record); got != tt.want {
			t.Errorf("%s: that its files are left is %v", tt.name, got)
		}
	}
}
