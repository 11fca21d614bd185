package cli

import (
	"strings"

	"github.com/spf13/pflag"
)

// serveAliases are names of TensorFlow Serving for flags that have another one here.
var serveAliases = map[string]string{"rest-api-port": "rest-port"}

// dashes takes underscores for dashes in names of flags, and other names of them.
func dashes(aliases map[string]string) func(*pflag.FlagSet, string) pflag.NormalizedName {
	return func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		name = strings.ReplaceAll(name, "_", "-")
		if other, ok := aliases[name]; ok {
			name = other
		}
		return pflag.NormalizedName(name)
	}
}
