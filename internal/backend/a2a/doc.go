// Package a2a makes an agent that speaks A2A 1.0 a modern MCP server: its
// skills are tools, and the turn of a task is a round of a call. A task that
// wants input ends its turn as a result that wants input, whose requestState
// names the task; the retried call is the message that goes on with it.
//
// It translates, and nothing else. It shows no question, keeps no task, and
// knows nothing of legacy clients, which come to it over package bridge. What
// agents and clients send is not trusted: sizes, counts and addresses are
// bounded here.
package a2a
