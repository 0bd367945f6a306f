// Package upload keeps the files that people give for the file fields of
// forms, and hands them to the server that asked.
//
// A file comes in as a stream, is cut into parts, and each part is sealed
// before it is stored: nothing of it is on disk in the clear, and no more of
// it than one part is in memory. What it is, is found out from its content.
// Until its question is answered it is a draft of whoever gave it, and of
// nobody else. With the answer it gets a link that only the asking server is
// told: it can be used a few times, for a while, and then file and link are
// gone. Everything that is stored has an end from the start.
//
// It does not know who somebody is, whether a question is theirs, or whether
// an answer was taken: that is for whoever calls it.
package upload
