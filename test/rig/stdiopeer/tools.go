package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/answerback/answerback/internal/wire"
)

// tools are the behaviours, by the name of the tool that has them.
var tools = map[string]func(p *peer, msg *wire.Message){
	// echo gives its arguments back; modern does so as a modern server.
	"echo": func(p *peer, msg *wire.Message) {
		p.result(msg, `{"echo":`+string(msg.Field(msg.Arguments))+`}`)
	},
	"modern": func(p *peer, msg *wire.Message) {
		p.result(msg, `{"resultType":"complete","echo":`+string(msg.Field(msg.Arguments))+`}`)
	},

	// ask asks what its arguments say, and gives the answer back.
	"ask": func(p *peer, msg *wire.Message) {
		method, _ := wire.Unquote([]byte(arg(msg, "method")))
		p.result(msg, p.ask(method, arg(msg, "params")))
	},
	// busy makes progress, asks with a form, and samples; all of it says n.
	"busy": func(p *peer, msg *wire.Message) {
		n := arg(msg, "n")
		p.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + string(msg.Field(msg.MetaToken)) + `,"progress":` + n + `}}`)
		form := p.ask("elicitation/create", `{"message":"`+n+`","requestedSchema":{"type":"object","properties":{}}}`)
		sample := p.ask("sampling/createMessage", `{"messages":[],"maxTokens":`+n+`}`)
		p.result(msg, `{"n":`+n+`,"form":`+form+`,"sample":`+sample+`}`)
	},

	// wait makes progress, and is over when release is called.
	"wait": func(p *peer, msg *wire.Message) {
		p.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + string(msg.Field(msg.MetaToken)) + `,"progress":1}}`)
		<-p.released
		p.result(msg, `{"waited":true}`)
	},
	"release": func(p *peer, msg *wire.Message) {
		close(p.released)
		p.result(msg, `{}`)
	},

	"env": func(p *peer, msg *wire.Message) {
		name, _ := wire.Unquote([]byte(arg(msg, "name")))
		value, ok := os.LookupEnv(name)
		p.result(msg, fmt.Sprintf(`{"set":%t,"value":%s}`, ok, wire.AppendString(nil, value)))
	},
	// count counts its calls in this process.
	"count": func(p *peer, msg *wire.Message) {
		p.mu.Lock()
		p.counted++
		n := p.counted
		p.mu.Unlock()
		p.result(msg, fmt.Sprintf(`{"count":%d,"pid":%d}`, n, os.Getpid()))
	},
	"pid": func(p *peer, msg *wire.Message) { p.result(msg, fmt.Sprintf(`{"pid":%d}`, os.Getpid())) },
	// fork leaves a process running that ends at nothing but a kill.
	"fork": func(p *peer, msg *wire.Message) {
		child := exec.Command(os.Args[0], "-stubborn")
		if err := child.Start(); err != nil {
			p.error(msg, `{"code":-32603,"message":"no child"}`)
			return
		}
		p.result(msg, fmt.Sprintf(`{"pid":%d}`, child.Process.Pid))
	},

	// noise prints on both streams what is no message.
	"noise": func(p *peer, msg *wire.Message) {
		fmt.Fprintln(os.Stderr, "a word on standard error")
		for _, line := range []string{
			"Listening on stdio...", "", "{not json", `{"jsonrpc":"2.0"}`, `"text"`, "42", "[]", "\x00\xff\xfe", "\r",
			`{"jsonrpc":"2.0","id":"nobody's","result":{}}`,
		} {
			p.say(line)
		}
		p.result(msg, `{"noise":true}`)
	},
	// split writes its response in two parts; join lets the second go.
	"split": func(p *peer, msg *wire.Message) {
		line := `{"jsonrpc":"2.0","id":` + string(msg.Field(msg.ID)) + `,"result":{"split":true}}` + "\n"
		p.mu.Lock()
		defer p.mu.Unlock()
		os.Stdout.WriteString(line[:len(line)/2])
		fmt.Fprintln(os.Stderr, "half a line is out")
		<-p.rest
		os.Stdout.WriteString(line[len(line)/2:])
	},
	"join": func(p *peer, msg *wire.Message) {
		close(p.rest)
		p.result(msg, `{"joined":true}`)
	},
	// huge gives a result of so many bytes. Before their results, flood
	// prints a line of as many that is no message, and shout a notification.
	"huge": func(p *peer, msg *wire.Message) { p.result(msg, `{"x":"`+filler(msg)+`"}`) },
	"flood": func(p *peer, msg *wire.Message) {
		p.say(filler(msg))
		p.result(msg, `{"flooded":true}`)
	},

	"shout": func(p *peer, msg *wire.Message) {
		p.say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"` + filler(msg) + `"}}`)
		p.result(msg, `{"shouted":true}`)
	},
	// bigask asks with so many bytes, under the id of its own call, which is
	// another one: each side counts for itself.
	"bigask": func(p *peer, msg *wire.Message) {
		p.result(msg, p.put(string(msg.Field(msg.ID)), "sampling/createMessage", `{"x":"`+filler(msg)+`"}`))
	},

	"crash": func(*peer, *wire.Message) { os.Exit(3) },
	// half dies in the middle of its response.
	"half": func(p *peer, msg *wire.Message) {
		p.raw(`{"jsonrpc":"2.0","id":` + string(msg.Field(msg.ID)) + `,"result":{`)
		os.Exit(3)
	},
}

// ask puts a question and gives the raw result or error object.
func (p *peer) ask(method, params string) string {
	p.mu.Lock()
	p.asked++
	id := `"q` + strconv.Itoa(p.asked) + `"`
	p.mu.Unlock()
	return p.put(id, method, params)
}

// put is ask with an id of the caller's choice.
func (p *peer) put(id, method, params string) string {
	answer := make(chan wire.Message, 1)
	p.mu.Lock()
	p.waiting[wire.IDKey([]byte(id))] = answer
	p.mu.Unlock()
	p.say(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}`)
	m := <-answer
	if m.Kind == wire.Failure {
		return string(m.Field(m.Error))
	}
	return string(m.Field(m.Result))
}

func arg(msg *wire.Message, key string) string {
	return string(wire.Get(msg.Raw, msg.Arguments, key).Of(msg.Raw))
}

func filler(msg *wire.Message) string {
	n, err := strconv.Atoi(arg(msg, "bytes"))
	if err != nil {
		return ""
	}
	return strings.Repeat("x", n)
}
