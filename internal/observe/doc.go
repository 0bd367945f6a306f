// Package observe keeps what the gateway knows about its own work: the audit
// of every question, metrics, how the questions of each backend ended, and
// whether the gateway is fit to serve.
//
// It records and tells; it decides nothing. What it is given about a question
// has neither parameters nor values in it, and what it counts has no ids and
// no principals: its labels come from closed sets and from the configuration.
// The names of metrics and of the audit's fields are in docs/observability.md
// and are kept.
package observe
