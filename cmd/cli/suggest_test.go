package cli

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// An error about a flag's value names the expected values, without the words of package strconv.
func TestValuesOfFlags(t *testing.T) {
	a := &app{name: "goestimator", stdout: io.Discard, stderr: &console{out: io.Discard}}
	n := 0
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Value.Set("no such value") == nil {
				return // any text is valid
			}
			n++
			_, path, _ := strings.Cut(cmd.CommandPath(), " ")
			var stderr bytes.Buffer
			code := Run(context.Background(), append(strings.Fields(path), "--"+f.Name+"=no such value"), io.Discard, &stderr)
			want := "goestimator: --" + f.Name + `: got "no such value", expected `
			if got := stderr.String(); code != 2 || !strings.HasPrefix(got, want) || strings.Contains(got, "strconv") || strings.Count(got, "\n") != 1 {
				t.Errorf("%s: exit code %d, got %s, expected it to begin with %s", cmd.CommandPath(), code, got, want)
			}
		})
		for _, c := range cmd.Commands() {
			visit(c)
		}
	}
	visit(a.root())
	if n < 20 {
		t.Errorf("%d flags were tried", n)
	}
}
