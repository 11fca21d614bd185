package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/internal/platform/spelling"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// unknownCommand is the error for a name that is not one of cmd's commands. It suggests
// a similar one.
func unknownCommand(cmd *cobra.Command, name string) error {
	_, above, _ := strings.Cut(cmd.CommandPath(), " ")
	cmd.SuggestionsMinimumDistance = 2
	err := fmt.Errorf("unknown command %q", strings.TrimSpace(above+" "+name))
	if near := cmd.SuggestionsFor(name); len(near) > 0 {
		return usage(fmt.Errorf("%w; did you mean %s?", err, strings.Join(near, " or ")))
	}
	if !cmd.HasParent() {
		return usage(fmt.Errorf("%w: see `%s help`", err, cmd.Name()))
	}
	var known []string
	for _, c := range cmd.Commands() {
		known = append(known, c.Name())
	}
	return usage(fmt.Errorf("%w: expected one of %s", err, strings.Join(known, ", ")))
}

// onlyCommands checks the arguments of a command that has subcommands and no arguments.
func onlyCommands(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return unknownCommand(cmd, args[0])
	}
	return nil
}

// unknownName is the error for an unknown name in the config.
func unknownName(kind, name string, known []string) error {
	if near := spelling.Nearest(name, known); near != "" {
		return fmt.Errorf("unknown %s %q; did you mean %s?", kind, name, near)
	}
	return fmt.Errorf("unknown %s %q: expected one of %s", kind, name, strings.Join(known, ", "))
}

// helpOfCommands makes --help after an unknown command name an error instead of the help for all
// commands. The result points to that error.
func helpOfCommands(root *cobra.Command) *error {
	var unknown error
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if cmd.HasSubCommands() {
			unknown = onlyCommands(cmd, cmd.Flags().Args())
		}
		if unknown == nil {
			help(cmd, args)
		}
	})
	return &unknown
}

// helpTopic checks the arguments of the command help: they are the path of a command.
func helpTopic(cmd *cobra.Command, args []string) error {
	at := cmd.Root()
	for _, name := range args {
		next, _, err := at.Find([]string{name})
		if err != nil || next == at {
			return unknownCommand(at, name)
		}
		at = next
	}
	return nil
}

// flagError rewords an error about the flags of cmd: it says what was expected, and suggests a similar flag.
func flagError(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		return usage(invalidValue(invalid))
	}
	return unknownFlag(cmd, err)
}

// flagTypes describes the values of flags by their Go type.
var flagTypes = map[string]string{"int": "a whole number", "int64": "a whole number", "float64": "a number", "bool": "true or false",
	"duration": "a time span such as 30s or 5m"}

func invalidValue(err *pflag.InvalidValueError) error {
	flag := err.GetFlag()
	if want := flagTypes[flag.Value.Type()]; want != "" {
		return fmt.Errorf("--%s: got %q, expected %s", flag.Name, err.GetValue(), want)
	}
	return fmt.Errorf("--%s: got %q, %w", flag.Name, err.GetValue(), err.Unwrap())
}

// unknownFlag adds a suggestion to an error about the flags of cmd.
func unknownFlag(cmd *cobra.Command, err error) error {
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) {
		return usage(err)
	}
	if args := cmd.Flags().Args(); cmd.HasSubCommands() && len(args) > 0 { // a flag of an unknown command
		return unknownCommand(cmd, args[0])
	}
	name := missing.GetSpecifiedName()
	if group := missing.GetSpecifiedShortnames(); group != "" {
		name, _, _ = strings.Cut(group, "=") // -config, as in package flag
	}
	flags := cmd.Flags()
	name = string(flags.GetNormalizeFunc()(flags, name))
	var known []string
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	if cmd.Name() == "serve" {
		known = append(known, sortedNames(serveAliases)...)
	}
	if key := keyOf(name, cmd.Name()); key != "" && flags.Lookup("set") != nil {
		err = fmt.Errorf("%w; did you mean --set %s=VALUE?", err, key)
	} else if near := spelling.Nearest(name, known); near != "" {
		err = fmt.Errorf("%w; did you mean --%s?", err, near)
	}
	return usage(err)
}

// sections are the parts of the config that a command's flags are looked up in first.
var sections = map[string]string{"train": "train.", "evaluate": "eval.", "predict": "predict."}

// keyOf returns the key of the config that ends with a flag's name, preferably in the command's section; "" if there is none.
func keyOf(flag, command string) string {
	name, found := strings.ReplaceAll(flag, "-", "_"), ""
	own := func(key string) bool { return strings.HasPrefix(key, sections[command]) }
	for _, key := range config.Keys() {
		if (key == name || strings.HasSuffix(key, "."+name)) && (found == "" || own(key) && !own(found)) {
			found = key
		}
	}
	return found
}
