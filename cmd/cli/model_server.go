package cli

import (
	"path/filepath"
	"slices"
	"strings"
)

// modelServer is the name of TensorFlow Serving's binary. A link with this name to goestimator takes the command line of serve, so
// that scripts for TensorFlow Serving start goestimator. It still serves only the loopback addresses by default.
const modelServer = "tensorflow_model_server"

// asModelServer returns goestimator's arguments if path is the name of TensorFlow Serving's binary; ok reports whether it is.
func asModelServer(path string, args []string) (as []string, ok bool) {
	if strings.TrimSuffix(filepath.Base(path), ".exe") != modelServer {
		return args, false
	}
	if slices.Contains(args, "--version") || slices.Contains(args, "--version=true") {
		return []string{"--version"}, true
	}
	return append([]string{"serve"}, args...), true
}
