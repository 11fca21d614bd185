//go:build !noserve

package cli

import (
	"fmt"
	"strconv"

	"github.com/spf13/pflag"
)

// asTensorFlow gives flags TensorFlow Serving's meaning. Port 0 disables a port, where goestimator would choose a free one. With
// a config file, the name and base path of a single model are ignored, since TensorFlow Serving's images always pass them.
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

// refusedFlags are flags of TensorFlow Serving for features that are not supported, with the reason.
var refusedFlags = map[string]string{
	"use-alts-credentials":            "ALTS is not there: --tls-cert and --tls-key, or --ssl-config-file, secure the ports",
	"platform-config-file":            "there is one platform, tensorflow, and what it says about sessions are flags of their own",
	"prefer-tflite-model":             "TensorFlow Lite models are not served: export a SavedModel",
	"thread-pool-factory-config-file": "thread pools are not configured: --max-concurrent-runs bounds the runs of a model",
	"mixed-precision":                 "models are computed in the precision that they were saved in",
	"force-allow-any-version-labels-for-unavailable-models": "a label that is in use does not move to a version that is not available: " +
		"--allow-version-labels-for-unavailable-models lets new labels name any",
}

// refusedFlag is a flag for a feature that is not supported.
type refusedFlag string

// Set implements pflag.Value.
func (r refusedFlag) Set(value string) error {
	if on, err := strconv.ParseBool(value); value == "" || err == nil && !on {
		return nil // the feature is not requested
	}
	return fmt.Errorf("expected none, as the flag of TensorFlow Serving is refused here: %s", string(r))
}

// String implements pflag.Value.
func (refusedFlag) String() string { return "" }

// Type implements pflag.Value.
func (refusedFlag) Type() string { return "string" }
