// Package browser has people answer in a real browser: Chromium before the
// real gateway, whose callers and visitors a real OpenID provider vouches for.
//
// What needs no browser to be shown is tested elsewhere, with raw requests
// (test/e2e) or in the packages themselves. The tests are behind the build tag
// browser; `make browser` sets it, says where the programs are, and keeps
// pictures of every page in .out/browser. Every page is held to fit, to pass
// axe-core, and to have the accessibility tree that testdata has; `make images`
// writes those trees and the pictures in docs/images anew.
package browser
