// Package budget bounds the memory that messages take while they are under
// way: a number of bytes in all, and a share of it for each holder, which is a
// principal, a backend or whatever else the bytes are counted for. Bytes are
// taken before they are read and given back when nothing refers to them any
// more. It also says when the process as a whole is short of memory, so that
// new work can be refused while there is still room to say so.
//
// It does not read, queue or drop messages, and what was taken is counted by
// those who take it: a buffer that nobody counts is not seen.
package budget
