package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/platform/features"
)

func TestVersionLine(t *testing.T) {
	end := ", " + runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH
	setting := func(pairs ...string) (out []debug.BuildSetting) {
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, debug.BuildSetting{Key: pairs[i], Value: pairs[i+1]})
		}
		return out
	}
	for _, c := range []struct {
		name string
		info *debug.BuildInfo
		want string
	}{
		{"no information", nil, "goestimator (devel)"},
		{"no version control", &debug.BuildInfo{Main: debug.Module{Path: frameworkModule, Version: "(devel)"}}, "goestimator (devel)"},
		{"a release", &debug.BuildInfo{Main: debug.Module{Path: frameworkModule, Version: "v1.2.3"}, Settings: setting("vcs.revision", "abc", "vcs.time", "2026-01-02T03:04:05Z", "vcs.modified", "false")},
			"goestimator v1.2.3, commit abc of 2026-01-02T03:04:05Z"},
		{"with changes", &debug.BuildInfo{Main: debug.Module{Path: frameworkModule, Version: "v1.2.4-0.2026+dirty"}, Settings: setting("vcs.revision", "abc", "vcs.modified", "true")},
			"goestimator v1.2.4-0.2026+dirty, commit abc with changes"},
		{"another module", &debug.BuildInfo{Main: debug.Module{Path: "example.com/mine"}, Deps: []*debug.Module{{Path: "example.com/x", Version: "v9.0.0"}, {Path: frameworkModule, Version: "v0.4.0"}}},
			"goestimator (devel), goestimator v0.4.0"},
	} {
		if got := newBuild("goestimator", c.info).String(); got != c.want+end {
			t.Errorf("%s: got %q, expected %q", c.name, got, c.want+end)
		}
	}
}

// The command and the flag print the same, under the binary's name.
func TestVersion(t *testing.T) {
	run := func(args ...string) string {
		var stdout, stderr bytes.Buffer
		if code := Run(context.Background(), args, &stdout, &stderr, WithName("mine")); code != 0 || stderr.Len() > 0 {
			t.Errorf("%v: exit code %d, %s", args, code, stderr.String())
		}
		return stdout.String()
	}
	line, holds, _ := strings.Cut(run("version"), "\n")
	if line+"\n" != run("--version") {
		t.Errorf("version prints %q, --version %q", line, run("--version"))
	}
	for _, f := range features.List() {
		if !strings.Contains(holds, f.Name) || !f.Held && !strings.Contains(holds, "-tags "+f.Tag) {
			t.Errorf("%s is not in %q", f.Name, holds)
		}
	}
	var b build
	if err := json.Unmarshal([]byte(run("version", "--json")), &b); err != nil || b.String() != line || len(b.Features) != len(features.List()) || b.Name != "mine" {
		t.Errorf("%+v, %v, expected the fields of %q", b, err, line)
	}
}

// TestHolds: a binary without all optional parts says so.
func TestHolds(t *testing.T) {
	b := build{Features: []features.Feature{{Name: "serve", Tag: "noserve"}, {Name: "gcs", Tag: "gcs", Adds: true}}}
	if got, want := b.holds(), "holds none of the optional parts\nwithout serve (left out by -tags noserve), gcs (-tags gcs adds it)"; got != want {
		t.Errorf("got %q, expected %q", got, want)
	}
}
