package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/goestimator/goestimator/internal/platform/features"
	"github.com/spf13/cobra"
)

// frameworkModule is the path of this module.
const frameworkModule = "github.com/goestimator/goestimator"

// build is the build information of a binary; unknown texts are empty.
type build struct {
	Name      string `json:"name"`
	Version   string `json:"version"`
	Framework string `json:"goestimator,omitempty"` // version, if the binary belongs to another module
	Commit    string `json:"commit,omitempty"`
	Time      string `json:"commit_time,omitempty"`
	Modified  bool   `json:"modified"` // the working tree had uncommitted changes
	Go        string `json:"go"`
	Platform  string `json:"platform"`

	Tags     string             `json:"tags,omitempty"` // of go build
	Cgo      bool               `json:"cgo"`
	Features []features.Feature `json:"features,omitempty"` // optional parts, which build tags add or leave out
}

// newBuild reads the build information of this process; b may be nil.
func newBuild(name string, b *debug.BuildInfo) build {
	out := build{Name: name, Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if b == nil {
		return out
	}
	if b.Main.Version != "" {
		out.Version = b.Main.Version
	}
	for _, d := range b.Deps {
		if d.Path == frameworkModule {
			out.Framework = d.Version
		}
	}
	for _, s := range b.Settings {
		switch s.Key {
		case "vcs.revision":
			out.Commit = s.Value
		case "vcs.time":
			out.Time = s.Value
		case "vcs.modified":
			out.Modified = s.Value == "true"
		case "-tags":
			out.Tags = s.Value
		case "CGO_ENABLED":
			out.Cgo = s.Value == "1"
		}
	}
	return out
}

// thisBuild is the build information of this process.
func (a *app) thisBuild() build {
	b, _ := debug.ReadBuildInfo()
	return newBuild(a.name, b)
}

// String returns one line, without the optional parts.
func (b build) String() string {
	parts := []string{b.Name + " " + b.Version}
	if b.Framework != "" {
		parts = append(parts, "goestimator "+b.Framework)
	}
	if b.Commit != "" {
		commit := "commit " + b.Commit
		if b.Time != "" {
			commit += " of " + b.Time
		}
		if b.Modified {
			commit += " with changes"
		}
		parts = append(parts, commit)
	}
	return strings.Join(append(parts, b.Go, b.Platform), ", ")
}

// holds lists, in at most two lines, the optional parts in the binary and the missing ones, with their build tags.
func (b build) holds() string {
	var held, left []string
	for _, f := range b.Features {
		switch {
		case f.Held:
			held = append(held, f.Name)
		case f.Adds:
			left = append(left, f.Name+" (-tags "+f.Tag+" adds it)")
		default:
			left = append(left, f.Name+" (left out by -tags "+f.Tag+")")
		}
	}
	if len(held) == 0 {
		held = []string{"none of the optional parts"}
	}
	text := "holds " + strings.Join(held, ", ")
	if len(left) > 0 {
		text += "\nwithout " + strings.Join(left, ", ")
	}
	return text
}

func (a *app) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "say which version this is and what it was built from",
		Long: `Says which version this binary is, the commit that it was built from, the Go
version and the platform, and in the lines below it what build tags added to the
binary or left out. --version prints the first line.`,
		Example: "  goestimator version --json",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			b := a.thisBuild()
			b.Features = features.List()
			if asJSON {
				return a.printJSON(b)
			}
			_, err := fmt.Fprintf(a.stdout, "%s\n%s\n", b, b.holds())
			return err
		},
	}
	addJSONFlag(cmd, &asJSON)
	return cmd
}
