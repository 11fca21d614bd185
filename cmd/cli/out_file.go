package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/goestimator/goestimator/inputs"
)

// checkFolder fails if the folder of an output file does not exist, before any work is done. path is the value of the flag; "":
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
