// Command crowd is a great many MCP clients, or the server that they call, in
// a process of its own, so that the gateway between the two can be measured
// alone. It is a peer of the tests in test/e2e, and no example of either.
//
// "crowd server DIR" serves over HTTP/1.1 and over HTTP/2 with TLS, whose
// certificate it writes into DIR, and prints both addresses. Its one tool asks
// with the number that it was called with, and returns that number beside the
// answer.
//
// "crowd clients" reads commands from its standard input and answers each with
// one line: "open N URL TOOL" opens N sessions at URL, where the tool has that
// name, "ask K" has each session opened since the last "ask" call the tool K
// times at once and waits until all questions have come, "answer" answers all
// of them and checks every result, "close" ends all sessions. A line that does
// not begin with "done" says what went wrong.
package main

import (
	"fmt"
	"os"
)

func main() {
	err := fmt.Errorf("say server or clients")
	switch {
	case len(os.Args) == 3 && os.Args[1] == "server":
		err = serve(os.Args[2])
	case len(os.Args) == 2 && os.Args[1] == "clients":
		err = command(os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "crowd:", err)
		os.Exit(1)
	}
}
