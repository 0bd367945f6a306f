package main

import (
	"strings"
	"testing"
)

const cityForm = `{"message":"Where?","requestedSchema":{"type":"object","properties":{"city":{"type":"string"},"n":{"type":"integer"}},"required":["city"]}}`

// What the gateway sends back is offered again at the terminal, and sent once
// it is right.
func TestAsksAnswerIsPutRightOnATerminal(t *testing.T) { // F9
	k := newAsksKitWith(t, "asks: { max_field_length: 5, attempts: 1 }\n", cityForm)
	k.typed = []string{"Lucerne", "3", "send", "Basel", "", "send"}
	out, errs, err := k.run("", "answer", k.id())
	if err != nil || out != "completed: the server has it\n" {
		t.Errorf("%q, %v\n%s", out, err, errs)
	}
	want(t, errs, "This answer was not taken:", "If something is still wrong the next time, the question ends.")
	k.wantResult(`{"action":"accept","content":{"city":"Basel","n":3}}`)
}

func TestAsksAttemptsEnd(t *testing.T) { // F9
	k := newAsksKitWith(t, "asks: { attempts: 2 }\n", cityForm)
	id := k.id()
	for _, last := range []bool{false, true} {
		_, _, err := k.run(`{"n":1}`, "answer", id, "--json", "-")
		if err == nil || !strings.Contains(err.Error(), "city: ") || strings.Contains(err.Error(), "the next time, the question ends") != last {
			t.Errorf("last is %v: %v", last, err)
		}
	}
	k.wantOpen()
	k.typed = []string{"Bern", "1", "send"}
	_, _, err := k.run(`{"n":1}`, "answer", id, "--json", "-")
	if err == nil || !strings.Contains(err.Error(), "the question is over") {
		t.Error(err)
	}
	k.wantResult(`{"code":-32000,"message":"The question was not answered properly within the attempts allowed.","data":{"reason":"form_invalidated"}}`)
	if _, _, err := k.run("", "answer", id); err == nil || !strings.Contains(err.Error(), "the question is over (abandoned)") {
		t.Error(err)
	}
}
