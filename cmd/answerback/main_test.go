package main

import (
	"runtime/debug"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"answerback": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
	})
}

func TestVersionComesFromTheBuild(t *testing.T) {
	built := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}, Settings: settings}
	}
	for _, test := range []struct {
		info            *debug.BuildInfo
		version, commit string
	}{
		{nil, "dev", "unknown"},
		{built("(devel)"), "dev", "unknown"},
		{built("v1.2.3"), "v1.2.3", "unknown"},
		{built("", debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef"}), "dev", "0123456789ab"},
		{built("", debug.BuildSetting{Key: "vcs.modified", Value: "true"}, debug.BuildSetting{Key: "vcs.revision", Value: "0123"}), "dev", "0123-dirty"},
	} {
		if v, c := versionOf(test.info), commitOf(test.info); v != test.version || c != test.commit {
			t.Errorf("%v: %s, %s", test.info, v, c)
		}
	}
}
