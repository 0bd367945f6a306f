// Package config reads Answerback's one configuration file: it finds it,
// parses it, expands environment variables, takes in server blocks pasted from
// client configurations, validates every value, and says everything that is
// wrong at once, with file, line, key and remedy. It also describes itself:
// the JSON schema, the reference and the effective configuration come from the
// same structs that are decoded into.
//
// It holds settings and starts nothing. It makes no directory, opens no port,
// reaches no backend and does not reload by itself: Watch tells that the file
// changed and Diff what changed in it; acting on that belongs to the caller.
package config
