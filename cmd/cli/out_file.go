package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/goestimator/goestimator/inputs"
)

// checkFolder refuses a file to be written whose folder does not exist, before any work is done for it. path is what the flag says, "" for
// none.
func checkFolder(flag, path string) error {
	dir := filepath.Dir(path)
	if path == "" || path == inputs.StdinFile {
		return nil
	}
	switch st, err := os.Stat(dir); {
	case os.IsNotExist(err):
		return usage(fmt.Errorf("%s %s: the folder %s does not exist: make it, or name another", flag, path, dir))
	case err == nil && !st.IsDir():
		return usage(fmt.Errorf("%s %s: %s is no folder", flag, path, dir))
	}
	return nil
}
