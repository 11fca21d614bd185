package cli

import (
	"fmt"
	"strings"

	"github.com/goestimator/goestimator/internal/config"
	"github.com/spf13/cobra"
)

// shells are the shells with a completion script.
var shells = []string{"bash", "zsh", "fish", "powershell"}

func (a *app) completionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "completion {" + strings.Join(shells, "|") + "}",
		Short: "write the script by which a shell completes command lines",
		Long: `Writes a script by which a shell completes commands, flags, their values and the
keys of the config after --set. The shell asks this binary, by its name, so that
the script stays right when the binary changes.

For the present shell, and for every one from then on:

  bash   source <(goestimator completion bash)
         goestimator completion bash > ~/.local/share/bash-completion/completions/goestimator
  zsh    source <(goestimator completion zsh)
         goestimator completion zsh > "${fpath[1]}/_goestimator"
  fish   goestimator completion fish | source
         goestimator completion fish > ~/.config/fish/completions/goestimator.fish`,
		Example:   `  source <(goestimator completion bash)`,
		ValidArgs: shells,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return usage(fmt.Errorf("no shell: expected one of %s", strings.Join(shells, ", ")))
			case len(args) > 1:
				return usage(fmt.Errorf("unexpected argument %q", args[1]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch root := cmd.Root(); args[0] {
			case "bash":
				return writeBashCompletion(a.stdout, root)
			case "zsh":
				return writeZshCompletion(a.stdout, root)
			case "fish":
				return root.GenFishCompletion(a.stdout, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.stdout)
			}
			return usage(fmt.Errorf("shell %q: expected one of %s", args[0], strings.Join(shells, ", ")))
		},
	}
}

// The functions below fail only if the command does not have the flag, which
// TestCompletions would find.

// completeValues makes a shell offer these values of a flag.
func completeValues(cmd *cobra.Command, flag string, values ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// completeFiles makes a shell offer files with these extensions as values of a flag.
func completeFiles(cmd *cobra.Command, flag string, extensions ...string) {
	_ = cmd.MarkFlagFilename(flag, extensions...)
}

// completeFolders makes a shell offer folders as values of flags.
func completeFolders(cmd *cobra.Command, flags ...string) {
	for _, f := range flags {
		_ = cmd.MarkFlagDirname(f)
	}
}

// completeKeys makes a shell offer the keys of the config as values of a flag.
func completeKeys(cmd *cobra.Command, flag string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		if key, _, ok := strings.Cut(begun, "="); ok {
			if strings.HasSuffix(key, "dir") || strings.HasSuffix(key, "file") || strings.HasSuffix(key, "files") {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var out []string
		for _, key := range config.Keys() {
			if strings.HasPrefix(key, begun) {
				if !strings.HasSuffix(key, ".") {
					key += "="
				}
				out = append(out, key)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
}

// completeNoFiles keeps a shell from offering files for commands that take no argument.
func completeNoFiles(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		completeNoFiles(c)
		if len(c.ValidArgs) == 0 && c.ValidArgsFunction == nil && c.Args != nil && c.Args(c, []string{"FILE"}) != nil {
			c.ValidArgsFunction = cobra.NoFileCompletions
		}
	}
}
