//go:build noserve

package cli

import (
	"github.com/goestimator/goestimator/internal/platform/features"
	"github.com/spf13/cobra"
)

// serveCommand replaces the model server in binaries without it, and says so whatever the flags.
func (a *app) serveCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "serve",
		Short:              "serve models (not in this binary)",
		DisableFlagParsing: true,
		RunE:               func(*cobra.Command, []string) error { return usage(features.Need("serve")) },
	}
}
