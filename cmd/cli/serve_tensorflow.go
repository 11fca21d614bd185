//go:build !noserve

package cli

import (
	"fmt"
	"strconv"

	"github.com/spf13/pflag"
)

// asTensorFlow gives flags the meaning that TensorFlow Serving's have: a port of 0 is none (goestimator's own is any free port), and with
// a config file the name and the base path of a single model, which its images always give, do not count.
func (f *serveFlags) asTensorFlow(set *pflag.FlagSet) {
	if f.configFile != "" {
		f.basePath, set.Lookup("model-name").Changed = "", false
	}
	for name, port := range map[string]*int{"port": &f.port, "rest-port": &f.restPort} {
		if set.Changed(name) && *port == 0 {
			*port = -1
		}
	}
}

// refusedFlags are flags of TensorFlow Serving that ask for what is not there, with the reason.
var refusedFlags = map[string]string{
	"use-alts-credentials":            "ALTS is not there: --tls-cert and --tls-key, or --ssl-config-file, secure the ports",
	"platform-config-file":            "there is one platform, tensorflow, and what it says about sessions are flags of their own",
	"prefer-tflite-model":             "TensorFlow Lite models are not served: export a SavedModel",
	"thread-pool-factory-config-file": "thread pools are not configured: --max-concurrent-runs bounds the runs of a model",
	"mixed-precision":                 "models are computed in the precision that they were saved in",
	"force-allow-any-version-labels-for-unavailable-models": "a label that is in use does not move to a version that is not available: " +
		"--allow-version-labels-for-unavailable-models lets new labels name any",
}

// refusedFlag is a flag that asks for what is not there.
type refusedFlag string

// Set implements pflag.Value.
func (r refusedFlag) Set(value string) error {
	if on, err := strconv.ParseBool(value); value == "" || err == nil && !on {
		return nil // it asks for nothing
	}
	return fmt.Errorf("expected none, as the flag of TensorFlow Serving is refused here: %s", string(r))
}

// String implements pflag.Value.
func (refusedFlag) String() string { return "" }

// Type implements pflag.Value.
func (refusedFlag) Type() string { return "string" }
