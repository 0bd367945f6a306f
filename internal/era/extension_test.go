package era_test

import (
	"testing"

	"github.com/answerback/answerback/internal/era"
)

func TestExtensionsAreDeclaredAsObjects(t *testing.T) {
	for caps, want := range map[string]struct{ tasks, any bool }{
		`{"extensions":{"io.modelcontextprotocol/tasks":{}}}`:          {true, true},
		`{"extensions":{"v/x":{},"io.modelcontextprotocol/tasks":{}}}`: {true, true},
		`{"extensions":{"v/x":{"n":1}}}`:                               {false, true},
		`{"extensions":{"io.modelcontextprotocol/tasks":null}}`:        {false, false},
		`{"extensions":{"io.modelcontextprotocol/tasks":true}}`:        {false, false},
		`{"extensions":{}}`:                    {false, false},
		`{"extensions":[{}]}`:                  {false, false},
		`{"tasks":{}}`:                         {false, false},
		`{"io.modelcontextprotocol/tasks":{}}`: {false, false},
		`{}`:                                   {false, false},
		``:                                     {false, false},
		`[{}]`:                                 {false, false},
	} {
		if got := era.Extends([]byte(caps), era.Tasks); got != want.tasks {
			t.Errorf("%s declares tasks: %v", caps, got)
		}
		if got := era.ExtendsAny([]byte(caps)); got != want.any {
			t.Errorf("%s declares an extension: %v", caps, got)
		}
	}
	if !era.Extends([]byte(era.RequiredTasks), era.Tasks) {
		t.Error("what a client is told to declare does not declare tasks")
	}
}

// Neither kind of tasks crosses to the other era; other extensions and every
// other byte do.
func TestWithoutTasksDropsBothKinds(t *testing.T) {
	for caps, want := range map[string]string{
		`{"tasks":{"list":{}}, "roots":{}}`:                                              `{"roots":{}}`,
		`{"extensions":{"io.modelcontextprotocol/tasks":{}}}`:                            `{"extensions":{}}`,
		`{"extensions":{ "v/x":{"n":1.10}, "io.modelcontextprotocol/tasks":{} },"a":1}`:  `{"extensions":{ "v/x":{"n":1.10} },"a":1}`,
		`{"Extensions":{"IO.modelcontextprotocol/Tasks":{}},"extensions":{"v/x":{}}}`:    `{"Extensions":{},"extensions":{"v/x":{}}}`,
		`{"extensions":{"io.modelcontextprotocol\/tasks":{}},"elicitation":{"form":{}}}`: `{"extensions":{},"elicitation":{"form":{}}}`,
		`{"extensions":7}`:         `{"extensions":7}`,
		`{"sampling": {"n":1.10}}`: `{"sampling": {"n":1.10}}`,
		``:                         ``,
	} {
		if got := string(era.WithoutTasks([]byte(caps))); got != want {
			t.Errorf("%s:\n got %s\nwant %s", caps, got, want)
		}
	}
}
