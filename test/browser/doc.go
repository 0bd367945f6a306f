// Package browser has people answer in a real browser: Chromium before the
// real gateway, whose callers and visitors a real OpenID provider vouches for.
//
// What needs no browser to be shown is tested elsewhere, with raw requests
// (test/e2e) or in the packages themselves. The tests are behind the build tag
// browser; `make browser` sets it, says where the programs are, and keeps a
// picture of every page at two widths in .out/browser.
package browser
