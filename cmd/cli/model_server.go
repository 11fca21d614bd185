package cli

import (
	"path/filepath"
	"slices"
	"strings"
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
