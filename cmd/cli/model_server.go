package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// modelServer is the name of TensorFlow Serving's binary. Under it, as a link to goestimator, the command line is that of serve, so
// that scripts made for the one start the other. What is served to whom stays as it is: the loopback addresses alone.
const modelServer = "tensorflow_model_server"

// asModelServer returns the arguments of goestimator for those of a binary of that path; ok where it has the name.
func asModelServer(path string, args []string) (as []string, ok bool) {
	if strings.TrimSuffix(filepath.Base(path), ".exe") != modelServer {
		return args, false
	}
	if slices.Contains(args, "--version") || slices.Contains(args, "--version=true") {
		return []string{"--version"}, true
	}
	return append([]string{"serve"}, args...), true
}

// portsOff are ports of 0 that mean none, as TensorFlow Serving reads them; goestimator's own mean any free port.
func (f *serveFlags) portsOff(set *pflag.FlagSet) {
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
	"num-tflite-pools":                "TensorFlow Lite models are not served: export a SavedModel",
	"num-tflite-interpreters":         "TensorFlow Lite models are not served: export a SavedModel",
	"thread-pool-factory-config-file": "thread pools are not configured: --max-concurrent-runs bounds the runs of a model",
	"mixed-precision":                 "models are computed in the precision that they were saved in",
	"force-allow-any-version-labels-for-unavailable-models": "a label that is in use does not move to a version that is not available: " +
		"--allow-version-labels-for-unavailable-models lets new labels name any",
}

// refusedFlag is a flag that asks for what is not there.
type refusedFlag string

// Set implements pflag.Value.
func (r refusedFlag) Set(value string) error {
	if value == "false" || value == "" || value == "0" {
		return nil // it asks for nothing
	}
	return fmt.Errorf("expected none, as the flag of TensorFlow Serving is refused here: %s", string(r))
}

// String implements pflag.Value.
func (refusedFlag) String() string { return "" }

// Type implements pflag.Value.
func (refusedFlag) Type() string { return "string" }
