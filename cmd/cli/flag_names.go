package cli

import (
	"strings"

	"github.com/spf13/pflag"
)

// serveAliases are TensorFlow Serving's names for flags that have another name here.
var serveAliases = map[string]string{"rest-api-port": "rest-port"}

// dashes accepts underscores for dashes in the names of flags, and aliases.
func dashes(aliases map[string]string) func(*pflag.FlagSet, string) pflag.NormalizedName {
	return func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		name = strings.ReplaceAll(name, "_", "-")
		if other, ok := aliases[name]; ok {
			name = other
		}
		return pflag.NormalizedName(name)
	}
}
