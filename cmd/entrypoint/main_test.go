//go:build unix

package main

import (
	"strings"
	"testing"
)

func TestArguments(t *testing.T) {
	for args, want := range map[string]string{
		"":                                "",
		"--version":                       "--version",
		"serve":                           "serve --host 0.0.0.0",
		"serve --model a=b":               "serve --host 0.0.0.0 --model a=b",
		"-q serve --host 1.2.3.4":         "-q serve --host 0.0.0.0 --host 1.2.3.4",
		"--log-format json serve":         "--log-format json serve --host 0.0.0.0",
		"--log-format=json serve":         "--log-format=json serve --host 0.0.0.0",
		"--log-format serve":              "--log-format serve",
		"train --config serve":            "train --config serve",
		"launch -- goestimator serve":     "launch -- goestimator serve",
		"server --cluster-spec ps|a:2222": "server --cluster-spec ps|a:2222",
	} {
		if got := strings.Join(arguments(strings.Fields(args)), " "); got != want {
			t.Errorf("%q: got %q, expected %q", args, got, want)
		}
	}
}
